// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// A course is one kind of change: how far it is, how to take it further, and when it is there. Forward goes from batch to
// batch; back undoes the batches in reverse.
type course interface {
	// total is how many pods the batches divide, by now.
	total() int
	// count writes how far the change is into the status.
	count()
	// goal is how many pods are to be changed at the end of the current batch.
	goal() int
	// begin is how far to go now on the way to a goal, and how long until the next pod may begin; 0 for at once.
	begin(goal int) (int, time.Duration)
	// grow asks for n changed pods. Its event is Sized when nothing is left to be asked for.
	grow(n int, again time.Duration) verdict
	// reach waits until n pods are changed and available. Its event is Met then.
	reach(n int) verdict
	// returned is how many pods serve as before, in a revert.
	returned() int
	// back brings a change of more than n pods back to n. Its event is Released when it is there.
	back(n int) verdict
}

func (m *machine) course() course {
	switch m.status.Running.Mode {
	case rolloutv1alpha1.ScaleMode:
		return scale{m}
	case rolloutv1alpha1.TwoObjectsMode:
		return pair{m}
	case rolloutv1alpha1.InPlaceMode:
	}
	return inPlace{m}
}

// goalOf is what the batches say about a total.
func (m *machine) goalOf(batch, total int) int {
	if batch < 0 {
		return 0
	}
	return Goals(m.status.Running.RolloutBatches, total)[batch]
}

func waitForPods(why string, actions ...Action) verdict {
	return verdict{why: why, waiting: rolloutv1alpha1.WaitingForPods, actions: actions}
}

// inPlace takes the pods of one object to its newest template.
type inPlace struct{ *machine }

func (c inPlace) total() int { return c.Target.Replicas }

func (c inPlace) tolerated() int { return Tolerated(c.batch(), c.total()) }

func (c inPlace) count() {
	c.status.RolloutTargetSize = int32(c.total())
	c.status.UpgradedReplicas, c.status.UpgradedReadyReplicas = int32(c.Target.Updated), int32(c.Target.UpdatedAvailable)
}

// goal never goes below the pods that are updated already: when the number of pods changes, new ones are on the newest
// template at once.
func (c inPlace) goal() int {
	goal := c.goalOf(int(c.status.CurrentBatch), c.total())
	if c.Target.Asked > goal {
		goal = max(goal, min(c.Target.Updated, c.total()))
	}
	return goal
}

func (c inPlace) begin(goal int) (int, time.Duration) {
	return c.staged(min(c.Target.Asked, goal), goal)
}

func (c inPlace) grow(n int, again time.Duration) verdict {
	if c.Target.Asked != n {
		v := waitForPods(fmt.Sprintf("lets %d of %d pods be on the newest template", n, c.total()),
			Advance{Because(fmt.Sprintf("%s may have %d of %d pods on the newest template", c.batchName(), n, c.total())), n})
		v.again = again
		return v
	}
	if again > 0 {
		v := waitForPods(fmt.Sprintf("%s has begun with %d of %d pods, and waits for its interval", c.batchName(), n, c.goal()))
		v.again, v.waiting = again, rolloutv1alpha1.WaitingForInterval
		return v
	}
	return verdict{event: Sized}
}

func (c inPlace) reach(n int) verdict {
	if v := c.grow(n, 0); v.event == "" { // the goal has moved
		return v
	}
	w := &c.Target
	switch {
	case !w.Seen:
		return waitForPods(fmt.Sprintf("waits until %s %s is seen by its own controller", c.ref(Target).Kind, c.ref(Target).Name))
	case w.Updated < n:
		return waitForPods(waitsFor(fmt.Sprintf("%d of %d pods of %s are on the newest template", w.Updated, n, c.batchName()), w))
	case w.UpdatedAvailable < n-c.tolerated():
		return waitForPods(waitsFor(fmt.Sprintf("%d of %d updated pods are available, and %s needs %d", w.UpdatedAvailable, w.Updated, c.batchName(), n-c.tolerated()), w))
	}
	return verdict{event: Met}
}

func (c inPlace) returned() int {
	if c.Target.Template != c.Target.Before.Template {
		return 0
	}
	return c.Target.UpdatedAvailable
}

// back has the template that was there before, so what counts as updated are the pods that are back on it.
func (c inPlace) back(n int) verdict {
	w := &c.Target
	if w.Template != w.Before.Template {
		return waitForPods("brings back the template from before", BringBack{"the rollout is reverted", max(c.total()-w.Updated, 0)})
	}
	goal := c.total() - n
	if w.Asked < goal {
		return waitForPods(fmt.Sprintf("brings %s back", c.batchName()),
			Advance{Because(fmt.Sprintf("%s is reverted: %d of %d pods go back", c.batchName(), goal, c.total())), goal})
	}
	if !w.Seen || w.Updated < goal || w.UpdatedAvailable < goal-c.tolerated() {
		return waitForPods(waitsFor(fmt.Sprintf("brings %s back: %d of %d pods are back, and %d of them available", c.batchName(), w.Updated, goal, w.UpdatedAvailable), w))
	}
	return verdict{event: Released}
}

// waitsFor adds what the pods themselves wait for.
func waitsFor(sentence string, w *Workload) string {
	if w.Waits == "" {
		return sentence
	}
	return sentence + "; " + w.Waits
}

// scale changes the number of pods of one object.
type scale struct{ *machine }

func (c scale) total() int  { return int(c.status.Running.Total) }
func (c scale) from() int   { return int(c.status.RolloutOriginalSize) }
func (c scale) to() int     { return int(c.status.RolloutTargetSize) }
func (c scale) grows() bool { return c.to() >= c.from() }

// at is the size when n pods are added, or removed.
func (c scale) at(n int) int {
	if c.grows() {
		return c.from() + n
	}
	return c.from() - n
}

// done is how many pods are added, or removed, when there are size.
func (c scale) done(size int) int {
	if c.grows() {
		return max(size-c.from(), 0)
	}
	return max(c.from()-size, 0)
}

func (c scale) count() {
	c.status.UpgradedReplicas = int32(c.done(c.Target.Pods))
	c.status.UpgradedReadyReplicas = c.status.UpgradedReplicas
	if c.grows() {
		c.status.UpgradedReadyReplicas = int32(c.done(c.Target.Ready))
	}
}

// goal never takes back what others have done on the way, but for the end: that is the size that was asked for.
func (c scale) goal() int {
	goal := c.goalOf(int(c.status.CurrentBatch), c.total())
	if c.isLast() {
		return goal
	}
	return min(max(goal, c.done(c.Target.Replicas)), c.total())
}

func (c scale) begin(goal int) (int, time.Duration) {
	return c.staged(min(c.done(c.Target.Replicas), goal), goal)
}

func (c scale) grow(n int, again time.Duration) verdict {
	if size := c.at(n); c.Target.Replicas != size {
		v := waitForPods(fmt.Sprintf("asks for %d pods", size), Resize{Because(fmt.Sprintf("%s takes it from %d to %d pods", c.batchName(), c.Target.Replicas, size)), Target, size})
		v.again = again
		return v
	}
	if again > 0 {
		v := waitForPods(fmt.Sprintf("%s is at %d pods, and waits for its interval", c.batchName(), c.Target.Replicas))
		v.again, v.waiting = again, rolloutv1alpha1.WaitingForInterval
		return v
	}
	return verdict{event: Sized}
}

func (c scale) reach(n int) verdict {
	if v := c.grow(n, 0); v.event == "" {
		return v
	}
	w, size := &c.Target, c.at(n)
	switch {
	case !w.Seen:
		return waitForPods(fmt.Sprintf("waits until %s %s is seen by its own controller", c.ref(Target).Kind, c.ref(Target).Name))
	case !c.grows() && w.Pods > size:
		return waitForPods(waitsFor(fmt.Sprintf("waits for pods to go: there are %d, and %s leaves %d", w.Pods, c.batchName(), size), w))
	case c.grows() && w.Ready < size-Tolerated(c.batch(), c.total()):
		return waitForPods(waitsFor(fmt.Sprintf("%d of %d pods are ready", w.Ready, size), w))
	}
	return verdict{event: Met}
}

func (c scale) returned() int {
	if c.grows() {
		return c.total() - c.done(c.Target.Pods)
	}
	return c.total() - c.done(c.Target.Ready)
}

func (c scale) back(n int) verdict {
	w, size := &c.Target, c.at(n)
	if w.Replicas != size {
		return waitForPods(fmt.Sprintf("goes back to %d pods", size), Resize{Because(fmt.Sprintf("%s is reverted", c.batchName())), Target, size})
	}
	if !w.Seen || c.grows() && w.Pods > size || !c.grows() && w.Ready < size {
		return waitForPods(waitsFor(fmt.Sprintf("goes back to %d pods: there are %d, and %d are ready", size, w.Pods, w.Ready), w))
	}
	return verdict{event: Released}
}
