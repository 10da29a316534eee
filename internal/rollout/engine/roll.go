// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// beforeBatch calls the webhooks before a batch.
func (m *machine) beforeBatch() verdict {
	if v, waits := m.hooks(rolloutv1alpha1.PreBatchRolloutHook, string(rolloutv1alpha1.BatchInitializingState)); waits {
		return v
	}
	return verdict{event: Prepared, why: fmt.Sprintf("%s begins", m.batchName())}
}

// rollBatch sets the size of the batch on the workload: at once, or pod by pod.
func (m *machine) rollBatch() verdict {
	if v, gone := m.lost(); gone {
		return v
	}
	m.refresh()
	c := m.course()
	v := c.grow(c.begin(c.goal()))
	if v.event != "" {
		return verdict{event: Sized, why: fmt.Sprintf("%s is on its way", m.batchName())}
	}
	return m.orLate(v)
}

// verifyBatch waits until the pods of the batch are available and its metrics are in range.
func (m *machine) verifyBatch() verdict {
	if v, gone := m.lost(); gone {
		return v
	}
	m.refresh()
	c := m.course()
	if v := c.reach(c.goal()); v.event == "" {
		return m.orLate(v)
	}
	if v, waits := m.measure(); waits {
		return v
	}
	return verdict{event: Met, why: fmt.Sprintf("%s is available", m.batchName())}
}

// afterBatch calls the webhooks after a batch.
func (m *machine) afterBatch() verdict {
	if v, gone := m.lost(); gone {
		return v
	}
	if v, waits := m.hooks(rolloutv1alpha1.PostBatchRolloutHook, string(rolloutv1alpha1.BatchFinalizingState)); waits {
		return v
	}
	if m.isLast() {
		return verdict{event: AllDone, why: "all batches are done"}
	}
	return verdict{event: BatchDone, why: fmt.Sprintf("%s is done", m.batchName())}
}

// awaitNext waits until the next batch may begin. Meanwhile it holds the workload to what this batch has asked for, also when
// somebody changes the number of pods.
func (m *machine) awaitNext() verdict {
	if v, gone := m.lost(); gone {
		return v
	}
	m.refresh()
	if p := m.Rollout.Plan.BatchPartition; p != nil && m.status.CurrentBatch >= *p {
		c := m.course()
		v := c.grow(c.goal(), 0)
		v.event, v.waiting = "", rolloutv1alpha1.WaitingAtPartition
		v.why = fmt.Sprintf("waits after %s until spec.rolloutPlan.batchPartition, which is %d, lets the next one begin", m.batchName(), *p)
		return v
	}
	return verdict{event: Allowed, why: "the next batch may begin"}
}

// refresh takes over what the spec says of batches that have not begun. Those behind us stay as they were.
func (m *machine) refresh() {
	r := m.status.Running
	asked := Batches(&m.Rollout.Plan, int(r.Total))
	begun := int(m.status.CurrentBatch) + 1
	if len(asked) < begun || len(asked) == begun && !m.isLast() || CheckBatches(asked, int(r.Total)) != nil {
		return // the last good plan stands; a batch that has begun does not become the last one
	}
	batches := append([]rolloutv1alpha1.RunningBatch{}, r.RolloutBatches[:begun]...)
	r.RolloutBatches = append(batches, asked[begun:]...)
}

func (m *machine) batch() rolloutv1alpha1.RunningBatch {
	return m.status.Running.RolloutBatches[m.status.CurrentBatch]
}

func (m *machine) isLast() bool {
	return int(m.status.CurrentBatch) >= len(m.status.Running.RolloutBatches)-1
}

// batchName names the current batch for people, who count from 1.
func (m *machine) batchName() string {
	return fmt.Sprintf("batch %d of %d", m.status.CurrentBatch+1, len(m.status.Running.RolloutBatches))
}

// marks put back what the watch of held workloads goes by, unless it is put back by what else is written to them. Without it we are
// blind: nobody says when to look again.
func (m *machine) marks(others []Action) (marks []Action, blind bool) {
	if state := m.state(); state == None || state.Rolling.IsFinal() {
		return nil, false
	}
	for _, side := range m.sides() {
		if w := m.workload(side); !w.Found || !w.Held || !w.Unmarked {
			continue
		}
		blind = true
		if !slices.ContainsFunc(others, func(a Action) bool { return changes(a, side) }) {
			marks = append(marks, Mark{Because("somebody has taken off what its changes are told by"), side})
		}
	}
	return marks, blind
}

// lost is for workloads that went away, or that are held no longer, in the middle of a rollout.
func (m *machine) lost() (verdict, bool) {
	for _, side := range m.sides() {
		w, ref := m.workload(side), m.ref(side)
		switch {
		case !w.Found || w.Going:
			return m.gone(side), true
		case !w.Held:
			m.status.Ending = rolloutv1alpha1.LeaveEnding
			note := fmt.Sprintf("%s %s is held no longer: it was let go, or made anew, by somebody else", ref.Kind, ref.Name)
			return m.broken("NotHeld", note), true
		}
	}
	return verdict{}, false
}

// gone ends the rollout whatever the failure policy is: there is nothing to bring back.
func (m *machine) gone(s Side) verdict {
	ref := m.ref(s)
	m.status.Ending = rolloutv1alpha1.LeaveEnding
	return m.broken("WorkloadGone", fmt.Sprintf("the %s is gone: there is no %s %s any more", s, ref.Kind, ref.Name))
}

// staged is how far a batch with an instanceInterval may go now, when `done` pods have begun, and how long until the next may.
func (m *machine) staged(done, goal int) (int, time.Duration) {
	interval := m.batch().InstanceInterval
	if interval == nil || *interval <= 0 || done >= goal {
		return goal, 0
	}
	if last := m.status.LastInstanceTime; last != nil {
		if left := last.Add(time.Duration(*interval) * time.Second).Sub(m.now); left > 0 {
			return done, left
		}
	}
	m.status.LastInstanceTime = at(m.now)
	return done + 1, time.Duration(*interval) * time.Second
}
