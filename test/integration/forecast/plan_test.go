// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cli"
	"slipway.dev/slipway/test/integration/plane"
)

var cluster *plane.Plane

func TestMain(m *testing.M) {
	os.Exit(plane.RunWithStore(m, func(p *plane.Plane) { cluster = p }))
}

const written = `apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: %s, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  updateStrategy: {%s}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "app:v1"}]}
`

func file(t *testing.T, name, strategy string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, written, name, strategy), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func kubeconfig(t *testing.T, from *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: from.Host, CertificateAuthorityData: from.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {ClientCertificateData: from.CertData, ClientKeyData: from.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func kubectl(t *testing.T, config string, args ...string) {
	t.Helper()
	output(t, config, args...)
}

func output(t *testing.T, config string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(cluster.Binaries, "kubectl"), append([]string{"--kubeconfig", config}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func newCLI(out *bytes.Buffer) *cobra.Command {
	return cli.New(cli.Environment{
		Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: out},
		Getenv:  func(string) string { return "" }, Clock: clock.RealClock{}, Version: "test", Program: "slipway",
		Connect: func(*genericclioptions.ConfigFlags, string) (client.WithWatch, error) {
			return cli.NewClient(cluster.Config)
		},
	})
}

// plan returns the fields that change, and the error.
func plan(t *testing.T, config string, args ...string) ([]string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newCLI(&out)
	root.SetArgs(append([]string{"--kubeconfig", config, "plan", "-o", "json"}, args...))
	err := root.ExecuteContext(t.Context())
	if cli.ExitStatus(err) == cli.ExitError {
		return nil, err
	}
	var got struct {
		Items []struct {
			Fields   []struct{ Field, Before, After string }
			Warnings []string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in:\n%s", err, out.String())
	}
	var fields []string
	for _, f := range got.Items[0].Fields {
		fields = append(fields, fmt.Sprintf("%s: %s to %s", f.Field, f.Before, f.After))
	}
	return append(fields, got.Items[0].Warnings...), err
}

// What plan says that changes is what kubectl apply changes, whichever way the set is applied.
func TestPlanMergesAsKubectlDoes(t *testing.T) {
	config := kubeconfig(t, cluster.Config)
	for name, how := range map[string][]string{"client-side": nil, "server-side": {"--server-side"}} {
		t.Run(name, func(t *testing.T) {
			first, next := file(t, name, "partition: 3, maxSurge: 2"), file(t, name, "maxSurge: 50%")
			kubectl(t, config, append([]string{"apply", "-f", first}, how...)...)
			before := read(t, name)

			same, err := plan(t, config, "-f", first)
			if len(same) > 0 || cli.ExitStatus(err) != cli.ExitChanges { // no controller runs: the revision has to be recorded
				t.Errorf("the same manifest changes %v; error %v", same, err)
			}
			changes, err := plan(t, config, "-f", next)
			want := []string{"spec.updateStrategy.maxSurge: 2 to 50%", "spec.updateStrategy.partition: 3 to 0"}
			if diff := cmp.Diff(want, changes); diff != "" || cli.ExitStatus(err) != cli.ExitChanges {
				t.Errorf("error %v, fields (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff(before, read(t, name)); diff != "" {
				t.Errorf("plan has changed the set:\n%s", diff)
			}
			kubectl(t, config, append([]string{"apply", "-f", next}, how...)...)
			after := read(t, name).Spec.UpdateStrategy
			if after.MaxSurge.String() != "50%" || after.Partition.String() != "0" {
				t.Errorf("kubectl made it maxSurge %v, partition %v", after.MaxSurge, after.Partition)
			}
		})
	}
}

func TestPlanIsCheckedByTheServer(t *testing.T) {
	config := kubeconfig(t, cluster.Config)
	path := file(t, "refused", "maxUnavailable: -1")
	_, err := plan(t, config, "-f", path)
	if err == nil || !strings.HasPrefix(err.Error(), path+": CloneSet default/refused: ") || !strings.Contains(err.Error(), "spec.updateStrategy.maxUnavailable") {
		t.Errorf("error %v, want one that names file and field", err)
	}
	unborn, err := plan(t, config, "-f", file(t, "unborn", "maxUnavailable: 1"))
	if cli.ExitStatus(err) != cli.ExitChanges || len(unborn) != 1 || !strings.Contains(unborn[0], "does not exist yet") {
		t.Errorf("a new set: %v, error %v", unborn, err)
	}
}

func read(t *testing.T, name string) *kruisev1alpha1.CloneSet {
	t.Helper()
	c, err := cli.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	set := &kruisev1alpha1.CloneSet{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, set); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestThisServerSaysThatItResizesPods(t *testing.T) {
	flags := genericclioptions.NewConfigFlags(false)
	*flags.KubeConfig = kubeconfig(t, cluster.Config)
	if offers, err := cli.OffersResize(flags, "test"); !offers || err != nil {
		t.Errorf("got %v, %v", offers, err)
	}
}
