// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// pair grows one object while it shrinks another. Neither the pods of both together nor the available ones ever leave what
// lies between two batches: the one that gives waits for the one that takes, in the order of the strategy.
type pair struct{ *machine }

// total is how many pods both have at the end. What an autoscaler does to either of them on the way counts.
func (c pair) total() int {
	return max(int(c.status.Running.Total)+c.Target.Others+c.Source.Others, 0)
}

func (c pair) tolerated() int { return Tolerated(c.batch(), c.total()) }

func (c pair) growsFirst() bool {
	return c.Rollout.Plan.RolloutStrategy != rolloutv1alpha1.DecreaseFirst
}

func (c pair) count() {
	c.status.RolloutTargetSize = int32(c.total())
	c.status.UpgradedReplicas, c.status.UpgradedReadyReplicas = int32(c.Target.Pods), int32(c.Target.Available)
}

func (c pair) goal() int { return c.goalOf(int(c.status.CurrentBatch), c.total()) }

// holds is how many pods the newer object has when n are its own: no fewer than it has already, but in the end. Pods that it has beyond
// those take none of the older one.
func (c pair) holds(n int) int {
	if c.isLast() {
		return n
	}
	return max(n, min(c.Target.Replicas, c.total()))
}

func (c pair) begin(goal int) (int, time.Duration) {
	begun := c.Target.Replicas
	if !c.growsFirst() {
		begun = c.total() - c.Source.Replicas
	}
	return c.staged(min(max(begun, 0), goal), goal)
}

func (c pair) grow(n int, again time.Duration) verdict {
	v := c.give(Target, c.holds(n))
	if !c.growsFirst() {
		if v = c.take(Source, c.total()-n); v.event != "" {
			v = c.give(Target, c.holds(n))
		}
	}
	if v.event == "" {
		v.again = again
		return v
	}
	if again > 0 {
		v = waitForPods(fmt.Sprintf("%s has begun with %d of %d pods, and waits for its interval", c.batchName(), n, c.goal()))
		v.again, v.waiting = again, rolloutv1alpha1.WaitingForInterval
	}
	return v
}

func (c pair) reach(n int) verdict {
	if v := c.grow(n, 0); v.event == "" {
		return v
	}
	if v := c.stands(Target, n-c.tolerated()); v.event == "" {
		return v
	}
	return c.take(Source, c.total()-n)
}

func (c pair) returned() int { return c.Source.Available }

// back undoes a batch: what was taken from the source is given back to it, in the order of the strategy.
func (c pair) back(n int) verdict {
	keeps := max(n, c.Target.Before.Replicas) // what the target had before any of this stays
	had := int(c.status.RolloutOriginalSize) + c.Target.Others + c.Source.Others
	gets := max(min(c.total()-n, had), 0)
	if !c.growsFirst() {
		if v := c.take(Target, keeps); v.event == "" {
			return v
		}
	}
	if c.Source.Replicas < gets {
		if v := c.give(Source, gets); v.event == "" {
			return v
		}
	}
	if v := c.stands(Source, gets-c.tolerated()); v.event == "" {
		return v
	}
	v := c.take(Target, keeps)
	if v.event != "" {
		v.event = Released
	}
	return v
}

// give asks a side for exactly n pods.
func (c pair) give(s Side, n int) verdict {
	if c.workload(s).Replicas == n {
		return verdict{event: Sized}
	}
	return waitForPods(fmt.Sprintf("asks the %s for %d pods", s, n), c.resize(s, n))
}

// take lets a side have at most n pods, and waits for the others to go.
func (c pair) take(s Side, n int) verdict {
	w := c.workload(s)
	switch {
	case w.Replicas > max(n, 0):
		return waitForPods(fmt.Sprintf("leaves the %s %d pods", s, max(n, 0)), c.resize(s, max(n, 0)))
	case !w.Seen || w.Pods > w.Replicas+w.Surge:
		return waitForPods(waitsFor(fmt.Sprintf("waits for pods of the %s to go: there are %d of %d", s, w.Pods, w.Replicas), w))
	}
	return verdict{event: Met}
}

// stands waits until a side has n available pods.
func (c pair) stands(s Side, n int) verdict {
	w := c.workload(s)
	if w.Seen && w.Available >= n {
		return verdict{event: Met}
	}
	return waitForPods(waitsFor(fmt.Sprintf("%d of %d pods of the %s are available, and %s needs %d", w.Available, w.Replicas, s, c.batchName(), max(n, 0)), w))
}

func (c pair) resize(s Side, n int) Action {
	return Resize{Because(fmt.Sprintf("%s takes the %s from %d to %d pods", c.batchName(), s, c.workload(s).Replicas, n)), s, n}
}
