// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"
	"slices"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/rollouts"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/story"
)

// note writes down what a look of the engine comes to.
func (p *play) note(next *engine.Plan) {
	s := &next.Status
	if running := s.Running; running != nil && running.Mode != "" && s.RollingState == rolloutv1alpha1.RollingInBatchesState {
		p.noteBatches(s)
	}
	part := p.part(s)
	for _, action := range next.Actions {
		switch a := action.(type) {
		case engine.Invoke:
			p.await(part, rolloutv1alpha1.WaitingForWebhook, fmt.Sprintf("webhook %s (%s)", a.Hook.Name, a.Hook.Type))
		case engine.Measure:
			p.await(part, rolloutv1alpha1.WaitingForMetric, metricText(&a.Metric))
		case engine.Enter, engine.Leave, engine.Hold, engine.Advance, engine.Resize, engine.BringBack, engine.Release:
		}
	}
	switch s.WaitingFor {
	case rolloutv1alpha1.WaitingForInterval:
		batch := s.Running.RolloutBatches[s.CurrentBatch]
		p.await(part, s.WaitingFor, fmt.Sprintf("%s between two pods", time.Duration(*batch.InstanceInterval)*time.Second))
	case rolloutv1alpha1.WaitingAtPartition:
		p.await(part, s.WaitingFor, fmt.Sprintf("a person: batchPartition is %d", *p.trait.Spec.RolloutPlan.BatchPartition))
	case rolloutv1alpha1.WaitingForUnpause:
		p.await(part, s.WaitingFor, "a person: the rollout is paused")
	case rolloutv1alpha1.WaitingForPerson, rolloutv1alpha1.WaitingForWorkload:
		p.await(part, s.WaitingFor, s.Message)
	case rolloutv1alpha1.WaitingForPods:
		if p.inBatch(s) && next.Status.BatchRollingState == rolloutv1alpha1.BatchVerifyingState {
			p.await(part, s.WaitingFor, podsText(s))
		}
	case rolloutv1alpha1.WaitingForWebhook, rolloutv1alpha1.WaitingForMetric:
	}
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
	case len(p.story.Batches) > 0:
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
		told := p.trait.DeepCopy()
		told.Status = *s
		o.Change = rollouts.Change(told)
		told.Spec.RolloutPlan = p.Rollout.Spec.RolloutPlan
		o.Plan = rollouts.Plan(told)
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
	batch := &o.Batches[s.CurrentBatch]
	if batch.Done == 0 && len(batch.Moments) == 0 && !batch.Begun {
		batch.Held = p.person
	}
	batch.Done, batch.Available = int(s.UpgradedReplicas), int(s.UpgradedReadyReplicas)
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
func podsText(s *rolloutv1alpha1.RolloutStatus) string {
	all := total(s)
	goal := engine.Goals(s.Running.RolloutBatches, all)[s.CurrentBatch]
	enough := max(goal-engine.Tolerated(s.Running.RolloutBatches[s.CurrentBatch], all), 0)
	switch s.Running.Mode {
	case rolloutv1alpha1.ScaleMode:
		if s.RolloutTargetSize < s.RolloutOriginalSize {
			return fmt.Sprintf("pods to go, until %d are left", int(s.RolloutOriginalSize)-goal)
		}
		return fmt.Sprintf("pods, until %d are ready", int(s.RolloutOriginalSize)+enough)
	case rolloutv1alpha1.TwoObjectsMode:
		return fmt.Sprintf("pods, until %d of the target are available, and the source has %d", enough, all-goal)
	case rolloutv1alpha1.InPlaceMode:
	}
	return fmt.Sprintf("pods, until %d are updated, and %d of them available", goal, enough)
}

func metricText(m *rolloutv1alpha1.CanaryMetric) string {
	text := "metric " + m.Name
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
	part := p.part(&p.trait.Status)
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
		if p.inBatch(&p.trait.Status) {
			b := &p.story.Batches[p.trait.Status.CurrentBatch]
			b.Least = min(b.Least, least)
		}
		part.Moments = append(part.Moments, m)
	}
}

// ofPods tells whether something happens to pods.
func ofPods(v story.Verb) bool {
	switch v {
	case story.RecordRevision, story.ReuseRevision, story.AdoptRevision, story.ForgetRevision, story.CreateClaim, story.DeleteClaim, story.ResizeClaim,
		story.GiveClaim, story.Give, story.Confirm, story.Other:
		return false
	default:
		return true
	}
}

func sum(a, b story.Count) story.Count {
	return story.Count{Available: a.Available + b.Available, Total: a.Total + b.Total}
}
