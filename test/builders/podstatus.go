// SPDX-License-Identifier: Apache-2.0

package builders

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// Each method here writes the whole status of the pod, so the last one counts.

// ReadySince makes the pod run and be ready since then.
func (b *PodBuilder) ReadySince(at time.Time) *PodBuilder {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Epoch())}}
	b.status(corev1.PodRunning, running, true)
	return b.Condition(corev1.PodScheduled, corev1.ConditionTrue, "", Epoch()).
		Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionTrue, "", Epoch()).
		Condition(corev1.ContainersReady, corev1.ConditionTrue, "", at).
		Condition(corev1.PodReady, corev1.ConditionTrue, "", at)
}

// NotReady makes the pod run with containers that are not ready.
func (b *PodBuilder) NotReady() *PodBuilder {
	b.ReadySince(Epoch())
	for i := range b.pod.Status.ContainerStatuses {
		b.pod.Status.ContainerStatuses[i].Ready = false
	}
	return b.Condition(corev1.ContainersReady, corev1.ConditionFalse, "ContainersNotReady", Epoch()).
		Condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", Epoch())
}

// Updating takes the pod out of service for an in-place update.
func (b *PodBuilder) Updating() *PodBuilder {
	return b.ReadySince(Epoch()).
		Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionFalse, "StartInPlaceUpdate", Epoch()).
		Condition(corev1.PodReady, corev1.ConditionFalse, "ReadinessGatesNotReady", Epoch())
}

// Waiting makes every container wait for the reason, such as "CrashLoopBackOff".
func (b *PodBuilder) Waiting(reason string) *PodBuilder {
	b.status(corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}, false)
	return b.Condition(corev1.PodScheduled, corev1.ConditionTrue, "", Epoch()).
		Condition(corev1.ContainersReady, corev1.ConditionFalse, "ContainersNotReady", Epoch()).
		Condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", Epoch())
}

// Unscheduled takes the pod from its node, for the reason in message.
func (b *PodBuilder) Unscheduled(message string) *PodBuilder {
	b.pod.Spec.NodeName = ""
	b.pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	b.Condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, Epoch())
	b.pod.Status.Conditions[0].Message = message
	return b
}

// Fresh is a pod just created: no node, no status yet.
func (b *PodBuilder) Fresh() *PodBuilder {
	b.pod.Spec.NodeName = ""
	b.pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	return b
}

// Failed ends the pod, for a reason such as "Evicted".
func (b *PodBuilder) Failed(reason string) *PodBuilder {
	b.pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason}
	return b
}

// Condition sets one condition and leaves the rest of the status alone.
func (b *PodBuilder) Condition(t corev1.PodConditionType, status corev1.ConditionStatus, reason string, since time.Time) *PodBuilder {
	condition := corev1.PodCondition{Type: t, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(since)}
	for i := range b.pod.Status.Conditions {
		if b.pod.Status.Conditions[i].Type == t {
			b.pod.Status.Conditions[i] = condition
			return b
		}
	}
	b.pod.Status.Conditions = append(b.pod.Status.Conditions, condition)
	return b
}

// status reports every container of the spec in the same state.
func (b *PodBuilder) status(phase corev1.PodPhase, state corev1.ContainerState, ready bool) {
	b.pod.Status = corev1.PodStatus{Phase: phase}
	for i := range b.pod.Spec.Containers {
		c := &b.pod.Spec.Containers[i]
		status := corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: *state.DeepCopy(), Ready: ready, Started: &ready}
		if state.Running != nil {
			status.ImageID = "sha256:" + c.Image
			status.ContainerID = "containerd://" + b.pod.Name + "-" + c.Name
		}
		b.pod.Status.ContainerStatuses = append(b.pod.Status.ContainerStatuses, status)
	}
}
