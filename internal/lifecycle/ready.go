// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
)

// Reason is why a pod is kept out of service: one entry in the message of condition KruisePodReady, which
// several programs write. The condition is False while it has entries.
type Reason struct {
	UserAgent string `json:"userAgent"`
	Key       string `json:"key"`
}

var (
	// BeforeDelete keeps a pod out of service while its deletion is prepared.
	BeforeDelete = Reason{UserAgent: "Lifecycle", Key: "preDeleteHook"}
	// BeforeUpdate keeps a pod out of service from the preparation of its in-place update to its end.
	BeforeUpdate = Reason{UserAgent: "Lifecycle", Key: "preUpdateHook"}
)

// MarkNotReady are the conditions that take a pod out of service for a reason, with Ready in the same
// write, so that endpoints drop the pod without waiting for the node. Nil when the pod has no gate for it or
// is out of service for that reason already. It fails when the condition's message cannot be read: to write
// over it would lose the entries of others.
func MarkNotReady(p *corev1.Pod, hook *kruisev1alpha1.LifecycleHook, why Reason, now time.Time) ([]corev1.PodCondition, error) {
	if !marks(hook) || !pod.HasGate(p, kruisev1alpha1.ConditionKruisePodReady) {
		return nil, nil
	}
	reasons, err := reasonsOf(p)
	if err != nil || slices.Contains(reasons, why) {
		return nil, err
	}
	conditions := []corev1.PodCondition{podReady(p, append(reasons, why), now)}
	if ready := pod.Condition(p, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		conditions = append(conditions, corev1.PodCondition{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady",
			Message:            fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", kruisev1alpha1.ConditionKruisePodReady, corev1.ConditionFalse),
			LastTransitionTime: metav1.NewTime(now),
		})
	}
	return conditions, nil
}

// Unmark are the conditions that take our reasons away which no longer hold in the given state, and that
// give a pod with the gate its condition when it has none. Reasons of others stay. Nil when there is
// nothing to write.
func Unmark(p *corev1.Pod, state kruisev1alpha1.LifecycleState, now time.Time) ([]corev1.PodCondition, error) {
	if !pod.HasGate(p, kruisev1alpha1.ConditionKruisePodReady) {
		return nil, nil
	}
	reasons, err := reasonsOf(p)
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(slices.Clone(reasons), func(r Reason) bool { return outlived(r, state) })
	if len(left) == len(reasons) && pod.Condition(p, kruisev1alpha1.ConditionKruisePodReady) != nil {
		return nil, nil
	}
	return []corev1.PodCondition{podReady(p, left, now)}, nil
}

func outlived(r Reason, state kruisev1alpha1.LifecycleState) bool {
	switch r {
	case BeforeDelete:
		return state != kruisev1alpha1.LifecyclePreparingDelete
	case BeforeUpdate:
		return state != kruisev1alpha1.LifecyclePreparingUpdate && state != kruisev1alpha1.LifecycleUpdating
	}
	return false
}

func reasonsOf(p *corev1.Pod) ([]Reason, error) {
	c := pod.Condition(p, kruisev1alpha1.ConditionKruisePodReady)
	if c == nil || c.Message == "" {
		return nil, nil
	}
	var reasons []Reason
	if err := json.Unmarshal([]byte(c.Message), &reasons); err != nil {
		return nil, fmt.Errorf("reading condition %s of pod %s: %w", kruisev1alpha1.ConditionKruisePodReady, p.Name, err)
	}
	return reasons, nil
}

// podReady is the condition with these reasons, sorted as all its writers do.
func podReady(p *corev1.Pod, reasons []Reason, now time.Time) corev1.PodCondition {
	slices.SortFunc(reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(a.UserAgent, b.UserAgent), cmp.Compare(a.Key, b.Key))
	})
	if reasons == nil {
		reasons = []Reason{}
	}
	message, _ := json.Marshal(reasons)
	c := corev1.PodCondition{
		Type: kruisev1alpha1.ConditionKruisePodReady, Status: corev1.ConditionTrue,
		Message: string(message), LastTransitionTime: metav1.NewTime(now),
	}
	if len(reasons) > 0 {
		c.Status = corev1.ConditionFalse
	}
	if before := pod.Condition(p, c.Type); before != nil && before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
	return c
}
