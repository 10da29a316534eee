// SPDX-License-Identifier: Apache-2.0

package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// soon is the LookAgain of a change that is due at once but must be seen as a step of its own.
const soon = time.Millisecond

const (
	defaultBackOff    = 10 * time.Second
	defaultMaxBackOff = 5 * time.Minute
	defaultHostIP     = "127.0.0.1"
)

// Model holds a node's settings. The zero value is a node where everything happens at once.
type Model struct {
	// StartDelay is the time from first sight of a pod until its containers start.
	StartDelay time.Duration
	// InitDelay is how long a regular init container runs.
	InitDelay time.Duration
	// ReadyDelay is the time from the start of a container until it is ready.
	ReadyDelay time.Duration
	// RestartDelay is the time between the stop of a container and the start of its successor. When it is 0, a change of
	// images is over before the node reports: one report has the change acknowledged and the container replaced, as a
	// new pod's first report has its containers running when StartDelay is 0.
	RestartDelay time.Duration
	// ResizeDelay is how long a resize without restart takes.
	ResizeDelay time.Duration
	// ShutdownDelay is how long containers take to stop when the pod is deleted; the pod's grace
	// period bounds it.
	ShutdownDelay time.Duration
	// CrashAfter is how long a `crash` container runs before it exits.
	CrashAfter time.Duration
	// BackOff is the first wait between crashes (0: 10 seconds), in whole seconds because the status
	// measures it. It doubles up to MaxBackOff (0: 5 minutes).
	BackOff, MaxBackOff time.Duration
	// NoGenerations makes it a node that does not report which generation of a pod it has seen, as before Kubernetes 1.34. It
	// acts on a change when it sees it.
	NoGenerations bool
	// HostIP is the node's address ("": 127.0.0.1).
	HostIP string
	// Allocatable bounds what one pod may be resized to; nil: everything fits.
	Allocatable corev1.ResourceList
}

// Outcome is what the node does next with a pod.
type Outcome struct {
	// Status is the whole status to report, or nil if nothing is to be written. Conditions that do not
	// belong to a kubelet are in it as they were in the pod, so write it with Patch or atomically.
	Status *corev1.PodStatus
	// Gone: all containers have stopped within the grace period. Remove the pod object with a
	// deletion with grace period 0 and the pod's UID as precondition.
	Gone bool
	// LookAgain is the time from now until the node would act by itself, given that Status was
	// written. Zero: not before somebody changes the pod.
	LookAgain time.Duration
}

// Next says what the node does with the pod at the time now. It does not change the pod. A pod
// that is not bound to a node gets the zero Outcome.
func (m Model) Next(pod *corev1.Pod, now time.Time) Outcome {
	if pod.Spec.NodeName == "" {
		return Outcome{}
	}
	s := &pass{model: m, pod: pod, now: now, status: pod.Status.DeepCopy()}
	if pod.DeletionTimestamp != nil {
		if gone := s.shutDown(); gone {
			return Outcome{Gone: true}
		}
	} else if !finished(pod.Status.Phase) {
		s.run()
	}
	if !m.NoGenerations {
		s.status.ObservedGeneration = pod.Generation
	}
	if equality.Semantic.DeepEqual(&pod.Status, s.status) {
		return Outcome{LookAgain: s.wake}
	}
	return Outcome{Status: s.status, LookAgain: s.wake}
}

// pass is one look at one pod: the status under construction and the earliest time to look again.
type pass struct {
	model  Model
	pod    *corev1.Pod
	now    time.Time
	status *corev1.PodStatus
	wake   time.Duration

	resizing   bool // some container's resources are on their way to what the spec asks
	infeasible bool // some container asks for more than the node has
}

// run moves every container of a living pod as far as the time allows.
func (s *pass) run() {
	if s.status.StartTime == nil {
		s.status.StartTime = s.stamp()
	}
	s.status.HostIP = s.model.hostIP()
	s.status.HostIPs = []corev1.HostIP{{IP: s.status.HostIP}}
	if s.status.PodIP == "" && s.over(*s.status.StartTime, s.model.StartDelay) {
		s.status.PodIP = s.podIP()
		s.status.PodIPs = []corev1.PodIP{{IP: s.status.PodIP}}
	}
	sandbox := s.status.PodIP != ""
	initialised := s.initContainers(sandbox)
	s.containers(sandbox && initialised)
	s.status.Phase = s.phase(initialised)
	s.conditions()
}

// shutDown stops the containers when their time is over. It reports true when the pod object can go.
func (s *pass) shutDown() bool {
	var grace time.Duration
	if seconds := s.pod.DeletionGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	requested := metav1.NewTime(s.pod.DeletionTimestamp.Add(-grace))
	if !s.over(requested, min(grace, preStopSleep(s.pod)+s.model.ShutdownDelay)) {
		s.conditions()
		return false
	}
	if s.stopAll() {
		s.wakeIn(soon)
		s.status.Phase = s.finalPhase()
		s.conditions()
		return false
	}
	// With grace 0 and finalizers, the API server has the last word already: it waits for the finalizers only.
	return grace > 0 || len(s.pod.Finalizers) == 0
}

// stopAll ends every container that has not ended. It reports whether there was one.
func (s *pass) stopAll() bool {
	stopped := false
	end := func(specs []corev1.Container, old []corev1.ContainerStatus) []corev1.ContainerStatus {
		statuses := make([]corev1.ContainerStatus, 0, len(specs))
		for i := range specs {
			st := find(old, &specs[i])
			switch {
			case st.State.Running != nil:
				s.stop(&st, 0, "Completed")
				stopped = true
			case st.State.Terminated == nil:
				// What a kubelet says of a container that it never started and never will.
				st.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
				stopped = true
			}
			statuses = append(statuses, st)
		}
		return statuses
	}
	s.status.InitContainerStatuses = end(s.pod.Spec.InitContainers, s.status.InitContainerStatuses)
	s.status.ContainerStatuses = end(s.pod.Spec.Containers, s.status.ContainerStatuses)
	return stopped
}

// over reports whether d has passed since the start; if not, the pass wakes when it has.
func (s *pass) over(start metav1.Time, d time.Duration) bool {
	left := start.Add(d).Sub(s.now)
	if left <= 0 {
		return true
	}
	s.wakeIn(left)
	return false
}

func (s *pass) wakeIn(d time.Duration) {
	if s.wake == 0 || d < s.wake {
		s.wake = d
	}
}

// stamp is the time as the API keeps it: whole seconds.
func (s *pass) stamp() *metav1.Time {
	t := metav1.NewTime(s.now.Truncate(time.Second))
	return &t
}

func (m Model) hostIP() string {
	if m.HostIP == "" {
		return defaultHostIP
	}
	return m.HostIP
}

func preStopSleep(pod *corev1.Pod) time.Duration {
	var longest int64
	for i := range pod.Spec.Containers {
		if hooks := pod.Spec.Containers[i].Lifecycle; hooks != nil && hooks.PreStop != nil && hooks.PreStop.Sleep != nil {
			longest = max(longest, hooks.PreStop.Sleep.Seconds)
		}
	}
	return time.Duration(longest) * time.Second
}

func finished(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}
