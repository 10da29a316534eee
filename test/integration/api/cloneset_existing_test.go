// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"maps"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var olderCloneSets = map[string]olderMistake{
	"a partition without a percent sign": {
		spoil{"spec.updateStrategy.partition", "5"}, spoil{"spec.updateStrategy.partition", "6"}, "spec.updateStrategy.partition"},
	"an unknown type of update": {
		spoil{"spec.updateStrategy.type", "Rolling"}, spoil{"spec.updateStrategy.type", "Other"}, "spec.updateStrategy.type"},
	"a surge for InPlaceOnly": {
		spoil{"spec.updateStrategy", object{"type": "InPlaceOnly", "maxSurge": int64(1)}},
		spoil{"spec.updateStrategy.maxSurge", int64(2)}, "spec.updateStrategy.maxSurge"},
	"negative seconds": {
		spoil{"spec.minReadySeconds", int64(-1)}, spoil{"spec.minReadySeconds", int64(-2)}, "spec.minReadySeconds"},
	"a template that restarts on failure": {
		spoil{"spec.template.spec.restartPolicy", "OnFailure"}, spoil{"spec.template.spec.restartPolicy", "Never"},
		"spec.template.spec.restartPolicy"},
	"a finalizer with spaces": {
		spoil{"spec.lifecycle", object{"preDelete": object{"finalizersHandler": list{"not valid"}}}},
		spoil{"spec.lifecycle", object{"preDelete": object{"finalizersHandler": list{"never valid"}}}},
		"spec.lifecycle.preDelete.finalizersHandler[0]"},
	"a label of a hook with spaces": {
		spoil{"spec.lifecycle", object{"preDelete": object{"labelsHandler": object{"a": "not valid"}}}},
		spoil{"spec.lifecycle", object{"preDelete": object{"labelsHandler": object{"a": "never valid"}}}},
		"spec.lifecycle.preDelete.labelsHandler"},
	"two kinds of priority": {
		spoil{"spec.updateStrategy.priorityStrategy", object{"orderPriority": list{object{"orderedKey": "a"}},
			"weightPriority": list{object{"weight": int64(1), "matchSelector": object{"matchLabels": object{"a": "b"}}}}}},
		spoil{"spec.updateStrategy.priorityStrategy.orderPriority", list{object{"orderedKey": "b"}}},
		"spec.updateStrategy.priorityStrategy"},
	"an empty selector": {
		spoil{"spec.selector", object{}}, spoil{"spec.selector", object{"matchLabels": object{}}}, "spec.selector"},
}

// TestMistakesAcrossFieldsOfACloneSetLeaveMetadataAndStatusFree: a rule over several fields of the spec cannot tell which of them is wrong, so
// it comes into force with the next change of the spec, and not before.
func TestMistakesAcrossFieldsOfACloneSetLeaveMetadataAndStatusFree(t *testing.T) {
	namespace := newNamespace(t)
	cases := map[string]spoil{
		"no room for updates":               {"spec.updateStrategy.maxUnavailable", int64(0)},
		"a deadline before minReadySeconds": {"spec.progressDeadlineSeconds", int64(0)},
		"a template that is not selected":   {"spec.template.metadata.labels.app", "other"},
	}
	for i, sentence := range slices.Sorted(maps.Keys(cases)) {
		t.Run(sentence, func(t *testing.T) {
			set := named(t, soundCloneSet, namespace, "across-"+string(rune('a'+i)))
			storeSpoiled(t, set, cases[sentence])

			set.SetAnnotations(map[string]string{"note": "changed"})
			if err := untyped.Update(t.Context(), set); err != nil {
				t.Fatalf("annotating: %v", err)
			}
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"replicas":1,"readyReplicas":0,"availableReplicas":0,`+
				`"updatedReplicas":0,"updatedReadyReplicas":0}}`))
			if err := untyped.Status().Patch(t.Context(), set, patch); err != nil {
				t.Fatalf("reporting the status: %v", err)
			}
			spoil{"spec.minReadySeconds", int64(1)}.apply(t, set)
			if err := untyped.Update(t.Context(), set); !apierrors.IsInvalid(err) {
				t.Fatalf("changing the spec: got error %v, want the status Invalid", err)
			}
		})
	}
}

func TestOnlyTheSelectorOfACloneSetIsImmutable(t *testing.T) {
	namespace := newNamespace(t)
	for i, test := range []struct {
		sentence string
		selector object
		app      string // the template's label, so that nothing but the change is wrong
		refused  bool
	}{
		{"another value", object{"matchLabels": object{"app": "api"}}, "api", true},
		{"one more label", object{"matchLabels": object{"app": "web", "tier": "front"}}, "web", true},
		{"one more expression", object{"matchLabels": object{"app": "web"},
			"matchExpressions": list{object{"key": "tier", "operator": "Exists"}}}, "web", true},
		{"the same in other words", object{"matchExpressions": list{object{"key": "app", "operator": "In", "values": list{"web"}}}}, "web", true},
		{"the same", object{"matchLabels": object{"app": "web"}}, "web", false},
		{"the same with an empty list, as some clients write it", object{"matchLabels": object{"app": "web"}, "matchExpressions": list{}}, "web", false},
		{"the same with a null", object{"matchLabels": object{"app": "web"}, "matchExpressions": nil}, "web", false},
	} {
		t.Run(test.sentence, func(t *testing.T) {
			set := named(t, soundCloneSet, namespace, "selector-"+string(rune('a'+i)))
			if err := untyped.Create(t.Context(), set); err != nil {
				t.Fatalf("creating: %v", err)
			}
			spoil{"spec.selector", test.selector}.apply(t, set)
			spoil{"spec.template.metadata.labels", object{"app": test.app, "tier": "front"}}.apply(t, set)
			err := untyped.Update(t.Context(), set)
			if !test.refused {
				if err != nil {
					t.Fatalf("updating: %v", err)
				}
				return
			}
			if !apierrors.IsInvalid(err) {
				t.Fatalf("got error %v, want the status Invalid", err)
			}
			checkCauses(t, err, "spec.selector", "must not be changed")
		})
	}

	t.Run("everything else can be changed", func(t *testing.T) {
		set := named(t, soundCloneSet, namespace, "mutable")
		if err := untyped.Create(t.Context(), set); err != nil {
			t.Fatalf("creating: %v", err)
		}
		for _, s := range []spoil{
			{"spec.replicas", int64(7)}, {"spec.minReadySeconds", int64(7)}, {"spec.revisionHistoryLimit", int64(7)},
			{"spec.progressDeadlineSeconds", int64(70)}, {"spec.updateStrategy.type", "InPlaceIfPossible"},
			{"spec.scaleStrategy.podsToDelete", list{"mutable-aaaaa"}},
			{"spec.volumeClaimTemplates", list{object{"metadata": object{"name": "data"}}}},
			{"spec.template.spec.containers", list{object{"name": "other", "image": "other:1"}}},
			{"spec.lifecycle.preDelete.markPodNotReady", true},
		} {
			s.apply(t, set)
		}
		if err := untyped.Update(t.Context(), set); err != nil {
			t.Errorf("updating: %v", err)
		}
	})
}
