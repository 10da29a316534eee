// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// These are the contract's definitions, written for the judge alone: it must not borrow them from the code that it judges.

// member: owned by the set, and still matching its selector.
func member(pod *corev1.Pod, set types.UID) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.UID == set && pod.Labels[labelApp] == setName
}

func active(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func holds(pod *corev1.Pod, t corev1.PodConditionType) bool {
	c := condition(pod, t)
	return c != nil && c.Status == corev1.ConditionTrue
}

func hasGate(pod *corev1.Pod) bool {
	for _, g := range pod.Spec.ReadinessGates {
		if g.ConditionType == kruisev1alpha1.ConditionInPlaceUpdateReady {
			return true
		}
	}
	return false
}

func ready(pod *corev1.Pod) bool {
	gate := condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady)
	return pod.Status.Phase == corev1.PodRunning && holds(pod, corev1.PodReady) && (gate == nil || gate.Status == corev1.ConditionTrue)
}

// inService: nothing but time keeps it from being available.
func inService(pod *corev1.Pod) bool {
	return ready(pod) && stateOf(pod) == kruisev1alpha1.LifecycleNormal
}

func available(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	if !active(pod) || !inService(pod) {
		return false
	}
	since := condition(pod, corev1.PodReady).LastTransitionTime
	return !since.Add(time.Duration(minReadySeconds) * time.Second).After(now)
}

func chosen(pod *corev1.Pod, set *kruisev1alpha1.CloneSet) bool {
	if _, marked := pod.Labels[kruisev1alpha1.LabelSpecifiedDelete]; marked {
		return true
	}
	for _, name := range set.Spec.ScaleStrategy.PodsToDelete {
		if name == pod.Name {
			return true
		}
	}
	return false
}
