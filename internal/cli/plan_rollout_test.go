// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/builders"
)

// heldSet is a set of three available pods that has a newer template, and is paused.
func heldSet(t *testing.T) []client.Object {
	t.Helper()
	set := builders.CloneSet("web").Replicas(3).InPlace().MaxUnavailable("1").Build()
	set.Namespace = "default"
	objects := living(t, set, "p1", "p2", "p3")
	set.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2"
	set.Spec.UpdateStrategy.Paused = true
	set.Generation++
	set.Status.Replicas, set.Status.ReadyReplicas, set.Status.AvailableReplicas = 3, 3, 3
	return objects
}

const ofRollout = `apiVersion: standard.oam.dev/v1alpha1
kind: RolloutTrait
metadata: {name: web}
spec:
  targetRef: {apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: web}
  rolloutPlan: {rolloutBatches: [{replicas: 1}, {}]}
`

func TestPlanOfARollout(t *testing.T) {
	batches := []string{"RolloutTrait default/web: is new", "CloneSet web to its newest template", "can change in place",
		"batch 1 of 2: 1 pod, goal 1 of 3", "2, then 3 of 3    update in place: web-p1", "batch 2 of 2: 2 pods (rest), goal 3 of 3", "it succeeds"}
	for sentence, test := range map[string]struct {
		text   string
		args   func(live string) []string
		status int
		says   []string
	}{
		"by the cluster": {ofRollout, nil, ExitChanges, batches},
		"offline":        {ofRollout, func(live string) []string { return []string{"--offline", "--live", live} }, ExitChanges, batches},
		"a number of batches that does not divide": {strings.Replace(ofRollout, "rolloutBatches: [{replicas: 1}, {}]", "numBatches: 2", 1), nil, ExitChanges, batches[3:4]},
		"batches that do not add up": {strings.Replace(ofRollout, "{replicas: 1}, {}", "{replicas: 1}, {replicas: 5}", 1), nil, ExitError,
			[]string{"RolloutTrait default/web: would be refused", "nothing is done: spec.rolloutPlan.rolloutBatches[1].replicas: must be 2"}},
		"no workload": {strings.ReplaceAll(ofRollout, "name: web}\n  rollout", "name: shop}\n  rollout"), nil, ExitChanges, []string{"it waits for the target: there is no CloneSet shop"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects := heldSet(t)
			r := newRun(t, objects...)
			args := []string{"plan", "-f", file(t, "rollout.yaml", test.text)}
			if test.args != nil {
				args = append(args, test.args(dump(t, objects))...)
			}
			r.says(t, test.status, test.says, args...)
			if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, &rolloutv1alpha1.RolloutTrait{}); err == nil {
				t.Error("the rollout was written")
			}
		})
	}
}

// The workload of the file is the one that the rollout finds: its new template, and the pause that holds it.
func TestPlanOfARolloutBesideItsWorkload(t *testing.T) {
	set := builders.CloneSet("web").Replicas(2).InPlace().MaxUnavailable("1").Paused().Image("registry.test/app:v2").Build()
	set.UID, set.Generation, set.Namespace = "", 0, ""
	raw, err := yaml.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	for sentence, offline := range map[string]bool{"by the cluster": false, "offline": true} {
		t.Run(sentence, func(t *testing.T) {
			objects := livingSet(t)
			r := newRun(t, objects...)
			args := []string{"plan", "-f", file(t, "web.yaml", string(raw)+"---\n"+ofRollout)}
			if offline {
				args = append(args, "--offline", "--live", dump(t, objects))
			}
			if err := r.execute(t.Context(), t, args...); !errors.Is(err, ErrChanges) {
				t.Fatalf("%v\n%s", err, r.out.String())
			}
			for _, want := range []string{"CloneSet default/web: from revision", "left undone: paused with 2 pods to update", "batch 2 of 2: 1 pod (rest), goal 2 of 2", "update in place: web-p2"} {
				if !strings.Contains(r.out.String(), want) {
					t.Errorf("does not say %q:\n%s", want, r.out.String())
				}
			}
		})
	}
}

func TestPlanOfWorkloadsThatAreAllInOneFile(t *testing.T) {
	two := func(name, replicas string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + "}\nspec: {replicas: " + replicas + ", selector: {matchLabels: {app: " + name + "}}, " +
			"template: {metadata: {labels: {app: " + name + "}}, spec: {containers: [{name: app, image: \"registry.test/app:v1\"}]}}}\n---\n"
	}
	rollout := strings.NewReplacer("apps.kruise.io/v1alpha1, kind: CloneSet, name: web}", "apps/v1, kind: Deployment, name: web-v2}\n  sourceRef: [{apiVersion: apps/v1, kind: Deployment, name: web-v1}]").Replace(ofRollout)
	r := newRun(t)
	r.in = two("web-v1", "4") + two("web-v2", "0") + rollout
	if err := r.execute(t.Context(), t, "plan", "--offline", "-f", "-"); !errors.Is(err, ErrChanges) {
		t.Fatalf("%v\n%s", err, r.out.String())
	}
	for _, want := range []string{"from Deployment web-v1 to Deployment web-v2, growing first", "batch 2 of 2: 3 pods (rest), goal 4 of 4", "delete: 3 pods of Deployment web-v1"} {
		if !strings.Contains(r.out.String(), want) {
			t.Errorf("does not say %q:\n%s", want, r.out.String())
		}
	}
}

func TestPlanOfARolloutThatHasEnded(t *testing.T) {
	ended := &rolloutv1alpha1.RolloutTrait{}
	if err := yaml.Unmarshal([]byte(ofRollout), ended); err != nil {
		t.Fatal(err)
	}
	ended.Namespace, ended.UID, ended.Generation = "default", "r-uid", 1
	ended.Status = rolloutv1alpha1.RolloutStatus{
		RollingState: rolloutv1alpha1.RolloutSucceedState, ObservedGeneration: 1, Message: "all batches are done, and the workload is released",
		Running: &rolloutv1alpha1.RunningRollout{TargetRef: ended.Spec.TargetRef, Mode: rolloutv1alpha1.InPlaceMode, Total: 3},
	}
	r := newRun(t, append(livingSet(t), ended)...)
	if err := r.execute(t.Context(), t, "plan", "-f", file(t, "rollout.yaml", ofRollout)); err != nil {
		t.Errorf("%v\n%s", err, r.out.String())
	}
	if want := "it has succeeded: all batches are done"; !strings.Contains(r.out.String(), want) {
		t.Errorf("does not say %q:\n%s", want, r.out.String())
	}
}

func TestPlanOfARolloutForPrograms(t *testing.T) {
	r := newRun(t, heldSet(t)...)
	if err := r.execute(t.Context(), t, "plan", "-f", file(t, "rollout.yaml", ofRollout), "-o", "json"); !errors.Is(err, ErrChanges) {
		t.Fatal(err)
	}
	var got struct {
		Items []struct {
			Kind, Name, Ending    string
			Total, LeastAvailable int
			Batches               []struct {
				Number, Goal, Done int
				Moments            []struct {
					Actions []struct{ Object, Verb string }
				}
				Waits []struct{ For, What string }
			}
		}
	}
	if err := json.Unmarshal([]byte(r.out.String()), &got); err != nil {
		t.Fatalf("%v in:\n%s", err, r.out.String())
	}
	if len(got.Items) != 1 || len(got.Items[0].Batches) != 2 {
		t.Fatalf("got %+v", got)
	}
	one, last := got.Items[0], got.Items[0].Batches[1]
	if one.Kind != "RolloutTrait" || one.Ending != "succeeds" || one.Total != 3 || one.LeastAvailable != 2 || last.Goal != 3 || last.Done != 3 ||
		last.Moments[0].Actions[0].Object != "web-p2" || last.Waits[0].For != "Pods" {
		t.Errorf("got %+v", one)
	}
}

// A kind that its CustomResourceDefinition describes is planned as far as numbers go.
func TestPlanOfARolloutOfAKindThatIsDeclared(t *testing.T) {
	live := file(t, "live.yaml", `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: flocks.birds.example.com
  annotations: {rollout.slipway.dev/replicas-path: .spec.birds}
spec: {group: birds.example.com, names: {kind: Flock, plural: flocks, singular: flock}}
---
apiVersion: birds.example.com/v1
kind: Flock
metadata: {name: web, namespace: default, uid: f, generation: 1}
spec: {birds: 2, template: {spec: {}}}
status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, availableReplicas: 2}
`)
	text := strings.NewReplacer("apps.kruise.io/v1alpha1, kind: CloneSet", "birds.example.com/v1, kind: Flock", "rolloutPlan: {", "rolloutPlan: {targetSize: 5, ").Replace(ofRollout)
	r := newRun(t)
	if err := r.execute(t.Context(), t, "plan", "--offline", "--live", live, "-f", file(t, "rollout.yaml", text)); !errors.Is(err, ErrChanges) {
		t.Fatalf("%v\n%s", err, r.out.String())
	}
	for _, want := range []string{"Flock web from 2 to 5 pods", "create: 2 pods of Flock web"} {
		if !strings.Contains(r.out.String(), want) {
			t.Errorf("does not say %q:\n%s", want, r.out.String())
		}
	}
}
