// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
)

const because = engine.Because("the test wants it")

// flocks is a definition that says by its annotations how its kind is rolled out.
const flocks = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: flocks.test.slipway.dev
  annotations:
    rollout.slipway.dev/replicas-path: .spec.replicas
    rollout.slipway.dev/partition-path: .spec.keep
    rollout.slipway.dev/updated-path: .status.updatedReplicas
    rollout.slipway.dev/updated-available-path: .status.updatedAvailableReplicas
    rollout.slipway.dev/current-revision-path: .status.currentRevision
spec:
  group: test.slipway.dev
  scope: Namespaced
  names: {kind: Flock, plural: flocks}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

func defineFlocks(t *testing.T) { define(t, flocks) }

// olderFlocks is a definition that does not know the field that holds back pods: the server drops it.
const olderFlocks = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: flocks.test.slipway.dev
  annotations:
    rollout.slipway.dev/replicas-path: .spec.replicas
    rollout.slipway.dev/partition-path: .spec.keep
    rollout.slipway.dev/paused-path: .spec.rests
    rollout.slipway.dev/updated-path: .status.updatedReplicas
    rollout.slipway.dev/updated-available-path: .status.updatedAvailableReplicas
    rollout.slipway.dev/current-revision-path: .status.currentRevision
spec:
  group: test.slipway.dev
  scope: Namespaced
  names: {kind: Flock, plural: flocks}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              rests: {type: boolean}
              selector: {type: object, x-kubernetes-preserve-unknown-fields: true}
              template: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// TestAPartitionThatTheServerDropsEndsNoPause: the claim is whole but for what holds back the pods, and so it ends no pause.
func TestAPartitionThatTheServerDropsEndsNoPause(t *testing.T) {
	define(t, olderFlocks)
	w := create(t, kind{apiVersion: "test.slipway.dev/v1", kind: "Flock", spec: "{rests: true}"}, "older")
	w.record("old", 1)
	w.settle("old", "old", 5)
	seen := w.act(engine.Hold{Because: because, Mode: rolloutv1alpha1.InPlaceMode})
	expect(t, "held", [3]any{seen.Held, seen.Paused, seen.Unkept}, [3]any{true, true, ".spec.keep"})
}

// define installs a kind for the time of a test.
func define(t *testing.T, text string) {
	t.Helper()
	definition := object(t, text)
	if err := live.Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := live.Delete(context.Background(), definition); err != nil {
			t.Error(err)
		}
		err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return apierrors.IsNotFound(live.Get(ctx, client.ObjectKeyFromObject(definition), definition.DeepCopy())), nil
		})
		if err != nil {
			t.Errorf("the definition is still there: %s", err)
		}
	})
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("test.slipway.dev/v1")
		list.SetKind("FlockList")
		return live.List(ctx, list) == nil, nil
	})
	if err != nil {
		t.Fatalf("the kind is not served: %s", err)
	}
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// TestARolloutOfEachKindAndBack plays a rollout that is given up halfway: afterwards the workload is as it was before.
func TestARolloutOfEachKindAndBack(t *testing.T) {
	defineFlocks(t)
	for name, k := range inPlace {
		t.Run(name, func(t *testing.T) {
			w := create(t, k, name)
			w.record("old", 1)
			if k.pods {
				for i := range 5 {
					w.pod(i, "old")
				}
			}
			w.settle("old", "old", 5)
			first := w.get()
			seen := w.observe(adapter.Ask{}).Workload
			expect(t, "before there is anything new", [2]any{seen.Differs, seen.Busy}, [2]any{false, ""})

			w.edit(`{template: {spec: {containers: [{name: main, image: "registry.test/app:v2"}]}}}`)
			w.edit(k.holds)
			w.record("new", 2)
			w.settle("old", "new", 0)
			seen = w.observe(adapter.Ask{}).Workload
			expect(t, "with a new template", [3]any{seen.Differs, seen.Busy, seen.Updated}, [3]any{true, "", 0})

			stale := w.observe(adapter.Ask{})
			seen = w.act(engine.Hold{Because: because, Mode: rolloutv1alpha1.InPlaceMode})
			expect(t, "held", [4]any{seen.Held, seen.Owner, seen.Asked, seen.Before.Known}, [4]any{true, "", 0, true})
			w.settle("old", "new", 0)
			refuses(t, w, stale)
			expect(t, "what holds back its pods is kept", seen.Unkept, "")
			expect(t, "unpaused", w.act(engine.Unpause{Because: because}).Paused, false)
			w.settle("old", "new", 0)

			seen = w.act(engine.Advance{Because: because, To: 2})
			expect(t, "advanced to 2", seen.Asked, 2)
			if k.pods {
				w.replace("new")
			}
			w.settle("old", "new", 2)
			seen = w.observe(adapter.Ask{Before: true}).Workload
			expect(t, "with 2 pods on the newest template", [4]any{seen.Seen, seen.Updated, seen.UpdatedAvailable, seen.Before.Known}, [4]any{true, 2, 2, true})

			if k.kind != "DaemonSet" {
				seen = w.act(engine.Resize{Because: because, To: 6})
				expect(t, "resized", [2]any{seen.Replicas, seen.Others}, [2]any{6, 0})
				seen = w.act(engine.Resize{Because: because, To: 5})
				expect(t, "and back", [2]any{seen.Replicas, seen.Others}, [2]any{5, 0})
			}

			seen = w.act(engine.BringBack{Because: because, Asked: 3})
			expect(t, "brought back", [2]any{seen.Template == seen.Before.Template, seen.Asked}, [2]any{true, 3})
			w.settle("old", "old", 3)
			seen = w.act(engine.Advance{Because: because, To: 5})
			expect(t, "all may go back", seen.Asked, 5)
			if k.pods {
				w.replace("old")
			}
			w.settle("old", "old", 5)
			seen = w.act(engine.Release{Because: because, Mode: rolloutv1alpha1.InPlaceMode, Opens: true})
			expect(t, "released", [2]any{seen.Held, seen.Owner}, [2]any{false, ""})
			last := w.get()
			if diff := cmp.Diff(first.Object["spec"], last.Object["spec"]); diff != "" {
				t.Errorf("the spec (-before +after):\n%s", diff)
			}
			if len(last.GetLabels())+len(last.GetAnnotations())+len(last.GetOwnerReferences()) > len(first.GetAnnotations()) {
				t.Errorf("left behind: %v, %v, %v", last.GetLabels(), last.GetAnnotations(), last.GetOwnerReferences())
			}
		})
	}
}

// refuses has steps that were decided on an old view change nothing.
func refuses(t *testing.T, w *workload, stale adapter.Seen) {
	t.Helper()
	before := w.get()
	steps, err := adapter.Steps(stale, holder, engine.Release{Because: because, Mode: rolloutv1alpha1.InPlaceMode, Opens: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.take(steps); len(steps) > 0 && !apierrors.IsConflict(err) {
		t.Errorf("a step upon an old view is answered %v", err)
	}
	expect(t, "the version after it", w.get().GetResourceVersion(), before.GetResourceVersion())
}

func TestAReleaseThatEndsBeforeItsTimeLeavesThePods(t *testing.T) {
	for name, want := range map[string][2]string{
		"cloneset": {"spec.updateStrategy.partition", "3"}, "inplaceset": {"spec.strategy.partition", "3"}, "cafedeployment": {"spec.strategy.partition", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := create(t, inPlace[name], name)
			w.record("old", 1)
			w.edit(`{template: {spec: {containers: [{name: main, image: "registry.test/app:v2"}]}}}`)
			w.edit(inPlace[name].holds)
			w.settle("old", "new", 0)
			w.act(engine.Hold{Because: because, Mode: rolloutv1alpha1.InPlaceMode})
			w.settle("old", "new", 2)
			seen := w.act(engine.Release{Because: because, Mode: rolloutv1alpha1.InPlaceMode, Asked: 2})
			expect(t, "released", [2]any{seen.Held, seen.Asked}, [2]any{false, 2})
			expect(t, want[0], in(w.get(), want[0]), want[1])
		})
	}
}

func TestTwoDeploymentsTakeTurns(t *testing.T) {
	k := kind{apiVersion: "apps/v1", kind: "Deployment", spec: "{paused: true}"}
	older, newer := create(t, k, "older"), create(t, k, "newer")
	for _, w := range []*workload{older, newer} {
		w.settle("", "", 5)
	}
	hold := engine.Hold{Because: because, On: engine.Source, Mode: rolloutv1alpha1.TwoObjectsMode}
	expect(t, "the older one is held", older.act(hold).Held, true)
	hold.On = engine.Target
	expect(t, "the newer one is held", newer.act(hold).Held, true)
	expect(t, "and unpaused", newer.act(engine.Unpause{Because: because, On: engine.Target}).Paused, false)
	expect(t, "the older one is paused", in(older.get(), "spec.paused"), "true")
	expect(t, "the older one is resized", older.act(engine.Resize{Because: because, On: engine.Source, To: 2}).Replicas, 2)
	seen := newer.act(engine.Resize{Because: because, On: engine.Target, To: 8})
	expect(t, "the newer one is resized", [2]any{seen.Replicas, seen.Before.Replicas}, [2]any{8, 5})
	for _, w := range []*workload{older, newer} {
		expect(t, w.name+" is released", w.act(engine.Release{Because: because, Mode: rolloutv1alpha1.TwoObjectsMode, Opens: true}).Held, false)
	}
}

func TestEachKindWithANumberIsScaled(t *testing.T) {
	defineFlocks(t)
	kinds := map[string]kind{"deployment": {apiVersion: "apps/v1", kind: "Deployment", spec: "{}"}}
	for name, k := range inPlace {
		if k.kind != "DaemonSet" {
			kinds[name] = k
		}
	}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			w := create(t, k, name)
			w.record("old", 1)
			w.settle("old", "old", 5)
			first := w.get()
			seen := w.act(engine.Hold{Because: because, Mode: rolloutv1alpha1.ScaleMode})
			expect(t, "held", seen.Held, true)
			expect(t, "resized", w.act(engine.Resize{Because: because, To: 7}).Replicas, 7)
			if err := live.Patch(t.Context(), w.get(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":9}}`))); err != nil {
				t.Fatal(err)
			}
			expect(t, "what others have added", w.observe(adapter.Ask{}).Workload.Others, 2)
			expect(t, "released", w.act(engine.Release{Because: because, Mode: rolloutv1alpha1.ScaleMode, Opens: true}).Held, false)
			last := w.get()
			expect(t, "replicas", in(last, "spec.replicas"), "9")
			last.Object["spec"].(map[string]any)["replicas"] = int64(5)
			if diff := cmp.Diff(first.Object["spec"], last.Object["spec"]); diff != "" {
				t.Errorf("the spec (-before +after):\n%s", diff)
			}
		})
	}
}
