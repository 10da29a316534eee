// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
)

// InService is the condition that puts a pod back into service, or nil when the pod needs none: it has
// no gate, or the gate is open.
func InService(p *corev1.Pod, now time.Time) []corev1.PodCondition {
	if gateIs(p, corev1.ConditionTrue) {
		return nil
	}
	return []corev1.PodCondition{{Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}}
}

// drainMessage is what a kubelet says of a closed gate. Saying the same leaves it nothing to write between
// our drain and our patch, which a write in between would turn into a conflict.
var drainMessage = fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionFalse)

// OutOfService is what takes a pod out of service, or nil when it has no gate or is out of it already. Ready follows in
// the same write when the containers are ready, so that endpoints drop the pod without waiting for the node.
//
// A closed gate is not enough: a node that has not seen it yet may report the pod ready once more. Then both conditions
// are written again, and that of the gate remembers when, since a node may overwrite the time of the other.
func OutOfService(p *corev1.Pod, now time.Time) []corev1.PodCondition {
	again := gateIs(p, corev1.ConditionFalse)
	if again && !serving(p) {
		return nil
	}
	left := metav1.NewTime(now)
	if gate := pod.Condition(p, kruisev1alpha1.ConditionInPlaceUpdateReady); again && gate != nil {
		left = metav1.NewTime(later(wholeSecond(now), gate.LastTransitionTime.Add(time.Second)))
	}
	conditions := []corev1.PodCondition{{
		Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionFalse,
		Reason: "StartInPlaceUpdate", LastTransitionTime: left,
	}}
	if serving(p) {
		conditions = append(conditions, corev1.PodCondition{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady",
			Message: drainMessage, LastTransitionTime: metav1.NewTime(now),
		})
	}
	return conditions
}

// CloseGate is as OutOfService for a pod whose containers are not about to change: nil when the gate is closed already,
// whatever its node says. So nobody is written against without an end.
func CloseGate(p *corev1.Pod, now time.Time) []corev1.PodCondition {
	if gateIs(p, corev1.ConditionFalse) {
		return nil
	}
	return OutOfService(p, now)
}

// GateOpen tells whether the pod has the readiness gate and it is open: the pod serves, whatever else is
// going on with it.
func GateOpen(p *corev1.Pod) bool {
	return pod.HasGate(p, kruisev1alpha1.ConditionInPlaceUpdateReady) && gateIs(p, corev1.ConditionTrue)
}

// gateIs tells whether the gate has that value already, or there is no gate to give it to.
func gateIs(p *corev1.Pod, status corev1.ConditionStatus) bool {
	gate := pod.Condition(p, kruisev1alpha1.ConditionInPlaceUpdateReady)
	return !pod.HasGate(p, kruisev1alpha1.ConditionInPlaceUpdateReady) || gate != nil && gate.Status == status
}

// serving tells whether endpoints have a pod that can be taken out of service: they go by its condition Ready, whatever
// its gate says.
func serving(p *corev1.Pod) bool {
	_, ready := pod.ReadySince(p)
	return ready && pod.HasGate(p, kruisev1alpha1.ConditionInPlaceUpdateReady)
}
