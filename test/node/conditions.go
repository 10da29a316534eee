// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditions writes the conditions that belong to a kubelet and leaves all others alone, in
// their place. PodScheduled is the scheduler's.
func (s *pass) conditions() {
	s.resizeConditions()
	sandbox := corev1.ConditionFalse
	if s.status.PodIP != "" && !finished(s.status.Phase) {
		sandbox = corev1.ConditionTrue
	}
	s.set(corev1.PodReadyToStartContainers, sandbox, "", "")
	s.set(s.initializedCondition())
	status, reason, message := s.containersReady()
	s.set(corev1.ContainersReady, status, reason, message)
	if status == corev1.ConditionTrue {
		status, reason, message = s.gates()
	}
	s.set(corev1.PodReady, status, reason, message)
}

func (s *pass) resizeConditions() {
	if s.resizing {
		s.set(corev1.PodResizeInProgress, corev1.ConditionTrue, "", "")
	} else {
		s.unset(corev1.PodResizeInProgress)
	}
	if s.infeasible {
		s.set(corev1.PodResizePending, corev1.ConditionTrue, corev1.PodReasonInfeasible, "the node has less than the pod asks for")
	} else {
		s.unset(corev1.PodResizePending)
	}
}

func (s *pass) initializedCondition() (corev1.PodConditionType, corev1.ConditionStatus, string, string) {
	if s.status.Phase == corev1.PodSucceeded {
		return corev1.PodInitialized, corev1.ConditionTrue, "PodCompleted", ""
	}
	var missing []string
	for i := range s.pod.Spec.InitContainers {
		c := &s.pod.Spec.InitContainers[i]
		if st := find(s.status.InitContainerStatuses, c); !initDone(c, &st) {
			missing = append(missing, c.Name)
		}
	}
	if len(missing) == 0 || isTrue(s.pod.Status.Conditions, corev1.PodInitialized) {
		return corev1.PodInitialized, corev1.ConditionTrue, "", ""
	}
	return corev1.PodInitialized, corev1.ConditionFalse, "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: %s", missing)
}

func (s *pass) containersReady() (status corev1.ConditionStatus, reason, message string) {
	switch s.status.Phase {
	case corev1.PodSucceeded:
		return corev1.ConditionFalse, "PodCompleted", ""
	case corev1.PodFailed:
		return corev1.ConditionFalse, "PodFailed", ""
	case corev1.PodPending, corev1.PodRunning, corev1.PodUnknown:
	}
	var unready []string
	for i := range s.pod.Spec.InitContainers {
		c := &s.pod.Spec.InitContainers[i]
		if isSidecar(c) && !find(s.status.InitContainerStatuses, c).Ready {
			unready = append(unready, c.Name)
		}
	}
	for i := range s.pod.Spec.Containers {
		if c := &s.pod.Spec.Containers[i]; !find(s.status.ContainerStatuses, c).Ready {
			unready = append(unready, c.Name)
		}
	}
	if len(unready) > 0 {
		return corev1.ConditionFalse, "ContainersNotReady", fmt.Sprintf("containers with unready status: %s", unready)
	}
	return corev1.ConditionTrue, "", ""
}

func (s *pass) gates() (status corev1.ConditionStatus, reason, message string) {
	var closed []string
	for _, gate := range s.pod.Spec.ReadinessGates {
		// The words are the kubelet's: controllers that write them beforehand save it a write.
		switch at := slices.IndexFunc(s.status.Conditions, func(c corev1.PodCondition) bool { return c.Type == gate.ConditionType }); {
		case at < 0:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case s.status.Conditions[at].Status != corev1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, s.status.Conditions[at].Status))
		}
	}
	if len(closed) > 0 {
		return corev1.ConditionFalse, "ReadinessGatesNotReady", strings.Join(closed, ", ")
	}
	return corev1.ConditionTrue, "", ""
}

func (s *pass) phase(initialised bool) corev1.PodPhase {
	never := s.pod.Spec.RestartPolicy == corev1.RestartPolicyNever
	if !initialised {
		for i := range s.pod.Spec.InitContainers {
			c := &s.pod.Spec.InitContainers[i]
			if end := find(s.status.InitContainerStatuses, c).State.Terminated; never && !isSidecar(c) && end != nil && end.ExitCode != 0 {
				return corev1.PodFailed
			}
		}
		return corev1.PodPending
	}
	ended, failed := 0, 0
	for i := range s.status.ContainerStatuses {
		st := &s.status.ContainerStatuses[i]
		switch {
		case st.State.Waiting != nil && st.LastTerminationState.Terminated == nil:
			return corev1.PodPending
		case st.State.Terminated != nil && !s.restarts(&s.pod.Spec.Containers[i], st.State.Terminated.ExitCode) && !s.changed(&s.pod.Spec.Containers[i], st):
			ended++
			if st.State.Terminated.ExitCode != 0 {
				failed++
			}
		}
	}
	switch {
	case ended < len(s.status.ContainerStatuses):
		return corev1.PodRunning
	case failed > 0:
		return corev1.PodFailed
	default:
		return corev1.PodSucceeded
	}
}

// finalPhase is the phase of a deleted pod whose containers have all ended. A phase once final stays.
func (s *pass) finalPhase() corev1.PodPhase {
	if finished(s.status.Phase) {
		return s.status.Phase
	}
	for i := range s.status.ContainerStatuses {
		if end := s.status.ContainerStatuses[i].State.Terminated; end != nil && end.ExitCode != 0 {
			return corev1.PodFailed
		}
	}
	return corev1.PodSucceeded
}

func (s *pass) set(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) {
	at := condition(s.status.Conditions, kind)
	if at < 0 {
		at = len(s.status.Conditions)
		s.status.Conditions = append(s.status.Conditions, corev1.PodCondition{Type: kind})
	}
	c := &s.status.Conditions[at]
	if c.Status != status {
		c.LastTransitionTime = *s.stamp()
	}
	c.Status, c.Reason, c.Message = status, reason, message
	if !s.model.NoGenerations {
		c.ObservedGeneration = s.pod.Generation
	}
}

func (s *pass) unset(kind corev1.PodConditionType) {
	s.status.Conditions = slices.DeleteFunc(s.status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
}

// notReadySince is when the containers stopped being ready, or the pod's start.
func (s *pass) notReadySince() metav1.Time {
	if at := condition(s.pod.Status.Conditions, corev1.ContainersReady); at >= 0 {
		return s.pod.Status.Conditions[at].LastTransitionTime
	}
	return *s.status.StartTime
}

func condition(conditions []corev1.PodCondition, kind corev1.PodConditionType) int {
	return slices.IndexFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
}

func isTrue(conditions []corev1.PodCondition, kind corev1.PodConditionType) bool {
	at := condition(conditions, kind)
	return at >= 0 && conditions[at].Status == corev1.ConditionTrue
}
