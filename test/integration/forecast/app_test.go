// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli"
)

const (
	application = `apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: market, annotations: {app.oam.dev/rollout-template: "true"}}
spec: {components: [{name: stall, type: webservice}]}
`
	// stall is the workload that its component renders. Beside it stand what the shipped definitions make, and a kind that they do not.
	stall = `apiVersion: apps/v1
kind: Deployment
metadata: {name: stall}
spec:
  replicas: 4
  selector: {matchLabels: {app: stall}}
  template: {metadata: {labels: {app: stall}}, spec: {containers: [{name: app, image: %q}]}}
`
	service = `apiVersion: v1
kind: Service
metadata: {name: stall}
spec: {selector: {app: stall}, ports: [{port: 80}]}
`
	autoscaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: stall}
spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: stall}}
`
	ingress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: stall}
spec: {defaultBackend: {service: {name: stall, port: {number: 80}}}}
`
	budget = `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: stall}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: stall}}}
`
	appRollout = `apiVersion: core.oam.dev/v1beta1
kind: AppRollout
metadata: {name: stall, namespace: default}
spec:
  targetAppRevisionName: market-v2
  sourceAppRevisionName: market-v1
  rolloutPlan: {rolloutBatches: [{replicas: 25%}, {}]}
`
)

// loose reads an object without a Go type.
func loose(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return o
}

// market stores an application with two revisions. The first one is deployed: its Deployment is called by its revision, and has four pods.
func market(t *testing.T, c client.Client) {
	t.Helper()
	create := func(o *unstructured.Unstructured) {
		t.Helper()
		o.SetNamespace("default")
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
		t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(t.Context()), o); err != nil {
				t.Errorf("deleting %s %s: %v", o.GetKind(), o.GetName(), err)
			}
		})
	}
	app := loose(t, application)
	create(app)
	owner := map[string]any{"apiVersion": app.GetAPIVersion(), "kind": app.GetKind(), "name": app.GetName(), "uid": string(app.GetUID()), "controller": true}
	extras := []string{service, autoscaler, ingress}
	for number, image := range []string{"app:v1", "app:v2"} {
		revision := &unstructured.Unstructured{Object: map[string]any{"apiVersion": app.GetAPIVersion(), "kind": oamv1beta1.ApplicationRevisionKind}}
		revision.SetName(fmt.Sprintf("market-v%d", number+1))
		revision.Object["metadata"].(map[string]any)["ownerReferences"] = []any{owner}
		var resources []any
		for _, extra := range extras {
			resources = append(resources, map[string]any{"name": loose(t, extra).GetKind(), "object": loose(t, extra).Object})
		}
		revision.Object["spec"] = map[string]any{
			"revision": int64(number + 1), "application": map[string]any{"spec": app.Object["spec"]},
			"componentRevisions": []any{map[string]any{
				"name": "stall", "revision": fmt.Sprintf("stall-v%d", number+1), "workload": loose(t, fmt.Sprintf(stall, image)).Object, "resources": resources,
			}},
		}
		create(revision)
		extras = []string{service, autoscaler, budget}
	}
	for _, text := range []string{fmt.Sprintf(stall, "app:v1"), service, autoscaler, ingress} {
		o := loose(t, text)
		o.Object["metadata"].(map[string]any)["ownerReferences"] = []any{owner}
		o.SetLabels(map[string]string{oamv1beta1.LabelAppName: "market", oamv1beta1.LabelComponent: "stall", oamv1beta1.LabelAppRevision: "market-v1", oamv1beta1.LabelComponentRevision: "stall-v1"})
		switch o.GetKind() {
		case "Deployment":
			o.SetName("stall-v1")
		case "HorizontalPodAutoscaler":
			if err := unstructured.SetNestedField(o.Object, "stall-v1", "spec", "scaleTargetRef", "name"); err != nil {
				t.Fatal(err)
			}
		}
		create(o)
	}
	live := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "stall-v1"}, live); err != nil {
		t.Fatal(err)
	}
	live.Status = appsv1.DeploymentStatus{ObservedGeneration: live.Generation, Replicas: 4, UpdatedReplicas: 4, ReadyReplicas: 4, AvailableReplicas: 4}
	if err := c.Status().Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
}

// A server that knows all kinds and asks for their rules tells what a file of the same objects tells.
func TestPlanOfAnAppRollout(t *testing.T) {
	config := kubeconfig(t, cluster.Config)
	c, err := cli.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(cluster.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	market(t, admin)
	rollout := stored(t, appRollout)
	live := stored(t, output(t, config, "get", "applications.core.oam.dev,applicationrevisions,approllouts,deployments,services,ingresses,horizontalpodautoscalers", "-n", "default", "-o", "yaml"))
	var told []string
	for _, how := range [][]string{nil, {"--offline", "--live", live}} {
		var out bytes.Buffer
		root := newCLI(&out)
		root.SetArgs(append([]string{"--kubeconfig", config, "plan", "-f", rollout, "-o", "json"}, how...))
		if err := root.ExecuteContext(t.Context()); cli.ExitStatus(err) != cli.ExitChanges {
			t.Fatalf("plan %v: %v\n%s", how, err, out.String())
		}
		told = append(told, courseOf(t, out.Bytes()))
	}
	want := strings.Join([]string{
		"from 4 to 4 pods, at least 4, succeeds, warnings []",
		"before: apply Service stall, apply PodDisruptionBudget stall, apply HorizontalPodAutoscaler stall, apply Deployment stall-v2",
		"batch 1 of 4: create 1 pod of Deployment stall-v2, delete 1 pod of Deployment stall-v1",
		"batch 4 of 4: create 3 pods of Deployment stall-v2, delete 3 pods of Deployment stall-v1",
		"after: apply HorizontalPodAutoscaler stall, take away Ingress stall, take away Deployment stall-v1",
	}, "\n")
	for i, how := range []string{"the server", "the file"} {
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(told[i], "\n")); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", how, diff)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "stall-v2"}, &appsv1.Deployment{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the target was made: %v", err)
	}
}

// A rollout that somebody else applies, as an application its own, is planned from what kubectl prints of it.
func TestPlanOfAnAppRolloutThatIsThere(t *testing.T) {
	config := kubeconfig(t, cluster.Config)
	admin, err := client.New(cluster.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	market(t, admin)
	kubectl(t, config, "apply", "--server-side", "--field-manager", "slipway", "-f", stored(t, appRollout))
	t.Cleanup(func() {
		if err := admin.Delete(context.WithoutCancel(t.Context()), loose(t, appRollout)); err != nil {
			t.Error(err)
		}
	})
	var out bytes.Buffer
	root := newCLI(&out)
	root.SetArgs([]string{"--kubeconfig", config, "plan", "-f", stored(t, output(t, config, "get", "approllout", "stall", "-n", "default", "-o", "yaml"))})
	err = root.ExecuteContext(t.Context())
	if cli.ExitStatus(err) != cli.ExitChanges || !strings.HasPrefix(out.String(), "AppRollout default/stall: is at its beginning\n") || !strings.Contains(out.String(), "\nbatch 2 of 2: 3 pods (rest), goal 4 of 4\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// courseOf lays out what was told for programs.
func courseOf(t *testing.T, raw []byte) string {
	t.Helper()
	type part struct {
		Goal    int
		Moments []struct {
			Actions []struct{ Object, Verb string }
		}
	}
	var got struct {
		Items []struct {
			Ending         string
			Start, End     struct{ Total int }
			LeastAvailable int
			Warnings       []string
			Total          int
			Before, After  part
			Batches        []part
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%v in:\n%s", err, raw)
	}
	show := func(p part) string {
		var all []string
		for _, m := range p.Moments {
			var now []string
			for _, a := range m.Actions {
				now = append(now, a.Verb+" "+a.Object)
			}
			all = append(all, now...)
		}
		return strings.Join(all, ", ")
	}
	one := got.Items[0]
	lines := []string{fmt.Sprintf("from %d to %d pods, at least %d, %s, warnings %v", one.Start.Total, one.End.Total, one.LeastAvailable, one.Ending, one.Warnings), "before: " + show(one.Before)}
	for _, b := range one.Batches {
		lines = append(lines, fmt.Sprintf("batch %d of %d: %s", b.Goal, one.Total, show(b)))
	}
	return strings.Join(slices.Concat(lines, []string{"after: " + show(one.After)}), "\n")
}
