// SPDX-License-Identifier: Apache-2.0

package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// These are the contract's definitions, written for the judge alone: it must not borrow them from the code that it judges.

// Member: owned by the set, and still matching its selector.
func Member(pod *corev1.Pod, set types.UID) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.UID == set && pod.Labels[LabelApp] == SetName
}

// Active: neither on its way out nor finished.
func Active(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// Condition finds a condition of a pod; nil when it has none of that type.
func Condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// Holds tells whether a condition is True.
func Holds(pod *corev1.Pod, t corev1.PodConditionType) bool {
	c := Condition(pod, t)
	return c != nil && c.Status == corev1.ConditionTrue
}

// HasGate tells whether the pod can be taken out of service for updates in place.
func HasGate(pod *corev1.Pod) bool {
	for _, g := range pod.Spec.ReadinessGates {
		if g.ConditionType == kruisev1alpha1.ConditionInPlaceUpdateReady {
			return true
		}
	}
	return false
}

// Ready: its node and its gate say so.
func Ready(pod *corev1.Pod) bool {
	gate := Condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady)
	return pod.Status.Phase == corev1.PodRunning && Holds(pod, corev1.PodReady) && (gate == nil || gate.Status == corev1.ConditionTrue)
}

// InService: nothing but time keeps it from being available.
func InService(pod *corev1.Pod) bool {
	return Ready(pod) && StateOf(pod) == kruisev1alpha1.LifecycleNormal
}

// Available: in service for long enough.
func Available(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	if !Active(pod) || !InService(pod) {
		return false
	}
	since := Condition(pod, corev1.PodReady).LastTransitionTime
	return !since.Add(time.Duration(minReadySeconds) * time.Second).After(now)
}
