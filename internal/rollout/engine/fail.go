// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// defaultDeadline is the progressDeadlineSeconds of a plan that was stored without one.
const defaultDeadline = 600

// broken ends the rollout, whatever the failure policy is.
func (m *machine) broken(reason, why string) verdict {
	m.note(reason, why)
	return verdict{event: Broken, reason: reason, why: why}
}

func (m *machine) note(reason, why string) {
	m.status.Failure = &rolloutv1alpha1.RolloutFailure{Reason: reason, Message: why, Generation: m.Rollout.Generation}
}

// fail is for what the failure policy decides about.
func (m *machine) fail(reason, why string) verdict {
	m.note(reason, why)
	if m.state() == BatchInRolling || m.state() == BatchVerifying {
		return verdict{event: Missed, reason: reason, why: why}
	}
	return m.byPolicy()
}

// byPolicy says what a failure that was noted leads to.
func (m *machine) byPolicy() verdict {
	f := m.status.Failure
	if m.Rollout.Plan.FailurePolicy != rolloutv1alpha1.PauseOnFailure {
		return verdict{event: Broken, reason: f.Reason, why: f.Message}
	}
	return verdict{
		waiting: rolloutv1alpha1.WaitingForPerson,
		why:     fmt.Sprintf("waits for a person by failurePolicy Pause: %s; change the rollout or the workload, or use slipway rollout retry or abort", f.Message),
	}
}

// failed is for a rollout that waits at a failure: it goes on when its spec has changed, or when a person asks for it.
func (m *machine) failed() (verdict, bool) {
	f := m.status.Failure
	if f == nil || m.state() == Failing || m.state() == Abandoning {
		return verdict{}, false
	}
	retried := m.Rollout.Annotations[rolloutv1alpha1.AnnotationRetry] == m.status.Take()
	if f.Generation == m.Rollout.Generation && !retried {
		return m.byPolicy(), true
	}
	m.status.Failure = nil
	m.status.Attempt++
	m.status.Metrics = nil
	m.status.Hooks = slices.DeleteFunc(m.status.Hooks, func(h rolloutv1alpha1.HookStatus) bool { return !h.Passed })
	m.moved = true
	m.news = append(m.news, News{Reason: "RolloutRetried", Note: fmt.Sprintf("taken up again, for the time %d", m.status.Attempt)})
	return verdict{}, false
}

// orLate has the failure policy decide when a batch has gone without progress for too long. Only waiting for pods counts.
func (m *machine) orLate(v verdict) verdict {
	deadline := m.deadline()
	if v.waiting != rolloutv1alpha1.WaitingForPods || deadline == 0 {
		return v
	}
	m.count()
	left := deadline - m.still()
	if left <= 0 {
		return m.fail("DeadlineMissed", fmt.Sprintf("%s has made no progress for %s: %s", m.batchName(), deadline, v.why))
	}
	v.again = soonest(v.again, left)
	return v
}

// orStalls has a revert that has gone without progress for too long say so. It goes on trying: there is nothing else to fall back to, and
// to leave the pods as they are is for a person to choose.
func (m *machine) orStalls(v verdict) verdict {
	deadline := m.deadline()
	if v.waiting != rolloutv1alpha1.WaitingForPods || deadline == 0 {
		return v
	}
	m.count()
	if left := deadline - m.still(); left > 0 {
		v.again = soonest(v.again, left)
		return v
	}
	v.reason, v.stalls = "RevertStalled", true
	v.why = fmt.Sprintf("the revert has made no progress for %s: %s; mend the workload, or use slipway rollout abort to leave the pods as they are", deadline, v.why)
	return v
}

// deadline is how long a batch may go without progress; 0 is for ever.
func (m *machine) deadline() time.Duration {
	return time.Duration(ptr.Deref(m.Rollout.Plan.ProgressDeadlineSeconds, defaultDeadline)) * time.Second
}

// still is for how long pods have been waited for without progress. What else was waited for in between is left out, and so it gives
// none of that time back either.
func (m *machine) still() time.Duration {
	if m.progressed() {
		return 0
	}
	before := time.Duration(m.status.StillSeconds) * time.Second
	if m.status.WaitingFor != rolloutv1alpha1.WaitingForPods || m.status.LastProgressTime == nil {
		return before
	}
	return before + max(m.now.Sub(m.status.LastProgressTime.Time), 0)
}

// progressed tells whether the change is farther than it has ever been since the clock of the deadline began. What only comes back, such
// as a pod that crashes and is available for a moment in between, is no progress: else the deadline would never be missed.
func (m *machine) progressed() bool {
	return m.moved || m.reached() > m.Rollout.Status.Reached
}

// reached is how far the change is by the counts of the status.
func (m *machine) reached() int64 {
	s := &m.status
	switch {
	case !m.reverts():
		return int64(s.UpgradedReplicas) + int64(s.UpgradedReadyReplicas)
	case s.Running.Mode != rolloutv1alpha1.InPlaceMode:
		return int64(s.RevertedReplicas) + int64(s.Running.Total) - int64(s.UpgradedReplicas)
	case m.Target.Template == m.Target.Before.Template: // what counts as updated is back
		return int64(s.RevertedReplicas) + int64(s.UpgradedReplicas)
	}
	return 0
}

// reverts tells whether what was before is being brought back.
func (m *machine) reverts() bool {
	state := m.state()
	return (state == Failing || state == Deleting) && m.status.Ending == rolloutv1alpha1.RevertEnding && m.status.Running != nil
}
