// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// resize brings the resources of a running container to what the spec asks. It reports true
// if the container has to restart for it.
func (s *pass) resize(c *corev1.Container, st *corev1.ContainerStatus) bool {
	if !resourcesDiffer(c, st) || !s.fits() {
		return false
	}
	st.AllocatedResources = c.Resources.Requests.DeepCopy()
	for _, policy := range c.ResizePolicy {
		if policy.RestartPolicy == corev1.RestartContainer && amountDiffers(c, st, policy.ResourceName) {
			s.resizing = true
			return true
		}
	}
	at := condition(s.pod.Status.Conditions, corev1.PodResizeInProgress)
	switch {
	case at < 0: // to be announced first
		s.wakeIn(soon)
		s.resizing = true
	case s.over(s.pod.Status.Conditions[at].LastTransitionTime, s.model.ResizeDelay):
		s.allocate(c, st)
	default:
		s.resizing = true
	}
	return false
}

// resizeSeen reports whether the resize was announced by an earlier pass.
func (s *pass) resizeSeen() bool {
	return condition(s.pod.Status.Conditions, corev1.PodResizeInProgress) >= 0
}

func (s *pass) allocate(c *corev1.Container, st *corev1.ContainerStatus) {
	st.AllocatedResources = c.Resources.Requests.DeepCopy()
	st.Resources = c.Resources.DeepCopy()
}

// fits reports whether the node could hold the pod if it held nothing else.
func (s *pass) fits() bool {
	for name, most := range s.model.Allocatable {
		sum := most.DeepCopy()
		for i := range s.pod.Spec.Containers {
			sum.Sub(s.pod.Spec.Containers[i].Resources.Requests[name])
		}
		if sum.Sign() < 0 {
			return false
		}
	}
	return true
}

// resourcesDiffer compares what the spec asks with what the status reports. A status without
// resources comes from a node that did not report any yet: no difference.
func resourcesDiffer(c *corev1.Container, st *corev1.ContainerStatus) bool {
	return st.Resources != nil && slices.ContainsFunc([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory},
		func(name corev1.ResourceName) bool { return amountDiffers(c, st, name) })
}

func amountDiffers(c *corev1.Container, st *corev1.ContainerStatus, name corev1.ResourceName) bool {
	differ := func(a, b corev1.ResourceList) bool {
		x, inA := a[name]
		y, inB := b[name]
		return inA != inB || !equality.Semantic.DeepEqual(x, y)
	}
	return differ(c.Resources.Requests, st.Resources.Requests) || differ(c.Resources.Limits, st.Resources.Limits)
}
