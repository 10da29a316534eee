// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/chronicle"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// transcript tells a story: one line for each change.
func (s *simulation) transcript() string {
	return s.Text(s.write, func() {
		for _, o := range s.Server.List(s.stored) {
			s.Line(s.Clock.Now(), fmt.Sprintf("in the end %s: %s", o.GetName(), workload.Standing(s.World, o)))
		}
	})
}

func (s *simulation) write(w api.Write) {
	if w.Actor != world.Actor {
		return
	}
	switch {
	case w.Kind == api.RolloutTraits:
		s.rollout(w)
	case w.Kind == s.stored && w.Verb == api.Update && w.Subresource == api.Main:
		if changes := workload.SpecOf(w.After).Changes(workload.SpecOf(w.Before)); len(changes) > 0 {
			s.Line(w.Time, "workload  "+w.After.GetName()+": "+strings.Join(changes, ", "))
		}
	case s.daemons() && w.Kind == api.Pods && w.Verb == api.Mark:
		s.Line(w.Time, "pods      one of "+world.Running(pod(w.After)).App+" is deleted")
	}
}

// rollout tells a write of the rollout: its finalizer, its state, and its numbers.
func (s *simulation) rollout(w api.Write) {
	before, after := typed(w.Before), typed(w.After)
	if w.Verb == api.Remove {
		s.Gone(w.Time, "lets go, and is gone")
		return
	}
	if was, is := len(before.Finalizers), len(after.Finalizers); was != is {
		s.Line(w.Time, "rollout   "+map[bool]string{true: "takes its finalizer", false: "drops its finalizer"}[is > was])
	}
	s.Progress(w.Time, stateLine(&after.Status), &after.Status)
}

// stateLine is the state with what it waits for, and with the reason where something has gone wrong.
func stateLine(st *rolloutv1alpha1.RolloutStatus) string {
	state := chronicle.StateOf(st)
	switch st.WaitingFor {
	case rolloutv1alpha1.WaitingForPods, "":
	case rolloutv1alpha1.WaitingForPerson:
		return state + ", waits for a person: " + st.Failure.Message
	default:
		return state + ", waits for: " + string(st.WaitingFor)
	}
	if st.Failure != nil && st.RollingState == rolloutv1alpha1.RolloutFailingState {
		return fmt.Sprintf("%s, to %s: %s", state, st.Ending, st.Failure.Message)
	}
	if st.RollingState.IsFinal() {
		return state + ": " + st.Message
	}
	return state
}

// describePlan tells a rollout in one line.
func describePlan(t *rolloutv1alpha1.RolloutTrait) string {
	p := &t.Spec.RolloutPlan
	text := fmt.Sprintf("%s %s", t.Spec.TargetRef.Kind, t.Spec.TargetRef.Name)
	if len(t.Spec.SourceRef) > 0 {
		text += " from " + t.Spec.SourceRef[0].Name
	}
	if p.TargetSize != nil {
		text += fmt.Sprintf(" to %d pods", *p.TargetSize)
	}
	text += " in batches of"
	for i, b := range p.RolloutBatches {
		if i > 0 {
			text += ","
		}
		if b.Replicas == nil {
			text += " the rest"
		} else {
			text += " " + b.Replicas.String()
		}
	}
	if p.NumBatches != nil {
		text += fmt.Sprintf(" %d equal ones", *p.NumBatches)
	}
	if p.Paused {
		text += ", paused"
	}
	if p.BatchPartition != nil {
		text += fmt.Sprintf(", partition %d", *p.BatchPartition)
	}
	return text
}
