// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/lifecycle"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func hook() *kruisev1alpha1.LifecycleHook {
	return &kruisev1alpha1.LifecycleHook{
		LabelsHandler: map[string]string{"hook": "on"}, FinalizersHandler: []string{"example.com/hook"}, MarkPodNotReady: true,
	}
}

func TestAHookBlocksWithAnyAndIsCompleteWithAllHandlers(t *testing.T) {
	for sentence, c := range map[string]struct {
		hook             *kruisev1alpha1.LifecycleHook
		label, finalizer string
		blocks, complete bool
	}{
		"no hook":                                 {nil, "on", "", false, true},
		"a hook without handlers":                 {&kruisev1alpha1.LifecycleHook{}, "on", "", false, true},
		"no handler on the pod":                   {hook(), "", "", false, false},
		"the label only":                          {hook(), "on", "", true, false},
		"the label with another value":            {hook(), "off", "", false, false},
		"the finalizer only":                      {hook(), "", "example.com/hook", true, false},
		"label and finalizer":                     {hook(), "on", "example.com/hook", true, true},
		"somebody else's finalizer is no handler": {hook(), "", "example.com/other", false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := &corev1.Pod{}
			if c.label != "" {
				p.Labels = map[string]string{"hook": c.label}
			}
			if c.finalizer != "" {
				p.Finalizers = []string{c.finalizer}
			}
			if got := lifecycle.Blocks(c.hook, p); got != c.blocks {
				t.Errorf("Blocks = %v, want %v", got, c.blocks)
			}
			if got := lifecycle.Complete(c.hook, p); got != c.complete {
				t.Errorf("Complete = %v, want %v", got, c.complete)
			}
		})
	}
}

// gated is a ready pod with the gate, and the reasons in its condition.
func gated(reasons ...lifecycle.Reason) *corev1.Pod {
	p := &corev1.Pod{}
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: kruisev1alpha1.ConditionKruisePodReady}}
	message, _ := json.Marshal(reasons)
	p.Status.Conditions = []corev1.PodCondition{
		{Type: kruisev1alpha1.ConditionKruisePodReady, Status: corev1.ConditionTrue, Message: string(message)},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}
	if len(reasons) > 0 {
		p.Status.Conditions[0].Status, p.Status.Conditions[1].Status = corev1.ConditionFalse, corev1.ConditionFalse
	}
	return p
}

func write(p *corev1.Pod, conditions []corev1.PodCondition) {
	for _, c := range conditions {
		for i := range p.Status.Conditions {
			if p.Status.Conditions[i].Type == c.Type {
				p.Status.Conditions[i] = c
			}
		}
	}
}

func TestMarkingTakesAPodOutOfServiceAtOnce(t *testing.T) {
	p := gated()
	conditions, err := lifecycle.MarkNotReady(p, hook(), lifecycle.BeforeDelete, now)
	if err != nil {
		t.Fatal(err)
	}
	want := []corev1.PodCondition{
		{Type: "KruisePodReady", Status: "False", Message: `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`, LastTransitionTime: metav1.NewTime(now)},
		{Type: "Ready", Status: "False", Reason: "ReadinessGatesNotReady", Message: `the status of pod readiness gate "KruisePodReady" is not "True", but False`, LastTransitionTime: metav1.NewTime(now)},
	}
	if diff := cmp.Diff(want, conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	write(p, conditions)
	if again, err := lifecycle.MarkNotReady(p, hook(), lifecycle.BeforeDelete, now); err != nil || again != nil {
		t.Errorf("marked twice: %v, %v", again, err)
	}
}

func TestAPodIsOnlyMarkedWhereThatIsAskedForAndPossible(t *testing.T) {
	silent := hook()
	silent.MarkPodNotReady = false
	withoutGate := gated()
	withoutGate.Spec.ReadinessGates = nil
	for sentence, c := range map[string]struct {
		pod  *corev1.Pod
		hook *kruisev1alpha1.LifecycleHook
	}{
		"the hook does not ask for it": {gated(), silent},
		"there is no hook":             {gated(), nil},
		"the pod has no gate":          {withoutGate, hook()},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got, err := lifecycle.MarkNotReady(c.pod, c.hook, lifecycle.BeforeUpdate, now); err != nil || got != nil {
				t.Errorf("conditions are %v, %v", got, err)
			}
		})
	}
}

func TestAMessageThatNobodyCanReadIsNotWrittenOver(t *testing.T) {
	p := gated()
	p.Status.Conditions[0].Message = "by hand"
	_, markErr := lifecycle.MarkNotReady(p, hook(), lifecycle.BeforeUpdate, now)
	_, unmarkErr := lifecycle.Unmark(p, kruisev1alpha1.LifecycleNormal, now)
	for _, err := range []error{markErr, unmarkErr} {
		if err == nil || !strings.Contains(err.Error(), "KruisePodReady") {
			t.Errorf("error is %v", err)
		}
	}
}

// Whoever else writes the condition, in whatever order: our entries come and go with the state, theirs stay.
func TestEntriesOfOthersSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		others := rapid.SliceOfDistinct(rapid.SampledFrom([]lifecycle.Reason{{"a", "1"}, {"Lifecycle", "theirs"}, {"z", "2"}}), func(r lifecycle.Reason) lifecycle.Reason { return r }).Draw(t, "others")
		p := gated(others...)
		marked, err := lifecycle.MarkNotReady(p, hook(), lifecycle.BeforeUpdate, now)
		if err != nil || len(marked) == 0 {
			t.Fatalf("not marked: %v", err)
		}
		write(p, marked)
		if kept, err := lifecycle.Unmark(p, kruisev1alpha1.LifecycleUpdating, now); err != nil || kept != nil {
			t.Fatalf("the entry goes before the update is over: %v, %v", kept, err)
		}
		unmarked, err := lifecycle.Unmark(p, kruisev1alpha1.LifecycleNormal, now)
		if err != nil || len(unmarked) != 1 {
			t.Fatalf("not unmarked: %v, %v", unmarked, err)
		}
		if want := corev1.ConditionTrue; len(others) == 0 && unmarked[0].Status != want || len(others) > 0 && unmarked[0].Status == want {
			t.Fatalf("condition is %s with %d entries of others", unmarked[0].Status, len(others))
		}
		var left []lifecycle.Reason
		if err := json.Unmarshal([]byte(unmarked[0].Message), &left); err != nil || len(left) != len(others) {
			t.Fatalf("entries left are %v (%v), want those of others: %v", left, err, others)
		}
	})
}
