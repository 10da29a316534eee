// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

const (
	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
	reasonCrashLoop    = "CrashLoopBackOff"
	reasonErrPull      = "ErrImagePull"
	reasonPullBackOff  = "ImagePullBackOff"
)

// containers advances the main containers; until they may start they wait.
func (s *pass) containers(mayStart bool) {
	waiting := reasonCreating
	if len(s.pod.Spec.InitContainers) > 0 {
		waiting = reasonInitializing
	}
	statuses := make([]corev1.ContainerStatus, 0, len(s.pod.Spec.Containers))
	for i := range s.pod.Spec.Containers {
		c := &s.pod.Spec.Containers[i]
		st := find(s.status.ContainerStatuses, c)
		if empty(st.State) {
			st.State.Waiting = &corev1.ContainerStateWaiting{Reason: waiting}
		}
		if mayStart {
			s.advance(c, &st)
		}
		s.infeasible = s.infeasible || resourcesDiffer(c, &st) && !s.fits()
		statuses = append(statuses, st)
	}
	s.status.ContainerStatuses = statuses
}

// initContainers advances the init containers in order. It reports whether the main containers may start.
func (s *pass) initContainers(sandbox bool) bool {
	specs := s.pod.Spec.InitContainers
	if len(specs) == 0 {
		return true
	}
	wasInitialised := isTrue(s.pod.Status.Conditions, corev1.PodInitialized)
	done := sandbox
	statuses := make([]corev1.ContainerStatus, 0, len(specs))
	for i := range specs {
		c := &specs[i]
		st := find(s.status.InitContainerStatuses, c)
		if empty(st.State) {
			st.State.Waiting = &corev1.ContainerStateWaiting{Reason: reasonInitializing}
		}
		switch {
		case isSidecar(c) && (done || wasInitialised):
			s.advance(c, &st)
		case !isSidecar(c) && done && !wasInitialised && !initDone(c, &st):
			s.advance(c, &st)
			s.complete(c, &st)
		}
		statuses = append(statuses, st)
		done = done && initDone(c, &st)
	}
	s.status.InitContainerStatuses = statuses
	return done || wasInitialised
}

// complete ends a regular init container that has done its work.
func (s *pass) complete(c *corev1.Container, st *corev1.ContainerStatus) {
	if st.State.Running == nil {
		return
	}
	st.Ready = false
	will := behaviourOf(c.Image)
	if will.broken || will.crash || !s.over(st.State.Running.StartedAt, max(s.model.InitDelay, will.slow)) {
		return
	}
	s.stop(st, 0, "Completed")
	st.Ready = true
}

func initDone(c *corev1.Container, st *corev1.ContainerStatus) bool {
	if isSidecar(c) {
		return ptr.Deref(st.Started, false)
	}
	return st.State.Terminated != nil && st.State.Terminated.ExitCode == 0
}

// advance moves one container one step. Stopping is a step of its own, so that the container is
// always seen stopped between two images.
func (s *pass) advance(c *corev1.Container, st *corev1.ContainerStatus) {
	switch {
	case st.State.Running != nil:
		s.running(c, st)
	case st.State.Terminated != nil:
		s.terminated(c, st)
	default:
		s.waiting(c, st)
	}
}

func (s *pass) running(c *corev1.Container, st *corev1.ContainerStatus) {
	restartForResources := s.resize(c, st)
	if st.Image != c.Image || restartForResources {
		s.wakeIn(soon)
		if s.model.RestartDelay == 0 && !restartForResources {
			s.stop(st, 0, "Completed")
			s.terminated(c, st)
			return
		}
		// A kubelet reports the generation that it saw before it acts on it. Controllers must not take that for the finished change.
		seen := s.model.NoGenerations || s.pod.Status.ObservedGeneration == s.pod.Generation
		if seen && (!restartForResources || s.resizeSeen()) {
			s.stop(st, 0, "Completed")
		}
		return
	}
	if behaviourOf(c.Image).crash && s.over(st.State.Running.StartedAt, s.model.CrashAfter) {
		s.stop(st, 1, "Error")
		return
	}
	s.readiness(c, st)
}

func (s *pass) readiness(c *corev1.Container, st *corev1.ContainerStatus) {
	will := behaviourOf(c.Image)
	st.Ready = !will.broken && !will.crash && s.over(st.State.Running.StartedAt, max(s.model.ReadyDelay, will.slow))
}

func (s *pass) terminated(c *corev1.Container, st *corev1.ContainerStatus) {
	end := st.State.Terminated
	changed := s.changed(c, st)
	if !changed && !s.restarts(c, end.ExitCode) {
		return
	}
	if wait := s.backOff(st); end.ExitCode != 0 && !changed && wait > 0 {
		st.LastTerminationState = st.State
		st.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason:  reasonCrashLoop,
			Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", wait, c.Name, s.pod.Name),
		}}
		s.over(end.FinishedAt, wait)
		return
	}
	if s.over(end.FinishedAt, s.model.RestartDelay) {
		s.start(c, st)
	}
}

func (s *pass) waiting(c *corev1.Container, st *corev1.ContainerStatus) {
	reason, message := st.State.Waiting.Reason, st.State.Waiting.Message
	switch {
	case reason == reasonCrashLoop && st.LastTerminationState.Terminated != nil:
		wait := max(statedBackOff(message), s.model.RestartDelay)
		if s.changed(c, st) {
			wait = s.model.RestartDelay
		}
		if s.over(st.LastTerminationState.Terminated.FinishedAt, wait) {
			s.start(c, st)
		}
	case (reason == reasonErrPull || reason == reasonPullBackOff) && message == pullError(c.Image):
		if reason == reasonErrPull && s.over(s.notReadySince(), s.model.firstBackOff()) {
			st.State.Waiting.Reason = reasonPullBackOff
		}
	default:
		s.start(c, st)
	}
}

// start runs the spec's image, or says that it cannot be pulled.
func (s *pass) start(c *corev1.Container, st *corev1.ContainerStatus) {
	if st.State.Terminated != nil {
		st.LastTerminationState = st.State
	}
	if behaviourOf(c.Image).missing {
		st.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reasonErrPull, Message: pullError(c.Image)}}
		s.wakeIn(s.model.firstBackOff())
		return
	}
	if st.ContainerID != "" {
		st.RestartCount++
	}
	st.Image = c.Image
	st.ImageID = imageID(c.Image)
	st.ContainerID = s.containerID(c, st.RestartCount)
	st.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *s.stamp()}}
	st.Started = ptr.To(true)
	if st.Resources == nil || s.fits() {
		s.allocate(c, st)
	}
	s.readiness(c, st)
	if behaviourOf(c.Image).crash {
		s.wakeIn(max(s.model.CrashAfter, soon))
	}
}

func (s *pass) stop(st *corev1.ContainerStatus, exitCode int32, reason string) {
	st.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode:    exitCode,
		Reason:      reason,
		StartedAt:   st.State.Running.StartedAt,
		FinishedAt:  *s.stamp(),
		ContainerID: st.ContainerID,
	}}
	st.Ready = false
	st.Started = ptr.To(false)
	s.wakeIn(soon)
}

// changed reports whether the spec asks for another container than the one that ran last.
func (s *pass) changed(c *corev1.Container, st *corev1.ContainerStatus) bool {
	return st.ContainerID != "" && (st.Image != c.Image || resourcesDiffer(c, st) && s.fits())
}

func (s *pass) restarts(c *corev1.Container, exitCode int32) bool {
	if isSidecar(c) {
		return true
	}
	switch s.pod.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return exitCode != 0
	case corev1.RestartPolicyAlways:
	}
	isInit := false
	for i := range s.pod.Spec.InitContainers {
		isInit = isInit || s.pod.Spec.InitContainers[i].Name == c.Name
	}
	return !isInit || exitCode != 0
}

// backOff is the wait after a crash. The wait before is read from the status, so that it needs no
// memory and starts anew after a container that was stopped on purpose.
func (s *pass) backOff(st *corev1.ContainerStatus) time.Duration {
	last, end := st.LastTerminationState.Terminated, st.State.Terminated
	if last == nil || last.ExitCode == 0 {
		return 0 // the first crash restarts at once
	}
	waited := end.StartedAt.Sub(last.FinishedAt.Time)
	longest := s.model.MaxBackOff
	if longest == 0 {
		longest = defaultMaxBackOff
	}
	first := s.model.firstBackOff()
	if waited < first {
		return first
	}
	return min(2*waited, longest)
}

func (m Model) firstBackOff() time.Duration {
	if m.BackOff == 0 {
		return defaultBackOff
	}
	return m.BackOff
}

// statedBackOff reads the wait back from the message that terminated wrote.
func statedBackOff(message string) time.Duration {
	var text string
	if _, err := fmt.Sscanf(message, "back-off %s", &text); err != nil {
		return 0
	}
	wait, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return wait
}

func pullError(image string) string {
	return fmt.Sprintf("failed to pull image %q: not found", image)
}

// find returns a copy of the container's status, or a fresh one.
func find(statuses []corev1.ContainerStatus, c *corev1.Container) corev1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == c.Name {
			return *statuses[i].DeepCopy()
		}
	}
	return corev1.ContainerStatus{Name: c.Name, Image: c.Image}
}

func isSidecar(c *corev1.Container) bool {
	return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

func empty(state corev1.ContainerState) bool {
	return state.Waiting == nil && state.Running == nil && state.Terminated == nil
}
