// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/cli"
)

// kind is a kind of workloads, as somebody writes one: no more than has to be said, and no pod, since no controller runs.
type kind struct {
	// resource is what kubectl calls it.
	resource string
	text     string
	// next is what replaces a part of the text later, and fields what changes with it.
	next   [2]string
	fields []string
}

const podsOf = `
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: app, image: "app:v1", ports: [{containerPort: 80}], livenessProbe: {httpGet: {port: 80}}}]
`

var (
	nextImage = [2]string{"app:v1", "app:v2"}
	image     = "spec.template.spec.containers[app].image: app:v1 to app:v2"
)

func kinds() map[string]kind {
	return map[string]kind{
		"an Advanced StatefulSet": {"statefulsets.apps.kruise.io", "apiVersion: apps.kruise.io/v1beta1\nkind: StatefulSet\nmetadata: {name: %s}\nspec:\n  replicas: 0\n" +
			"  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]" + podsOf, nextImage, []string{image}},
		"one with a strategy": {"statefulsets.apps.kruise.io", "apiVersion: apps.kruise.io/v1beta1\nkind: StatefulSet\nmetadata: {name: %s}\nspec:\n  replicas: 0\n" +
			"  updateStrategy: {rollingUpdate: {partition: 2}}" + podsOf, [2]string{"partition: 2", "podUpdatePolicy: InPlaceIfPossible"},
			[]string{"spec.updateStrategy.rollingUpdate.partition: 2 to 0", "spec.updateStrategy.rollingUpdate.podUpdatePolicy: ReCreate to InPlaceIfPossible"}},
		"an InPlaceSet": {"inplacesets.apps.cafe.cloud.alipay.com", "apiVersion: apps.cafe.cloud.alipay.com/v1alpha1\nkind: InPlaceSet\nmetadata: {name: %s}\nspec:\n  replicas: 0\n" +
			"  strategy: {partition: 1}" + podsOf, [2]string{"partition: 1", "maxUnavailable: 3"}, []string{"spec.strategy.maxUnavailable: 25% to 3", "spec.strategy.partition: 1 to 0"}},
		"a CafeDeployment": {"cafedeployments.apps.cafe.cloud.alipay.com", "apiVersion: apps.cafe.cloud.alipay.com/v1alpha1\nkind: CafeDeployment\nmetadata: {name: %s}\nspec:\n  replicas: 0\n" +
			"  strategy: {batchSize: 2}\n  topology: {values: [CellA, CellB]}" + podsOf, [2]string{"batchSize: 2", "upgradeType: Beta"},
			[]string{"spec.strategy.batchSize: 2 to ", "spec.strategy.upgradeType: Batch to Beta"}},
		"a Deployment": {"deployments.apps", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec:\n  replicas: 0" + podsOf, nextImage, []string{image}},
		"a Deployment with a strategy": {"deployments.apps", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec:\n  replicas: 0\n" +
			"  strategy: {rollingUpdate: {maxSurge: 1}}" + podsOf, [2]string{"maxSurge: 1", "maxUnavailable: 2"},
			[]string{"spec.strategy.rollingUpdate.maxSurge: 1 to 25%", "spec.strategy.rollingUpdate.maxUnavailable: 25% to 2"}},
		"a StatefulSet": {"statefulsets.apps", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: %s}\nspec:\n  replicas: 0\n" +
			"  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]" + podsOf, nextImage, []string{image}},
		"a DaemonSet": {"daemonsets.apps", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: %s}\nspec:\n  minReadySeconds: 3" + podsOf, [2]string{"minReadySeconds: 3", "updateStrategy: {type: OnDelete}"},
			[]string{"spec.minReadySeconds: 3 to ", "spec.updateStrategy.type: RollingUpdate to OnDelete"}},
	}
}

func stored(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The defaults of the server are no changes, for no kind and neither with the server nor without it; and what plan says that
// changes is what kubectl apply changes.
func TestPlanKnowsTheDefaultsOfEveryKind(t *testing.T) {
	config := kubeconfig(t, cluster.Config)
	for sentence, k := range kinds() {
		t.Run(sentence, func(t *testing.T) {
			name := strings.ReplaceAll(strings.ToLower(sentence), " ", "-")
			text := fmt.Sprintf(k.text, name)
			first, next := stored(t, text), stored(t, strings.Replace(text, k.next[0], k.next[1], 1))
			kubectl(t, config, "apply", "-n", "default", "-f", first)
			live := stored(t, output(t, config, "get", k.resource, "-n", "default", name, "-o", "yaml"))
			offline := []string{"--offline", "--live", live, "-n", "default"}
			for _, how := range [][]string{nil, offline} {
				same, err := plan(t, config, append([]string{"-f", first}, how...)...)
				if len(same) > 0 || cli.ExitStatus(err) == cli.ExitError {
					t.Errorf("%v: the same manifest changes %v; error %v", how, same, err)
				}
				changes, err := plan(t, config, append([]string{"-f", next}, how...)...)
				if diff := cmp.Diff(k.fields, changes); diff != "" || cli.ExitStatus(err) != cli.ExitChanges {
					t.Errorf("%v: error %v, fields (-want +got):\n%s", how, err, diff)
				}
			}
			kubectl(t, config, "apply", "-n", "default", "-f", next)
			if same, err := plan(t, config, "-f", next); len(same) > 0 || cli.ExitStatus(err) == cli.ExitError {
				t.Errorf("what was applied changes %v; error %v", same, err)
			}
		})
	}
}
