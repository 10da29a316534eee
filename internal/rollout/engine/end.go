// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// superseded says what is newer than what runs; empty for nothing. Before anything was claimed, what is asked for is read
// anew at each look.
func (m *machine) superseded() string {
	if why := m.asksAnew(); why != "" {
		return why
	}
	r, w := m.status.Running, &m.Target
	if r == nil || r.Mode == rolloutv1alpha1.ScaleMode || !w.Found {
		return ""
	}
	state := m.state()
	if (state == Finalising || state == Failing) && !w.Held {
		return "" // it has been let go: what happens to it now is no longer ours
	}
	if state == Failing && !m.isNewer() || state != Failing && w.Template == m.status.NewPodTemplateIdentifier {
		return ""
	}
	return fmt.Sprintf("the template of %s %s has changed", r.TargetRef.Kind, r.TargetRef.Name)
}

// isNewer tells whether a revert finds a template that is neither the one that it is to take back nor the one from before: somebody has
// set it since. The former is newer as well, once it was taken back.
func (m *machine) isNewer() bool {
	w := &m.Target
	if w.Template == m.status.NewPodTemplateIdentifier {
		return w.Before.Back && w.Template != w.Before.Template
	}
	return w.Template != w.Before.Template
}

// asksAnew says what the spec asks for that the running rollout, or the one that has ended, was not asked for.
func (m *machine) asksAnew() string {
	r := m.status.Running
	if r == nil {
		return ""
	}
	asks := m.Rollout.Revisions
	switch {
	case asks != nil && r.TargetAppRevision != asks.Target:
		return fmt.Sprintf("spec.targetAppRevisionName is now %s", asks.Target)
	case asks != nil && r.SourceAppRevision != asks.Source:
		return fmt.Sprintf("spec.sourceAppRevisionName is now %q", asks.Source)
	case asks != nil && r.Component != asks.Component:
		return fmt.Sprintf("its component is now %s", asks.Component)
	case asks != nil: // the workloads are those of the revisions
	case r.TargetRef != m.Rollout.Target:
		return fmt.Sprintf("spec.targetRef is now %s %s", m.Rollout.Target.Kind, m.Rollout.Target.Name)
	case !equality.Semantic.DeepEqual(r.SourceRef, m.Rollout.Source):
		return "spec.sourceRef has changed"
	}
	if !equality.Semantic.DeepEqual(r.TargetSize, m.Rollout.Plan.TargetSize) {
		return "spec.rolloutPlan.targetSize has changed"
	}
	return ""
}

// finalise lets go of the workloads after all batches, and calls the last webhooks.
func (m *machine) finalise() verdict {
	if v, holds := m.letGo(true); holds {
		return v
	}
	if m.Blocked != "" {
		return waitForWorkload(m.Blocked)
	}
	if v, waits := m.lastHooks(string(rolloutv1alpha1.RolloutSucceedState)); waits {
		return v
	}
	return verdict{event: Released, why: "all batches are done, and the workload is released"}
}

// wind is the end of a rollout that has failed, or that something newer takes the place of.
func (m *machine) wind() verdict {
	phase := string(rolloutv1alpha1.RolloutFailedState)
	if m.state() == Abandoning {
		phase = string(rolloutv1alpha1.RolloutAbandoningState)
	}
	if v, waits := m.unwind(phase); waits {
		return v
	}
	if m.state() == Abandoning {
		return verdict{event: Released, why: "something newer was asked for"}
	}
	return verdict{event: Released, why: m.howItEnded()}
}

// howItEnded tells what went wrong, and what has become of the pods.
func (m *machine) howItEnded() string {
	note := "the rollout has failed"
	if m.status.Failure != nil {
		note = m.status.Failure.Message
	}
	if m.status.Ending == rolloutv1alpha1.RevertEnding {
		return note + "; what was before is back"
	}
	return note + "; the pods are left as they are"
}

// goAway is the end of a rollout that is deleted. One that had ended before has nothing to let go of.
func (m *machine) goAway() verdict {
	if m.status.Ending == rolloutv1alpha1.RevertEnding && !m.Rollout.RevertOnDelete && m.status.Failure == nil {
		m.status.Ending = rolloutv1alpha1.LeaveEnding // a person has changed their mind
	}
	if m.status.Ending != "" || m.held() {
		if v, waits := m.unwind(string(rolloutv1alpha1.RolloutDeletingState)); waits {
			return v
		}
	}
	if m.Rollout.Finalizer {
		return verdict{why: "may go", actions: []Action{Leave{Because("nothing is held any more")}}}
	}
	return verdict{why: "may go"}
}

// unwind reverts if asked for, lets go of the workloads and calls the last webhooks.
func (m *machine) unwind(phase string) (verdict, bool) {
	opens := false
	m.stay()
	if m.status.Ending == rolloutv1alpha1.RevertEnding {
		v, waits := m.revert()
		if waits {
			return m.orStalls(v), true
		}
		opens = v.event == Released
	}
	if v, holds := m.letGo(opens); holds {
		return v, true
	}
	return m.lastHooks(phase)
}

// stay ends a revert that a person has ended, or that would overwrite a template that is newer. The pods are left as they are.
func (m *machine) stay() {
	if !m.reverts() {
		return
	}
	n := News{Reason: "Aborted", Note: "a person has ended the revert", Bad: true}
	if m.Rollout.Annotations[rolloutv1alpha1.AnnotationAbort] != m.status.Take() {
		inPlace := m.status.Running.Mode == rolloutv1alpha1.InPlaceMode && m.Target.Found && m.Target.Held && m.Target.Before.Known
		if !inPlace || !m.isNewer() {
			return
		}
		n = News{Reason: "CannotRevert", Note: fmt.Sprintf("the template of %s %s is newer than what would be brought back", m.ref(Target).Kind, m.ref(Target).Name), Bad: true}
	}
	m.status.Ending = rolloutv1alpha1.LeaveEnding
	if m.status.Failure != nil {
		m.status.Failure.Message += "; " + n.Note
	}
	m.news = append(m.news, n)
}

// revert undoes the batches in reverse. What cannot be reverted is left as it is, and said.
func (m *machine) revert() (verdict, bool) {
	r := m.status.Running
	if r == nil || !m.Target.Found || !m.Target.Held || m.Source != nil && (!m.Source.Found || !m.Source.Held) {
		return verdict{}, false
	}
	if r.Mode == rolloutv1alpha1.InPlaceMode && !m.Target.Before.Known {
		m.status.Ending = rolloutv1alpha1.LeaveEnding
		m.news = append(m.news, News{Reason: "CannotRevert", Note: m.Target.Before.Why, Bad: true})
		return verdict{}, false
	}
	c := m.course()
	for {
		v := c.back(m.before())
		if v.event == "" {
			return v, true
		}
		if m.status.CurrentBatch == 0 {
			return verdict{event: Released}, false
		}
		m.status.CurrentBatch--
		m.status.LastProgressTime, m.moved = at(m.now), true
	}
}

// before is how many pods were changed before the current batch.
func (m *machine) before() int {
	return m.goalOf(int(m.status.CurrentBatch)-1, m.course().total())
}

func (m *machine) held() bool {
	return m.Target.Held || m.Source != nil && m.Source.Held
}

// letGo releases the workloads that are held.
func (m *machine) letGo(opens bool) (verdict, bool) {
	mode := rolloutv1alpha1.InPlaceMode // asks for the least where the status is lost
	if m.status.Running != nil {
		mode = m.status.Running.Mode
	}
	var actions []Action
	for _, side := range m.sides() {
		if w := m.workload(side); w.Found && w.Held {
			actions = append(actions, Release{Because(m.why(opens)), side, mode, opens, min(w.Asked, w.Updated)})
		}
	}
	v := verdict{why: lettingGo, actions: actions}
	if m.state() == Finalising { // no status is written that would have somebody look, and what is let go is watched no longer
		v.again = pollSoon
	}
	return v, len(actions) > 0
}

const lettingGo = "lets go of the workloads"

func (m *machine) why(opens bool) string {
	switch {
	case m.state() == Finalising:
		return "all batches are done"
	case opens:
		return "what was before is back"
	}
	return "the rollout ends before its time, and leaves the pods as they are"
}

// rest is for a rollout that has ended. Nothing moves until something new is asked for.
func (m *machine) rest() verdict {
	why := m.asksAnew()
	switch f := m.status.Failure; {
	case why != "":
	case m.status.Running == nil && f != nil && f.Generation != m.Rollout.Generation:
		why = "the rollout has been changed"
	case m.state() == Failed && m.Rollout.Annotations[rolloutv1alpha1.AnnotationRetry] == m.status.Take():
		why = "a person has it tried again"
	}
	if why != "" {
		return verdict{event: Asked, why: why}
	}
	v := verdict{why: m.status.Message}
	stored := m.Rollout.Status.RollingState.IsFinal()
	if m.Rollout.Finalizer && (stored || m.status.Running != nil) { // one that never began lets go of what was brought for it when its end is stored
		v.actions = []Action{Leave{Because("nothing is held any more")}}
	}
	return v
}

// soonest is the shorter of two waits, of which 0 is none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
