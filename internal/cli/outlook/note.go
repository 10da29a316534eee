// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"
	"slices"
	"strings"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/rollouts"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// note writes down what a look of the engine comes to.
func (p *play) note(next *engine.Plan) {
	s := &next.Status
	p.anew(s)
	if running := s.Running; running != nil && running.Mode != "" && s.RollingState == rolloutv1alpha1.RollingInBatchesState {
		p.noteBatches(s)
	}
	p.close(s)
	part := p.part(s)
	if p.inBatch(s) && isPast(s.BatchRollingState) {
		p.awaitPods(s, s.CurrentBatch)
	}
	for _, action := range next.Actions {
		switch a := action.(type) {
		case engine.Invoke:
			p.await(part, rolloutv1alpha1.WaitingForWebhook, fmt.Sprintf("for webhook %s (%s)", a.Hook.Name, a.Hook.Type))
		case engine.Measure:
			p.await(part, rolloutv1alpha1.WaitingForMetric, metricText(&a.Metric))
		case engine.Enter, engine.Leave, engine.Hold, engine.Unpause, engine.Mark, engine.Advance, engine.Resize, engine.BringBack, engine.Release:
		}
	}
	switch s.WaitingFor {
	case rolloutv1alpha1.WaitingForInterval:
		batch := s.Running.RolloutBatches[s.CurrentBatch]
		p.await(part, s.WaitingFor, fmt.Sprintf("%s between two pods", time.Duration(*batch.InstanceInterval)*time.Second))
	case rolloutv1alpha1.WaitingAtPartition:
		p.await(part, s.WaitingFor, fmt.Sprintf("for a person: batchPartition is %d", *p.asks.plan.BatchPartition))
	case rolloutv1alpha1.WaitingForUnpause:
		p.await(part, s.WaitingFor, "for a person: the rollout is paused")
	case rolloutv1alpha1.WaitingForPerson:
		p.await(part, s.WaitingFor, strings.TrimPrefix(s.Message, "waits "))
	case rolloutv1alpha1.WaitingForPods, rolloutv1alpha1.WaitingForWebhook, rolloutv1alpha1.WaitingForMetric, rolloutv1alpha1.WaitingForWorkload:
	}
}

// anew begins the story of another run: what the one before came to happens before its batches.
func (p *play) anew(s *rolloutv1alpha1.RolloutStatus) {
	o := &p.story
	if s.Run == p.run {
		return
	}
	if p.run > 0 {
		for _, w := range o.After.Waits {
			w.After += len(o.Before.Moments)
			o.Before.Waits = append(o.Before.Waits, w)
		}
		o.Before.Moments, o.After, o.Batches = append(o.Before.Moments, o.After.Moments...), Part{}, []Batch{}
		p.first, p.holds = -1, false
	}
	p.run = s.Run
}

// isPast tells whether the size of a batch is set on the workload: then its pods are waited for, or were.
func isPast(s rolloutv1alpha1.BatchRollingState) bool {
	return s == rolloutv1alpha1.BatchVerifyingState || s == rolloutv1alpha1.BatchFinalizingState || s == rolloutv1alpha1.BatchReadyState
}

// close notes the end of batches that a look has gone past.
func (p *play) close(s *rolloutv1alpha1.RolloutStatus) {
	before := p.asks.status
	if !p.inBatch(before) || p.inBatch(s) && s.CurrentBatch == before.CurrentBatch {
		return
	}
	last := before.CurrentBatch + 1
	if p.inBatch(s) {
		last = s.CurrentBatch
	}
	for i := before.CurrentBatch; i < last; i++ {
		b := &p.story.Batches[i]
		b.Done, b.Available = int(s.UpgradedReplicas), int(s.UpgradedReadyReplicas)
		if s.RollingState == rolloutv1alpha1.RollingInBatchesState || s.RollingState == rolloutv1alpha1.FinalisingState || s.RollingState == rolloutv1alpha1.RolloutSucceedState {
			p.awaitPods(s, i)
		}
	}
}

// awaitPods notes what the pods of a batch are waited for to become, before anything else that was waited for since they changed.
func (p *play) awaitPods(s *rolloutv1alpha1.RolloutStatus, batch int32) {
	b := &p.story.Batches[batch]
	if b.Begun && len(b.Moments) == 0 {
		return // they were waited for before
	}
	p.await(&b.Part, rolloutv1alpha1.WaitingForPods, podsText(s, batch))
}

// inBatch tells whether a batch is on its way.
func (p *play) inBatch(s *rolloutv1alpha1.RolloutStatus) bool {
	return s.RollingState == rolloutv1alpha1.RollingInBatchesState && int(s.CurrentBatch) < len(p.story.Batches)
}

// part is what a status belongs to.
func (p *play) part(s *rolloutv1alpha1.RolloutStatus) *Part {
	switch {
	case p.inBatch(s):
		return &p.story.Batches[s.CurrentBatch].Part
	case len(p.story.Batches) > 0, p.holds && s.RollingState != rolloutv1alpha1.InitializingState:
		return &p.story.After
	}
	return &p.story.Before
}

// await notes something that is waited for, once.
func (p *play) await(part *Part, what rolloutv1alpha1.WaitingFor, text string) {
	w := Wait{For: what, What: text, After: len(part.Moments)}
	if !slices.ContainsFunc(part.Waits, func(other Wait) bool { return other.For == w.For && other.What == w.What }) {
		part.Waits = append(part.Waits, w)
	}
}

// noteBatches keeps the batches as they run now.
func (p *play) noteBatches(s *rolloutv1alpha1.RolloutStatus) {
	o, running := &p.story, s.Running
	o.Mode, o.Total = running.Mode, total(s)
	goals := engine.Goals(running.RolloutBatches, o.Total)
	if len(o.Batches) == 0 {
		told := p.asGiven()
		told.Status = *s
		o.Change, o.Plan = rollouts.Change(told), rollouts.Plan(told)
	}
	for i, b := range running.RolloutBatches {
		if i == len(o.Batches) {
			o.Batches = append(o.Batches, Batch{Number: i + 1, Past: i < p.first, Begun: i == p.first, Least: -1})
		}
		batch := &o.Batches[i]
		batch.Goal, batch.Pods = goals[i], goals[i]
		if i > 0 {
			batch.Pods -= goals[i-1]
		}
		batch.Size = "rest"
		if b.Replicas != nil {
			batch.Size = b.Replicas.String()
		}
	}
	for i := range o.Batches[:s.CurrentBatch] {
		if b := &o.Batches[i]; b.Least < 0 { // a look went past it: its pods were done already
			b.Past, b.Done = true, b.Goal
		}
	}
	batch := &o.Batches[s.CurrentBatch]
	if batch.Done == 0 && len(batch.Moments) == 0 && !batch.Begun {
		batch.Held = p.person
	}
	if batch.Least < 0 {
		batch.Least = p.count().Available
	}
}

// total is how many pods the batches divide.
func total(s *rolloutv1alpha1.RolloutStatus) int {
	if s.Running.Mode == rolloutv1alpha1.ScaleMode {
		return int(s.Running.Total)
	}
	return int(s.RolloutTargetSize)
}

// podsText says what the pods of a batch are waited for to become.
func podsText(s *rolloutv1alpha1.RolloutStatus, batch int32) string {
	all := total(s)
	goal := engine.Goals(s.Running.RolloutBatches, all)[batch]
	enough := max(goal-engine.Tolerated(s.Running.RolloutBatches[batch], all), 0)
	switch s.Running.Mode {
	case rolloutv1alpha1.ScaleMode:
		if s.RolloutTargetSize < s.RolloutOriginalSize {
			return fmt.Sprintf("until %s left", step.Counted(int(s.RolloutOriginalSize)-goal, "pod is", "pods are"))
		}
		return fmt.Sprintf("until %s ready", step.Counted(int(s.RolloutOriginalSize)+enough, "pod is", "pods are"))
	case rolloutv1alpha1.TwoObjectsMode:
		return fmt.Sprintf("until %s available on the target, and the source has %d", step.Counted(enough, "pod is", "pods are"), all-goal)
	case rolloutv1alpha1.InPlaceMode:
	}
	if enough < goal {
		return fmt.Sprintf("until %s updated, and %d of them available", step.Counted(goal, "pod is", "pods are"), enough)
	}
	return fmt.Sprintf("until %s updated and available", step.Counted(goal, "pod is", "pods are"))
}

func metricText(m *rolloutv1alpha1.CanaryMetric) string {
	text := "for metric " + m.Name
	if within, err := measure.RangeOf(m.MetricsRange); err == nil {
		text += ": " + within.String()
	}
	if n := m.Count; n != nil && *n > 1 {
		return fmt.Sprintf("%s, %d times in a row, each after %s", text, *n, measure.Interval(m))
	}
	return fmt.Sprintf("%s, after %s", text, measure.Interval(m))
}

// count counts the pods of all workloads that the last look saw.
func (p *play) count() story.Count {
	var c story.Count
	for _, s := range p.seen {
		c.Available += s.Workload.Available
		c.Total += s.Workload.Pods
	}
	return c
}

// happen writes down what has happened to the pods of a workload. Its numbers are of that workload alone; others are pods of the other one.
func (p *play) happen(moments []story.Moment, others story.Count) {
	part := p.part(p.asks.status)
	for _, m := range moments {
		for i := range m.Actions {
			if m.Actions[i].Order = 0; ofPods(m.Actions[i].Verb) {
				p.order++
				m.Actions[i].Order = p.order
			}
		}
		m.Waited += p.waited
		p.waited = 0
		m.During, m.After = sum(m.During, others), sum(m.After, others)
		least := min(m.During.Available, m.After.Available)
		p.story.Least = min(p.story.Least, least)
		if p.inBatch(p.asks.status) {
			b := &p.story.Batches[p.asks.status.CurrentBatch]
			b.Least = min(b.Least, least)
		}
		part.Moments = append(part.Moments, m)
	}
}

// ofPods tells whether something happens to pods.
func ofPods(v story.Verb) bool {
	switch v {
	case story.RecordRevision, story.ReuseRevision, story.AdoptRevision, story.ForgetRevision, story.CreateClaim, story.DeleteClaim, story.ResizeClaim,
		story.GiveClaim, story.Give, story.Confirm, story.Apply, story.TakeAway, story.Other:
		return false
	default:
		return true
	}
}

func sum(a, b story.Count) story.Count {
	return story.Count{Available: a.Available + b.Available, Total: a.Total + b.Total}
}
