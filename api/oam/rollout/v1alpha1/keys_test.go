// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

func TestKeysAreOnesThatTheServerTakes(t *testing.T) {
	for _, key := range []string{
		rolloutv1alpha1.FinalizerRollout, rolloutv1alpha1.LabelHeld, rolloutv1alpha1.AnnotationHeld, rolloutv1alpha1.AnnotationApprove,
		rolloutv1alpha1.AnnotationRetry, rolloutv1alpha1.AnnotationAbort, rolloutv1alpha1.AnnotationRevert,
	} {
		if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
			t.Errorf("%s: %v", key, wrong)
		}
	}
}

// TestWordsOfPeopleAreNotMixedUp: each word stands under a key of its own, and what a rollout notes on workloads under another.
func TestWordsOfPeopleAreNotMixedUp(t *testing.T) {
	seen := map[string]string{}
	for name, key := range map[string]string{
		"held": rolloutv1alpha1.AnnotationHeld, "approve": rolloutv1alpha1.AnnotationApprove, "retry": rolloutv1alpha1.AnnotationRetry,
		"abort": rolloutv1alpha1.AnnotationAbort, "revert": rolloutv1alpha1.AnnotationRevert,
	} {
		if other, taken := seen[key]; taken {
			t.Errorf("%s and %s are both %s", name, other, key)
		}
		seen[key] = name
	}
}

func TestAStepIsNamedByItsTryItsBatchAndItsState(t *testing.T) {
	for sentence, test := range map[string]struct {
		status     rolloutv1alpha1.RolloutStatus
		take, step string
	}{
		"nothing has begun": {rolloutv1alpha1.RolloutStatus{}, "0.0", "0.0/"},
		"before the batches, a batch that is left over says nothing": {
			rolloutv1alpha1.RolloutStatus{Run: 1, RollingState: rolloutv1alpha1.InitializingState, CurrentBatch: 2, BatchRollingState: rolloutv1alpha1.BatchReadyState},
			"1.0", "1.0/initializing"},
		"in a batch": {
			rolloutv1alpha1.RolloutStatus{Run: 2, Attempt: 3, RollingState: rolloutv1alpha1.RollingInBatchesState, CurrentBatch: 1,
				BatchRollingState: rolloutv1alpha1.BatchVerifyingState},
			"2.3", "2.3/1/batchVerifying"},
		"after the batches": {
			rolloutv1alpha1.RolloutStatus{Run: 2, RollingState: rolloutv1alpha1.FinalisingState}, "2.0", "2.0/finalising"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := test.status.Take(); got != test.take {
				t.Errorf("take %q, want %q", got, test.take)
			}
			if got := test.status.Step(); got != test.step {
				t.Errorf("step %q, want %q", got, test.step)
			}
			// People copy it into an annotation on a command line: no spaces, and short.
			if got := test.status.Step(); len(got) > 63 {
				t.Errorf("step %q has %d characters", got, len(got))
			}
		})
	}
}

func TestOnlySuccessAndFailureAreFinal(t *testing.T) {
	final := map[rolloutv1alpha1.RollingState]bool{rolloutv1alpha1.RolloutSucceedState: true, rolloutv1alpha1.RolloutFailedState: true}
	for _, state := range []rolloutv1alpha1.RollingState{
		"", rolloutv1alpha1.LocatingTargetAppState, rolloutv1alpha1.VerifyingSpecState, rolloutv1alpha1.InitializingState,
		rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.FinalisingState, rolloutv1alpha1.RolloutSucceedState,
		rolloutv1alpha1.RolloutFailingState, rolloutv1alpha1.RolloutFailedState, rolloutv1alpha1.RolloutAbandoningState,
		rolloutv1alpha1.RolloutDeletingState, "unknown",
	} {
		if got := state.IsFinal(); got != final[state] {
			t.Errorf("%q is final: %v, want %v", state, got, final[state])
		}
	}
}

func TestTheSchemeKnowsTheKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rolloutv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatalf("adding to a scheme: %v", err)
	}
	for kind, object := range map[string]runtime.Object{
		rolloutv1alpha1.RolloutTraitKind:            &rolloutv1alpha1.RolloutTrait{},
		rolloutv1alpha1.RolloutTraitKind + "List":   &rolloutv1alpha1.RolloutTraitList{},
		rolloutv1alpha1.MetricTemplateKind:          &rolloutv1alpha1.MetricTemplate{},
		rolloutv1alpha1.MetricTemplateKind + "List": &rolloutv1alpha1.MetricTemplateList{},
	} {
		kinds, _, err := scheme.ObjectKinds(object)
		want := schema.GroupVersionKind{Group: "standard.oam.dev", Version: "v1alpha1", Kind: kind}
		if err != nil || len(kinds) != 1 || kinds[0] != want {
			t.Errorf("kinds of %T: %v, %v; want %v", object, kinds, err, want)
		}
	}
	if !scheme.Recognizes(rolloutv1alpha1.GroupVersion.WithKind("WatchEvent")) {
		t.Error("the scheme cannot decode watches of the group")
	}
}
