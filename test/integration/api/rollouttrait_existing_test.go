// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/integration/plane"
)

var olderRolloutTraits = map[string]olderMistake{
	"an unknown strategy": {
		spoil{plan + ".rolloutStrategy", "Both"}, spoil{plan + ".failurePolicy", "Both"}, plan + ".failurePolicy"},
	"a negative partition": {
		spoil{plan + ".batchPartition", int64(-1)}, spoil{plan + ".progressDeadlineSeconds", int64(-1)}, plan + ".progressDeadlineSeconds"},
	"a number that is not that of the batches": {
		spoil{plan + ".numBatches", int64(7)}, spoil{plan + ".numBatches", int64(8)}, plan + ".numBatches"},
	"batches that leave nothing": {
		spoil{batches, list{batch("60%"), batch("60%"), object{}}}, spoil{batches, list{batch("60%"), batch("60%"), batch("1%")}}, batches},
	"a batch in the middle without a number": {
		spoil{batches, list{object{}, object{}, object{}}}, spoil{batches, list{object{}, object{}, batch("1%")}}, batches},
	"replicas without a percent sign": {
		spoil{batches, list{batch("1"), batch("2"), object{}}}, spoil{batches, list{batch("1"), batch("2"), batch("3")}}, batches + "[2].replicas"},
	"a hook at no address": {
		spoil{hooks, list{plus(hook("finalize-rollout", "a"), "url", "gate")}}, spoil{hooks, list{plus(hook("finalize-rollout", "a"), "url", "gate2")}}, hooks + "[0].url"},
	"a hook that stands twice": {
		spoil{hooks, list{hook("finalize-rollout", "a"), hook("finalize-rollout", "a")}},
		spoil{hooks, list{hook("finalize-rollout", "b"), hook("finalize-rollout", "b")}}, hooks},
	"a metric without a range": {
		spoil{metrics, list{without(metric("a"), "metricsRange")}}, spoil{metrics, list{without(metric("b"), "metricsRange")}}, metrics + "[0].metricsRange"},
	"a range that goes downward": {
		spoil{metrics, list{plus(metric("a"), "metricsRange", object{"min": int64(2), "max": int64(1)})}},
		spoil{metrics, list{plus(metric("a"), "metricsRange", object{"min": int64(3), "max": int64(1)})}}, metrics + "[0].metricsRange.min"},
	"two sources": {
		spoil{"spec.sourceRef", list{reference("Deployment", "a"), reference("Deployment", "b")}},
		spoil{"spec.sourceRef", list{reference("Deployment", "a"), reference("Deployment", "c")}}, "spec.sourceRef"},
	"a source of another kind": {
		spoil{"spec.sourceRef", list{reference("StatefulSet", "a")}}, spoil{"spec.sourceRef", list{reference("StatefulSet", "b")}}, "spec.sourceRef"},
	"a source that is the target": {
		spoil{"spec.sourceRef", list{reference("Deployment", "web-v2")}}, spoil{"spec.targetRef.kind", "ReplicaSet"}, "spec.sourceRef"},
}

// TestOlderMistakesDoNotKeepARolloutFromBeingPaused: whatever is wrong in a rollout that stands, a person must be able to stop it,
// and its status must be writable. A new mistake is refused.
func TestOlderMistakesDoNotKeepARolloutFromBeingPaused(t *testing.T) {
	namespace := newNamespace(t)
	for i, sentence := range slices.Sorted(maps.Keys(olderRolloutTraits)) {
		test := olderRolloutTraits[sentence]
		t.Run(sentence, func(t *testing.T) {
			trait := named(t, soundRolloutTrait, namespace, "older-"+string(rune('a'+i)))
			storeSpoiled(t, trait, test.spoil)

			report(t, trait, object{"rollingState": inBatches})
			spoil{plan + ".paused", true}.apply(t, trait)
			if err := untyped.Update(t.Context(), trait); err != nil {
				t.Fatalf("pausing: %v", err)
			}
			if got := at(t, trait, "spec", "rolloutPlan", "paused"); got != true {
				t.Errorf("paused is %v, want true", got)
			}

			test.again.apply(t, trait)
			err := untyped.Update(t.Context(), trait)
			if !apierrors.IsInvalid(err) {
				t.Fatalf("making a new mistake: got error %v, want the status Invalid", err)
			}
			checkCauses(t, err, test.field, "")
		})
	}
}

// TestARolloutWithoutDefaultsCanBeChanged takes one that another server has stored as it came, with a status that says nothing and
// with none.
func TestARolloutWithoutDefaultsCanBeChanged(t *testing.T) {
	namespace := newNamespace(t)
	for name, status := range map[string]any{"no-status": nil, "empty-status": object{}, "other-status": object{"rollingState": "rolling"}} {
		t.Run(name, func(t *testing.T) {
			trait := named(t, soundRolloutTrait, namespace, name)
			if err := untyped.Create(t.Context(), trait); err != nil {
				t.Fatalf("creating: %v", err)
			}
			rewrite(t, trait, func(stored *unstructured.Unstructured) {
				spoil{plan, object{"rolloutBatches": list{batch("50%"), object{}}, "batchPartition": int64(0)}}.apply(t, stored)
				unstructured.RemoveNestedField(stored.Object, "status")
				if status != nil {
					spoil{"status", status}.apply(t, stored)
				}
			})
			if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(trait), trait); err != nil {
				t.Fatalf("reading: %v", err)
			}
			if got := at(t, trait, "spec", "rolloutPlan", "rolloutStrategy"); got != "IncreaseFirst" {
				t.Errorf("the strategy is read as %v, want IncreaseFirst", got)
			}
			change := trait.DeepCopy()
			spoil{plan + ".paused", true}.apply(t, change)
			spoil{"-" + plan + ".batchPartition", nil}.apply(t, change)
			if err := untyped.Update(t.Context(), change); err != nil {
				t.Fatalf("pausing, and letting all batches begin: %v", err)
			}
			spoil{plan + ".rolloutStrategy", "DecreaseFirst"}.apply(t, change)
			err := untyped.Update(t.Context(), change)
			if !apierrors.IsInvalid(err) {
				t.Fatalf("changing the strategy: got error %v, want the status Invalid", err)
			}
			checkCauses(t, err, plan+".rolloutStrategy", "and was IncreaseFirst")
		})
	}
}

// TestTheStatusOfARolloutIsItsOwn: what has begun is kept in status, which a change of the spec cannot reach, and the other way
// round.
func TestTheStatusOfARolloutIsItsOwn(t *testing.T) {
	trait := named(t, soundRolloutTrait, newNamespace(t), "status")
	spoil{"status", object{"rollingState": "rolloutSucceed"}}.apply(t, trait)
	if err := untyped.Create(t.Context(), trait); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if got := at(t, trait, "status"); got != nil {
		t.Errorf("the status came in with the spec: %v", got)
	}
	report(t, trait, object{"rollingState": inBatches, "currentBatch": int64(1)})

	spoil{"status.rollingState", "rolloutSucceed"}.apply(t, trait)
	spoil{plan + ".rolloutStrategy", "DecreaseFirst"}.apply(t, trait)
	err := untyped.Update(t.Context(), trait)
	if !apierrors.IsInvalid(err) {
		t.Fatalf("ending the rollout by hand: got error %v, want the status Invalid", err)
	}
	checkCauses(t, err, plan+".rolloutStrategy", "must not change while the rollout is in progress")

	err = untyped.Status().Update(t.Context(), trait)
	if err != nil {
		t.Fatalf("reporting: %v", err)
	}
	if got := at(t, trait, "spec", "rolloutPlan", "rolloutStrategy"); got != "IncreaseFirst" {
		t.Errorf("the strategy changed to %v through the status", got)
	}
	for state, field := range map[string]string{"rollingState": "rolling", "batchRollingState": "batchRolling", "waitingFor": "Godot", "ending": "Happy"} {
		change := trait.DeepCopy()
		spoil{"status." + state, field}.apply(t, change)
		err := untyped.Status().Update(t.Context(), change)
		if !apierrors.IsInvalid(err) {
			t.Fatalf("reporting an unknown %s: got error %v, want the status Invalid", state, err)
		}
		checkCauses(t, err, "status."+state, "supported values")
	}
}

// TestTheServerKeepsEveryFieldOfARollout sends the files of the wire format, which have every field, and reads them back.
func TestTheServerKeepsEveryFieldOfARollout(t *testing.T) {
	root, err := plane.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"rollouttrait.yaml", "metrictemplate.yaml"} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "api/oam/rollout/v1alpha1/testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			sent := manifest(t, string(text))
			sent.SetNamespace(newNamespace(t))
			read := sent.DeepCopy()
			if err := untyped.Create(t.Context(), read, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				t.Fatalf("creating: %v", err)
			}
			if status, has := at(t, sent, "status").(object); has {
				report(t, read, status)
			}
			for _, part := range []string{"spec", "status"} {
				// Numbers of a file are floats, and those of a server are not: both are compared as text.
				if diff := cmp.Diff(indented(t, at(t, sent, part)), indented(t, at(t, read, part))); diff != "" {
					t.Errorf("%s (-sent +read):\n%s", part, diff)
				}
			}
		})
	}
}

func indented(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatalf("writing: %v", err)
	}
	return string(text)
}
