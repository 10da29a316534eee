// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// A rollout is played to its end through whatever happens: decisions whose status or whose actions are lost, pauses, people who
// change the number of pods, pods that never become available.
func TestARolloutKeepsItsPromisesWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		calm := 150 // looks with trouble; after them nothing happens any more, and it has to come to an end
		for i := range 1200 {
			if i < calm {
				c.trouble(t)
			} else {
				c.broken, c.world.Rollout.Plan.Paused, c.world.Rollout.Plan.BatchPartition = false, false, nil
			}
			p := Next(c.observed(), c.now)
			c.tell(p)
			c.judge(t, p)
			keepsStatus, acts := true, len(p.Actions)
			if i < calm {
				keepsStatus = rapid.IntRange(0, 9).Draw(t, "status") > 0
				acts = rapid.IntRange(0, acts).Draw(t, "actions")
			}
			for _, a := range p.Actions[:acts] {
				c.act(a)
			}
			if keepsStatus {
				c.world.Rollout.Status = p.Status
			}
			if c.gone || keepsStatus && p.Status.RollingState.IsFinal() && len(p.Actions) == 0 {
				break
			}
			if p.LookAgain != time.Millisecond {
				c.tick()
				c.now = c.now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "seconds")) * time.Second)
			}
		}
		c.judgeEnd(t)
	})
}

func drawCluster(t *rapid.T) *cluster {
	size := rapid.IntRange(0, 30).Draw(t, "size")
	w := newWorld()
	switch rapid.SampledFrom([]string{"in place", "pair", "scale"}).Draw(t, "mode") {
	case "pair":
		w = twoObjects(size)
		if rapid.Bool().Draw(t, "shrinks first") {
			w.Rollout.Plan.RolloutStrategy = rolloutv1alpha1.DecreaseFirst
		}
	case "scale":
		w = scaling(size, rapid.IntRange(0, 30).Draw(t, "to"))
	default:
		w.Target.Replicas, w.Target.Pods, w.Target.Ready, w.Target.Available = size, size, size, size
	}
	targetSize, strategy := w.Rollout.Plan.TargetSize, w.Rollout.Plan.RolloutStrategy
	w.Rollout.Plan = drawPlan(t)
	w.Rollout.Plan.TargetSize, w.Rollout.Plan.RolloutStrategy = targetSize, strategy
	w.Rollout.Plan.FailurePolicy = rapid.SampledFrom([]rolloutv1alpha1.FailurePolicy{
		rolloutv1alpha1.FailOnFailure, rolloutv1alpha1.RevertOnFailure,
	}).Draw(t, "policy")
	w.Rollout.Plan.ProgressDeadlineSeconds = ptr.To(rapid.SampledFrom([]int32{0, 60, 600}).Draw(t, "deadline"))
	w.Rollout.RevertOnDelete = rapid.Bool().Draw(t, "reverts on delete")
	if rapid.Bool().Draw(t, "partition") {
		w.Rollout.Plan.BatchPartition = ptr.To(rapid.Int32Range(0, 4).Draw(t, "batchPartition"))
	}
	return newCluster(w)
}

// trouble is one thing that happens, or nothing.
func (c *cluster) trouble(t *rapid.T) {
	switch rapid.IntRange(0, 40).Draw(t, "trouble") {
	case 1:
		c.world.Rollout.Plan.Paused = !c.world.Rollout.Plan.Paused
	case 2:
		c.broken = !c.broken
	case 3:
		for _, s := range []Side{Target, Source} {
			if w := c.side(s); w != nil && w.Held && w.Replicas > 0 && rapid.Bool().Draw(t, "autoscaled") {
				by := rapid.IntRange(-5, 5).Draw(t, "by")
				by = max(by, 1-w.Replicas) // an autoscaler leaves what has no pods alone, and never takes the last one
				w.Replicas += by
				w.Others += by
			}
		}
	case 4:
		c.world.Rollout.Deleting = c.world.Rollout.Finalizer
	}
}

// judge looks at what is about to be done with eyes of its own.
func (c *cluster) judge(t *rapid.T, p Plan) {
	status := &p.Status
	if part := c.world.Rollout.Plan.BatchPartition; part != nil && status.Running != nil && status.CurrentBatch > *part &&
		StateOf(status) == BatchInRolling && c.world.Rollout.Status.CurrentBatch < status.CurrentBatch {
		c.fatal(t, "batch %d begins, and the partition is %d", status.CurrentBatch, *part)
	}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case Advance:
			total := c.world.Target.Replicas
			if a.To > total {
				c.fatal(t, "%d of %d pods are to be updated", a.To, total)
			}
			if reverting := c.world.Target.Template == c.world.Target.Before.Template; reverting {
				continue
			}
			if share := c.share(status, total); a.To > max(share, c.world.Target.Updated) {
				c.fatal(t, "%d of %d pods are to be updated, and the batches up to %d have %d", a.To, total, status.CurrentBatch, share)
			}
		case Resize:
			if a.To < 0 {
				c.fatal(t, "the %s is asked for %d pods", a.On, a.To)
			}
		case Hold:
			if c.world.Rollout.Status.Running == nil {
				c.fatal(t, "the %s is held, and the stored status does not say so", a.On)
			}
			if w := c.side(a.On); w.Held {
				c.fatal(t, "the %s is held already", a.On)
			}
		case Enter, Leave, Mark, Unpause, BringBack, Release, Invoke, Measure:
		}
	}
	c.judgePair(t, p)
}

// share is the number of pods that the batches up to the current one have, counted in another way than the engine does.
func (c *cluster) share(status *rolloutv1alpha1.RolloutStatus, total int) int {
	sum := 0
	for i, b := range status.Running.RolloutBatches[:status.CurrentBatch+1] {
		switch {
		case i == len(status.Running.RolloutBatches)-1 || b.Replicas == nil:
			return total
		case b.Replicas.StrVal != "":
			var percent float64
			if _, err := fmt.Sscanf(b.Replicas.StrVal, "%g%%", &percent); err != nil {
				panic(err)
			}
			n := int(percent * float64(total) / 100)
			if float64(n)*100 < percent*float64(total) {
				n++
			}
			sum += n
		default:
			sum += int(b.Replicas.IntVal)
		}
	}
	return min(sum, total)
}

// judgePair wants that no step takes serving pods away below what is left of the size when a batch is taken out of it.
func (c *cluster) judgePair(t *rapid.T, p Plan) {
	r := p.Status.Running
	if r == nil || r.Mode != rolloutv1alpha1.TwoObjectsMode || c.world.Rollout.Plan.RolloutStrategy == rolloutv1alpha1.DecreaseFirst {
		return
	}
	total := max(int(r.Total)+c.world.Target.Others+c.world.Source.Others, 0)
	for _, a := range p.Actions {
		resize, is := a.(Resize)
		if !is || resize.To >= c.side(resize.On).Replicas {
			continue
		}
		other := c.world.Target
		if resize.On == Target {
			other = *c.world.Source
		}
		if serve := min(c.side(resize.On).Available, resize.To) + min(other.Available, other.Replicas); serve < total-c.unavailable(resize.On) {
			c.fatal(t, "the %s is left %d pods, so that %d of %d serve", resize.On, resize.To, serve, total)
		}
	}
}

// unavailable are pods of a side that are not available anyway, and so are not taken by making it smaller.
func (c *cluster) unavailable(s Side) int {
	w := c.side(s)
	return max(w.Replicas-min(w.Available, w.Replicas), 0)
}

func (c *cluster) judgeEnd(t *rapid.T) {
	s := &c.world.Rollout.Status
	if !c.gone && !s.RollingState.IsFinal() {
		c.fatal(t, "it never ends: %s", s.Message)
	}
	for _, side := range []Side{Target, Source} {
		if w := c.side(side); w != nil && w.Held {
			c.fatal(t, "the %s is still held", side)
		}
	}
	if c.world.Rollout.Finalizer {
		c.fatal(t, "the finalizer is still there")
	}
	if s.RollingState != rolloutv1alpha1.RolloutSucceedState || s.Running == nil {
		return
	}
	w := &c.world.Target
	switch s.Running.Mode {
	case rolloutv1alpha1.InPlaceMode:
		if w.Asked != w.Replicas {
			c.fatal(t, "%d of %d pods are asked for", w.Asked, w.Replicas)
		}
	case rolloutv1alpha1.TwoObjectsMode:
		if c.world.Source.Replicas != 0 {
			c.fatal(t, "the source still has %d pods", c.world.Source.Replicas)
		}
	case rolloutv1alpha1.ScaleMode:
	}
}

func (c *cluster) fatal(t *rapid.T, format string, args ...any) {
	t.Helper()
	last := c.lines[max(0, len(c.lines)-40):]
	t.Fatalf(format+"\n%s", append(args, fmt.Sprint(joinLines(last)))...)
}

func joinLines(lines []string) string {
	out := ""
	for _, l := range slices.Clone(lines) {
		out += l + "\n"
	}
	return out
}
