// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// transcript tells a story from the history of the API and from what was noted besides: one line for each change.
type transcript struct {
	*simulation
	lines []string
	// state and numbers are what was told last of the rollout; row is the line to which numbers are added, -1 for none.
	state, numbers string
	row            int
}

func (s *simulation) transcript() string {
	t := &transcript{simulation: s, row: -1}
	notes := s.notes
	for i, w := range s.Server.Log() {
		for len(notes) > 0 && notes[0].at <= i {
			t.line(notes[0].time, notes[0].text)
			notes = notes[1:]
		}
		if w.Time.Before(s.began) {
			continue
		}
		switch {
		case w.Kind == api.RolloutTraits && w.Actor == world.Actor:
			t.rollout(w)
		case w.Kind == s.stored && w.Verb == api.Update && w.Subresource == api.Main && w.Actor == world.Actor:
			t.workload(w)
		case s.daemons() && w.Kind == api.Pods && w.Verb == api.Mark && w.Actor == world.Actor:
			t.line(w.Time, "pods      one of "+world.Running(pod(w.After)).App+" is deleted")
		}
	}
	for _, n := range notes {
		t.line(n.time, n.text)
	}
	for _, o := range s.Server.List(s.stored) {
		t.line(s.Clock.Now(), fmt.Sprintf("in the end %s: %s", o.GetName(), ending(s.World, o)))
	}
	return strings.Join(t.lines, "\n") + "\n"
}

// line tells something with the time since the beginning.
func (t *transcript) line(at time.Time, text string) {
	t.lines = append(t.lines, t.at(at)+" "+text)
	t.row = -1
}

func (t *transcript) at(at time.Time) string {
	since := at.Sub(t.began)
	return fmt.Sprintf("%02d:%02d", int(since.Minutes()), int(since.Seconds())%60)
}

// rollout tells a write of the rollout: its finalizer, its state, and its numbers.
func (t *transcript) rollout(w api.Write) {
	before, after := typed(w.Before), typed(w.After)
	if w.Verb == api.Remove {
		t.line(w.Time, "rollout   lets go, and is gone")
		return
	}
	if was, is := len(before.Finalizers), len(after.Finalizers); was != is {
		t.line(w.Time, "rollout   "+map[bool]string{true: "takes its finalizer", false: "drops its finalizer"}[is > was])
	}
	state, numbers := t.stateLine(&after.Status), fmt.Sprintf("%d/%d", after.Status.UpgradedReplicas, after.Status.UpgradedReadyReplicas)
	switch {
	case state != t.state:
		text := "rollout   " + state
		if numbers != t.numbers && numbers != "0/0" {
			text += "; " + numbers
		}
		t.line(w.Time, text)
	case numbers != t.numbers && t.row >= 0:
		t.lines[t.row] += " " + numbers
	case numbers != t.numbers:
		t.line(w.Time, "numbers   "+numbers)
		t.row = len(t.lines) - 1
	}
	t.state, t.numbers = state, numbers
}

// stateLine is the state with what it waits for, and with the reason where something has gone wrong.
func (t *transcript) stateLine(st *rolloutv1alpha1.RolloutStatus) string {
	state := stateOf(&rolloutv1alpha1.RolloutTrait{Status: *st})
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

// workload tells what a write has changed in a workload.
func (t *transcript) workload(w api.Write) {
	if changes := changesOf(w.Before, w.After); changes != "" {
		t.line(w.Time, "workload  "+w.After.GetName()+": "+changes)
	}
}

// changesOf tells what differs between two states of a workload.
func changesOf(before, after client.Object) string {
	was, is := specOf(before), specOf(after)
	var parts []string
	add := func(differs bool, format string, args ...any) {
		if differs {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(!was.held && is.held, "held")
	add(was.held && !is.held, "released")
	add(was.app != is.app, "template %s -> %s", was.app, is.app)
	add(was.replicas != is.replicas, "replicas %d -> %d", was.replicas, is.replicas)
	add(was.kept != is.kept || was.partition != is.partition, "partition %s -> %s", was.partitionText(), is.partitionText())
	add(was.paused && !is.paused, "unpaused")
	add(!was.paused && is.paused, "paused")
	add(was.onDelete && !is.onDelete, "no longer OnDelete")
	add(!was.onDelete && is.onDelete, "OnDelete")
	return strings.Join(parts, ", ")
}

func (s spec) partitionText() string {
	if !s.partition {
		return "none"
	}
	return fmt.Sprint(s.kept)
}

// ending tells how a workload stands in the end.
func ending(w *world.World, o client.Object) string {
	s := specOf(o)
	text := w.TallyOf(w.PodsOf(o)).String()
	if s.partition {
		text += fmt.Sprintf("; partition %d", s.kept)
	}
	if s.paused {
		text += "; paused"
	}
	return text
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
