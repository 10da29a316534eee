// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/revision"
)

// IsTerminating reports whether the pod's deletion has been accepted.
func IsTerminating(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }

// IsFinished reports whether the pod has ended by itself and will not run
// again.
func IsFinished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// IsActive reports whether the pod counts as one of the workload's: neither
// finished nor terminating.
func IsActive(p *corev1.Pod) bool { return !IsFinished(p) && !IsTerminating(p) }

// Lifecycle returns the pod's lifecycle state. A pod without one is Normal.
func Lifecycle(p *corev1.Pod) kruisev1alpha1.LifecycleState {
	if state := p.Labels[kruisev1alpha1.LabelLifecycleState]; state != "" {
		return kruisev1alpha1.LifecycleState(state)
	}
	return kruisev1alpha1.LifecycleNormal
}

// RevisionHash returns the hash of the revision that the pod carries, or "" if
// it carries none.
func RevisionHash(p *corev1.Pod) string {
	return revision.HashOf(p.Labels[kruisev1alpha1.LabelRevision])
}

// HasRevision reports whether the pod carries the revision of that name. Labels
// hold names with and without the workload's name in front, so only the hash
// part is compared.
func HasRevision(p *corev1.Pod, name string) bool {
	hash := RevisionHash(p)
	return hash != "" && hash == revision.HashOf(name)
}

// HasGate reports whether the pod has a readiness gate of that type.
func HasGate(p *corev1.Pod, t corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == t })
}

// Condition returns the pod's condition of that type, or nil. It points into
// the pod and must not be changed.
func Condition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// DeletionCost returns what the pod's annotation says about deleting it: pods
// with a lower cost go first. Anything but an int32 in its plain decimal form,
// such as "+5" or "007", is 0.
func DeletionCost(p *corev1.Pod) int32 {
	value := p.Annotations[kruisev1alpha1.AnnotationPodDeletionCost]
	cost, err := strconv.ParseInt(value, 10, 32)
	if err != nil || strconv.FormatInt(cost, 10) != value {
		return 0
	}
	return int32(cost)
}

// IsChosen reports whether somebody asked for the deletion of this very pod,
// by its label, whatever the value, or by name in podsToDelete.
func IsChosen(p *corev1.Pod, podsToDelete []string) bool {
	_, marked := p.Labels[kruisev1alpha1.LabelSpecifiedDelete]
	return marked || slices.Contains(podsToDelete, p.Name)
}

// ControllerOf returns the UID of the object's controller, or "" if it has
// none. Only the UID identifies an owner: its API version may be written
// differently by each publisher, and its name may be used again.
func ControllerOf(object metav1.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
		return ref.UID
	}
	return ""
}

// IsControlledBy reports whether the object's controller has that UID.
func IsControlledBy(object metav1.Object, owner types.UID) bool {
	return owner != "" && ControllerOf(object) == owner
}
