// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

const (
	// movesAtOnce bounds how many states one look goes through. More follow at the next look, which comes at once.
	movesAtOnce = 16
	// poll is how soon to look again at what is not watched: workloads that no rollout holds.
	poll = 5 * time.Second
	// pollSoon is for what takes its own controller a moment.
	pollSoon = 500 * time.Millisecond
)

// machine is one look at a rollout.
type machine struct {
	World
	now    time.Time
	status rolloutv1alpha1.RolloutStatus
	news   []News
	moved  bool
}

// verdict is what a state comes to: an event that it is left by, or what it does and waits for.
type verdict struct {
	event Event
	// why says in one sentence what is done or waited for, or why the state is left.
	why     string
	waiting rolloutv1alpha1.WaitingFor
	actions []Action
	again   time.Duration
	// reason is one word for a failure. One that stalls ends nothing: it waits, and only a person can help.
	reason string
	stalls bool
}

// Next decides how a rollout goes on.
func Next(w World, now time.Time) Plan {
	m := &machine{World: w, now: now, status: *w.Rollout.Status.DeepCopy()}
	m.adopt()
	for range movesAtOnce {
		v := m.look()
		if v.event == "" {
			return m.plan(v)
		}
		m.move(v)
		if m.looksAnew() {
			break
		}
	}
	why := m.status.Message
	if m.state() == Finalising && m.held() {
		why = lettingGo // as the next look says, so that it has nothing to write
	}
	return m.plan(verdict{why: why, again: time.Millisecond})
}

// looksAnew tells whether a look ends with the state that it has come to. Either that one looks at other things: other workloads, or
// what there was before. Or it lets go of workloads, and the stored status has to say so first: after a crash they would seem to
// have been taken away.
func (m *machine) looksAnew() bool {
	switch m.state() {
	case Finalising, Failing, Abandoning, Deleting:
		return true
	case Locating:
		return m.status.Run > 1
	}
	return false
}

// adopt makes the status of another publisher of the API readable: a rollout that it had under way begins anew from what is
// there, and one that has ended stays ended.
func (m *machine) adopt() {
	state := StateOf(&m.status)
	switch {
	case m.status.ObservedGeneration > 0: // ours: others do not write it
	case state.Rolling.IsFinal():
		m.status.Running = &rolloutv1alpha1.RunningRollout{}
		m.asked(m.status.Running)
	case state != None:
		m.status.RollingState, m.status.BatchRollingState = "", ""
	}
}

func (m *machine) state() State { return StateOf(&m.status) }

// look finds out what the rollout does in the state that it is in.
func (m *machine) look() verdict {
	state := m.state()
	if m.Rollout.Deleting && state != Deleting {
		return verdict{event: Deleted, why: "the rollout is being deleted"}
	}
	if state.runs() {
		if v, overruled := m.overruled(); overruled {
			return v
		}
		if m.Rollout.Plan.Paused && pauses(state) {
			return verdict{why: "paused by spec.rolloutPlan.paused", waiting: rolloutv1alpha1.WaitingForUnpause}
		}
		if v, waits := m.failed(); waits {
			return v
		}
	}
	switch state {
	case None:
		return verdict{event: Created}
	case Locating:
		return m.locate()
	case Verifying:
		return m.verify()
	case Initializing:
		return m.initialize()
	case BatchInitializing:
		return m.beforeBatch()
	case BatchInRolling:
		return m.rollBatch()
	case BatchVerifying:
		return m.verifyBatch()
	case BatchVerifyFailed:
		return verdict{event: Retried, why: "taken up again"} // what failed was taken back: see failed
	case BatchFinalizing:
		return m.afterBatch()
	case BatchReady:
		return m.awaitNext()
	case Finalising:
		return m.finalise()
	case Failing, Abandoning:
		return m.wind()
	case Deleting:
		return m.goAway()
	case Succeeded, Failed:
		return m.rest()
	}
	return m.broken("UnknownState", fmt.Sprintf("the state %s is not known", state))
}

// pauses tells whether a pause holds a state: never one that lets go of workloads.
func pauses(s State) bool {
	return s != Finalising && s != Failing && s != Abandoning
}

// overruled is for what ends a rollout from outside: something newer, or a person.
func (m *machine) overruled() (verdict, bool) {
	state := m.state()
	if state == Abandoning {
		return verdict{}, false
	}
	if why := m.superseded(); why != "" {
		return verdict{event: Superseded, why: why}, true
	}
	if state == Failing {
		return verdict{}, false
	}
	switch take := m.status.Take(); take {
	case m.Rollout.Annotations[rolloutv1alpha1.AnnotationAbort]:
		m.status.Ending = rolloutv1alpha1.LeaveEnding
		return m.broken("Aborted", "a person has aborted it"), true
	case m.Rollout.Annotations[rolloutv1alpha1.AnnotationRevert]:
		m.status.Ending = rolloutv1alpha1.RevertEnding
		return m.broken("Aborted", "a person has it reverted"), true
	}
	return verdict{}, false
}

// move follows an event to the next state. An event that the state does not have is a fault of this program: the rollout
// fails and says so.
func (m *machine) move(v verdict) {
	from := m.state()
	to, known := Follow(from, v.event)
	if !known {
		note := fmt.Sprintf("nothing is known to do in the state %s when this is seen: %s", from, v.event)
		m.note("NoSuchWay", note)
		to = Failing
		if from == Failing || !from.runs() {
			to = Failed
		}
		v = verdict{event: Broken, why: note, reason: "NoSuchWay"}
	}
	m.leave(from, v)
	m.status.RollingState = to.Rolling
	if to.Batch != "" {
		m.status.BatchRollingState = to.Batch
	}
	m.enter(from, to, v)
	m.moved = true
}

// enter is what goes with the beginning of a state.
func (m *machine) enter(from, to State, v verdict) {
	m.status.Hooks = nil
	m.status.LastProgressTime = at(m.now)
	m.status.Message = v.why
	switch to {
	case Locating:
		m.reset(from)
	case BatchInitializing:
		if from == BatchReady {
			m.status.CurrentBatch++
		}
		m.status.LastInstanceTime, m.status.Metrics = nil, nil
	case BatchVerifying:
		m.status.LastInstanceTime = nil
	case Failing:
		if m.status.Ending == "" {
			m.status.Ending = ending(m.Rollout.Plan.FailurePolicy == rolloutv1alpha1.RevertOnFailure)
		}
	case Abandoning:
		m.status.Ending, m.status.Failure = rolloutv1alpha1.LeaveEnding, nil
	case Deleting:
		m.status.Ending = ""
		if from.runs() {
			m.status.Ending = ending(m.Rollout.RevertOnDelete)
		}
	case Succeeded:
		m.status.LastAppliedPodTemplateIdentifier = m.status.NewPodTemplateIdentifier
	}
	m.announce(from, to, v)
}

func ending(reverts bool) rolloutv1alpha1.RolloutEnding {
	if reverts {
		return rolloutv1alpha1.RevertEnding
	}
	return rolloutv1alpha1.LeaveEnding
}

// reset begins a new run.
func (m *machine) reset(from State) {
	unfinished := m.status.Unfinished
	switch r := m.status.Running; {
	case from == Succeeded:
		unfinished = nil
	case r != nil && r.Mode == rolloutv1alpha1.TwoObjectsMode && r.SourceRef != nil:
		unfinished = &rolloutv1alpha1.UnfinishedRollout{TargetRef: r.TargetRef, SourceRef: *r.SourceRef, Size: m.status.RolloutTargetSize}
	}
	m.status = rolloutv1alpha1.RolloutStatus{
		Conditions: m.status.Conditions, ObservedGeneration: m.status.ObservedGeneration,
		RollingState: m.status.RollingState, RolloutTargetSize: -1, Run: m.status.Run + 1, Message: m.status.Message,
		LastAppliedPodTemplateIdentifier: m.status.LastAppliedPodTemplateIdentifier, LastProgressTime: m.status.LastProgressTime,
		Unfinished: unfinished,
	}
	m.forgetStates()
}
