// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// conditionOf is the condition that speaks of a state.
var conditionOf = map[State]string{
	Locating:          rolloutv1alpha1.ConditionLocated,
	Verifying:         rolloutv1alpha1.ConditionVerified,
	Initializing:      rolloutv1alpha1.ConditionInitialized,
	BatchInitializing: rolloutv1alpha1.ConditionBatchInitialized,
	BatchInRolling:    rolloutv1alpha1.ConditionBatchRolled,
	BatchVerifying:    rolloutv1alpha1.ConditionBatchVerified,
	BatchVerifyFailed: rolloutv1alpha1.ConditionBatchVerified,
	BatchFinalizing:   rolloutv1alpha1.ConditionBatchFinalized,
	BatchReady:        rolloutv1alpha1.ConditionBatchReady,
	Finalising:        rolloutv1alpha1.ConditionFinalised,
	Succeeded:         rolloutv1alpha1.ConditionSucceeded,
	Failing:           rolloutv1alpha1.ConditionFailing,
	Failed:            rolloutv1alpha1.ConditionFailed,
	Abandoning:        rolloutv1alpha1.ConditionAbandoning,
	Deleting:          rolloutv1alpha1.ConditionDeleting,
}

// plan ends a look: what is done, waited for and said.
func (m *machine) plan(v verdict) Plan {
	state := m.state()
	if state.runs() && m.status.Running != nil && state != Initializing {
		m.count()
	}
	if m.status.WaitingFor != v.waiting || m.progressed() {
		m.status.StillSeconds = int64(m.still() / time.Second)
		m.status.LastProgressTime = at(m.now)
	}
	if m.progressed() {
		m.status.Reached = m.reached()
	}
	if marks, blind := m.marks(v.actions); blind {
		v.actions, v.again = append(v.actions, marks...), soonest(v.again, poll)
	}
	m.status.WaitingFor, m.status.Message = v.waiting, v.why
	m.status.ObservedGeneration = m.Rollout.Generation
	switch {
	case state == None:
	case state.Rolling.IsFinal():
		m.set(conditionOf[state], metav1.ConditionTrue, "Ended", v.why)
	default:
		m.set(conditionOf[state], metav1.ConditionUnknown, reasonOf(v), v.why)
	}
	m.summary(v)
	return Plan{Status: m.status, Actions: v.actions, News: m.news, LookAgain: v.again}
}

// count writes how far the change is into the status.
func (m *machine) count() {
	if !m.Target.Found || m.Source != nil && !m.Source.Found {
		return
	}
	c := m.course()
	c.count()
	if m.reverts() {
		m.status.RevertedReplicas = int32(c.returned())
	}
}

func reasonOf(v verdict) string {
	if v.waiting != "" {
		return "WaitingFor" + string(v.waiting)
	}
	return "InProgress"
}

// leave says how a state was left.
func (m *machine) leave(from State, v verdict) {
	of, speaks := conditionOf[from]
	if !speaks || from.Rolling.IsFinal() {
		return
	}
	switch v.event {
	case Missed, Broken, Impossible:
		m.set(of, metav1.ConditionFalse, v.reason, v.why)
	case Superseded, Deleted:
		m.set(of, metav1.ConditionFalse, "CutShort", v.why)
	default:
		m.set(of, metav1.ConditionTrue, "Left", v.why)
	}
	if from == BatchFinalizing && v.event == AllDone {
		m.set(rolloutv1alpha1.ConditionRolled, metav1.ConditionTrue, "Left", v.why)
	}
}

// forgetStates drops what was said of the states of an earlier run.
func (m *machine) forgetStates() {
	m.status.Conditions = slices.DeleteFunc(m.status.Conditions, func(c metav1.Condition) bool {
		if c.Type == rolloutv1alpha1.ConditionRolled {
			return true
		}
		for _, of := range conditionOf {
			if c.Type == of {
				return true
			}
		}
		return false
	})
}

// summary are the conditions that speak of the whole.
func (m *machine) summary(v verdict) {
	state := m.state()
	paused := m.Rollout.Plan.Paused
	m.flag(rolloutv1alpha1.ConditionPaused, paused, "PausedBySpec", "spec.rolloutPlan.paused is true", "NotPaused", "spec.rolloutPlan.paused is false")
	switch {
	case state == Succeeded:
		m.set(rolloutv1alpha1.ConditionReady, metav1.ConditionTrue, "Succeeded", v.why)
	case state == Failed && m.status.Failure != nil:
		m.set(rolloutv1alpha1.ConditionReady, metav1.ConditionFalse, m.status.Failure.Reason, m.status.Failure.Message)
	default:
		m.set(rolloutv1alpha1.ConditionReady, metav1.ConditionFalse, reasonOf(v), v.why)
	}
	stalled, reason := false, ""
	switch {
	case state == Failed && m.status.Failure != nil:
		stalled, reason = true, m.status.Failure.Reason
	case v.waiting == rolloutv1alpha1.WaitingForPerson && m.status.Failure != nil:
		stalled, reason = true, m.status.Failure.Reason
	case v.stalls:
		stalled, reason = true, v.reason
		if was := apimeta.FindStatusCondition(m.status.Conditions, rolloutv1alpha1.ConditionStalled); was == nil || was.Reason != reason {
			m.news = append(m.news, News{Reason: reason, Note: v.why, Bad: true})
		}
	}
	m.flag(rolloutv1alpha1.ConditionStalled, stalled, reason, v.why, "NotStalled", "nothing needs a person to go on")
}

func (m *machine) flag(of string, is bool, reason, why, notReason, whyNot string) {
	if is {
		m.set(of, metav1.ConditionTrue, reason, why)
		return
	}
	m.set(of, metav1.ConditionFalse, notReason, whyNot)
}

func (m *machine) set(of string, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&m.status.Conditions, metav1.Condition{
		Type: of, Status: status, Reason: reason, Message: message, ObservedGeneration: m.Rollout.Generation, LastTransitionTime: metav1.NewTime(m.now),
	})
}

// announce tells people of a new state by an event. States that nobody waits for are not told of.
func (m *machine) announce(from, to State, v verdict) {
	n := News{Note: v.why}
	switch to {
	case Initializing:
		n.Reason = "RolloutStarted"
	case BatchInRolling:
		n.Reason = "BatchStarted"
	case BatchReady:
		n.Reason = "BatchDone"
	case Succeeded:
		n.Reason = "RolloutSucceeded"
	case BatchVerifyFailed:
		n.Reason, n.Bad = v.reason, true
	case Failing:
		if from == BatchVerifyFailed { // told already
			return
		}
		n.Reason, n.Bad = v.reason, true
	case Failed:
		n.Reason, n.Bad = "RolloutFailed", true
		if m.status.Failure == nil {
			m.note(v.reason, v.why)
		}
	case Abandoning:
		n.Reason = "RolloutSuperseded"
	case Deleting:
		if !from.runs() {
			return
		}
		n.Reason = "RolloutDeleted"
	case Locating:
		if from == None {
			return
		}
		n.Reason, n.Note = "RolloutRestarted", fmt.Sprintf("begins anew: %s", v.why)
	default:
		return
	}
	m.news = append(m.news, n)
}

func at(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }
