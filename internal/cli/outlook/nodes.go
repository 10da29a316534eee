// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// noteFailing remembers images that containers cannot start now. To foretell that they will would be a lie.
func (s *podset) noteFailing() {
	for _, c := range s.pods {
		for i := range c.Spec.Containers {
			why := waitingOf(c, c.Spec.Containers[i].Name)
			if image := c.Spec.Containers[i].Image; why != "" && s.failing[image] == "" {
				s.failing[image] = why
				s.assume(fmt.Sprintf("image %s does not start now (%s on pod %s): it is taken to fail everywhere", image, why, c.Name))
			}
		}
	}
}

// waitingOf is why a container does not start; empty when it does, or is about to.
func waitingOf(c *corev1.Pod, container string) string {
	for i := range c.Status.ContainerStatuses {
		status := &c.Status.ContainerStatuses[i]
		if status.Name != container || status.State.Waiting == nil {
			continue
		}
		switch reason := status.State.Waiting.Reason; reason {
		case "ContainerCreating", "PodInitializing":
		default:
			return reason
		}
	}
	return ""
}

// settle has pods become ready that only wait for their nodes.
func (s *podset) settle() {
	n := 0
	for i, c := range s.pods {
		if pod.IsReady(c) {
			continue
		}
		again := c.DeepCopy()
		s.start(again)
		if s.pods[i] = again; pod.IsReady(again) {
			n++
		}
	}
	if n > 0 {
		s.assume(step.Counted(n, "pod is not available now: it is taken to become so by itself", "pods are not available now: they are taken to become so by themselves"))
	}
}

// make is a new pod of a revision.
func (s *podset) make(name string, of revision.Revision) *corev1.Pod {
	s.serial++
	made := &corev1.Pod{ObjectMeta: *of.Template.ObjectMeta.DeepCopy(), Spec: *of.Template.Spec.DeepCopy()}
	made.Namespace, made.Name, made.Generation, made.CreationTimestamp = s.w.object.GetNamespace(), name, 1, metav1.NewTime(s.now)
	made.UID = plannedUID(corev1.SchemeGroupVersion.WithKind("Pod"), fmt.Sprint(name, "-", s.serial))
	made.OwnerReferences = []metav1.OwnerReference{s.reference()}
	if made.Labels == nil {
		made.Labels = map[string]string{}
	}
	made.Labels[kruisev1alpha1.LabelRevision] = revision.LabelValue(of.Name)
	made.Spec.NodeName = "a node for " + name
	s.start(made)
	return made
}

// start has a node run a pod, if its images start.
func (s *podset) start(c *corev1.Pod) {
	healthy := corev1.ConditionTrue
	c.Status.Phase, c.Status.ContainerStatuses = corev1.PodRunning, nil
	for _, container := range c.Spec.Containers {
		run := corev1.ContainerStatus{Name: container.Name, Image: container.Image, Ready: true}
		run.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.now)}
		if why := s.failing[container.Image]; why != "" {
			run.State, run.Ready, healthy = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why}}, false, corev1.ConditionFalse
		}
		c.Status.ContainerStatuses = append(c.Status.ContainerStatuses, run)
	}
	c.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: healthy}, {Type: corev1.PodReady, Status: healthy},
	}
	for _, gate := range c.Spec.ReadinessGates {
		c.Status.Conditions = append(c.Status.Conditions, corev1.PodCondition{Type: gate.ConditionType, Status: corev1.ConditionTrue})
	}
	for i := range c.Status.Conditions {
		c.Status.Conditions[i].LastTransitionTime = metav1.NewTime(s.now)
	}
}
