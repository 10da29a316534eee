// SPDX-License-Identifier: Apache-2.0

package member

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/pod"
)

// Member is one active pod as a pass judges it.
type Member struct {
	Pod *corev1.Pod
	// Updated: the pod carries the update revision.
	Updated bool
	// Ready and Available are as the status counts them.
	Ready, Available bool
	// Chosen: somebody asked for the deletion of this very pod.
	Chosen bool
	// Progress is how far the pod's in-place update has come. Unreadable is set instead when the pod's
	// annotations make no sense; such a pod is only ever replaced.
	Progress   inplace.Progress
	Unreadable error
	// LookAgain is when time alone will change what is known of the pod; 0 when only an event can.
	LookAgain time.Duration
}

// Judge tells how a pod stands. Whether it is one of the set's is the caller's to know.
func (s *Set) Judge(p *corev1.Pod) Member {
	m := Member{Pod: p, Updated: pod.HasRevision(p, s.Update.Name)}
	m.Progress, m.Unreadable = s.reading(p).Progress(p, s.Now)
	if why := s.Unresizable[p.UID]; why != "" && m.Updated && m.Progress.NextBatch {
		m.Progress.Infeasible = why // it was to be resized in its next batch
	}
	// The gate says the same for pods that have one, and it stays open where no container restarts. A pod
	// without it would count as available between the change of its image and the moment when the node
	// acts on it.
	settled := m.Progress.Finished || m.Unreadable != nil || inplace.GateOpen(p)
	m.Ready = settled && pod.IsReady(p)
	m.Available = settled && pod.IsAvailable(p, s.MinReadySeconds, s.Now)
	m.Chosen = pod.IsChosen(p, s.ChosenNames)
	if wait, byTime := pod.AvailableIn(p, s.MinReadySeconds, s.Now); settled && byTime {
		m.lookAgainIn(wait)
	}
	m.lookAgainIn(m.Progress.LookIn)
	if m.Progress.Holding {
		// In whole seconds: the annotation counts no finer.
		m.lookAgainIn((m.Progress.GraceLeft + time.Second - 1).Truncate(time.Second))
		m.lookAgainIn((m.Progress.DrainIn + time.Second - 1).Truncate(time.Second))
	}
	return m
}

func (m *Member) lookAgainIn(wait time.Duration) {
	if wait > 0 && (m.LookAgain == 0 || wait < m.LookAgain) {
		m.LookAgain = wait
	}
}

// reading is what the annotations of a pod say.
func (s *Set) reading(p *corev1.Pod) inplace.Reading {
	if known, decoded := s.Readings[p.UID]; decoded && known.Holds(p) {
		return known
	}
	return inplace.Read(p)
}

// PreparingDelete tells whether the pod is to be deleted and its hook comes first.
func (m Member) PreparingDelete() bool {
	return pod.Lifecycle(m.Pod) == kruisev1alpha1.LifecyclePreparingDelete
}

// PreparingUpdate tells whether the pod is to be updated in place and its hook comes first.
func (m Member) PreparingUpdate() bool {
	return pod.Lifecycle(m.Pod) == kruisev1alpha1.LifecyclePreparingUpdate
}
