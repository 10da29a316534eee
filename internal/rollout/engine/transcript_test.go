// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/golden"
)

type story struct {
	world World
	// spoil changes the world before it begins.
	spoil func(*World)
	// broken, hooks and metric: see cluster.
	broken bool
	hooks  func(string, int) Call
	metric float64
	// prunes: see cluster.
	prunes bool
	// each is called before every look.
	each func(*cluster)
	want State
}

// once runs something the first time that a story is in a state.
func once(s State, do func(*cluster)) func(*cluster) {
	said := false
	return func(c *cluster) {
		if !said && c.in(s) {
			said = true
			do(c)
		}
	}
}

// midway runs something when the third batch is on its way.
func midway(do func(*cluster)) func(*cluster) {
	said := false
	return func(c *cluster) {
		if s := &c.world.Rollout.Status; !said && c.in(BatchVerifying) && s.CurrentBatch == 2 {
			said = true
			do(c)
		}
	}
}

func all(each ...func(*cluster)) func(*cluster) {
	return func(c *cluster) {
		for _, do := range each {
			do(c)
		}
	}
}

var errors = []rolloutv1alpha1.CanaryMetric{{
	Name: "errors", Interval: &metav1.Duration{Duration: 10 * time.Second}, MetricsRange: &rolloutv1alpha1.MetricsExpectedRange{Max: number("0.01")}, Count: ptr.To[int32](2),
}}

var stories = map[string]story{
	"in place":      {world: newWorld(), want: Succeeded},
	"two objects":   {world: twoObjects(10), want: Succeeded},
	"shrinks first": {world: twoObjects(10), spoil: func(w *World) { w.Rollout.Plan.RolloutStrategy = rolloutv1alpha1.DecreaseFirst }, want: Succeeded},
	"scale up":      {world: scaling(3, 13), want: Succeeded},
	"scale down":    {world: scaling(20, 5), want: Succeeded},
	"already there": {world: scaling(4, 4), want: Succeeded},
	"pod by pod": {world: newWorld(), spoil: func(w *World) {
		w.Rollout.Plan.RolloutBatches = batchesOf(3, nil)
		w.Rollout.Plan.RolloutBatches[0].InstanceInterval = ptr.To[int32](5)
	}, want: Succeeded},
	"partition, then more": {world: newWorld(), spoil: func(w *World) { w.Rollout.Plan.BatchPartition = ptr.To[int32](0) },
		each: all(func(c *cluster) {
			if c.world.Rollout.Status.WaitingFor == rolloutv1alpha1.WaitingAtPartition && c.now.Sub(start) > 30*time.Second {
				c.edit(func(r *Rollout) { r.Plan.BatchPartition = nil })
			}
		}), want: Succeeded},
	"paused and resumed": {world: newWorld(), each: all(
		once(BatchVerifying, func(c *cluster) { c.edit(func(r *Rollout) { r.Plan.Paused = true }) }),
		func(c *cluster) {
			if c.world.Rollout.Plan.Paused && c.now.Sub(start) > 1000*time.Second {
				c.edit(func(r *Rollout) { r.Plan.Paused = false })
			}
		}), want: Succeeded},
	"deadline missed, fails":          {world: newWorld(), broken: true, want: Failed},
	"deadline missed, reverts":        {world: newWorld(), broken: true, spoil: failurePolicy(rolloutv1alpha1.RevertOnFailure), want: Failed},
	"deadline missed by two, reverts": {world: twoObjects(10), broken: true, spoil: failurePolicy(rolloutv1alpha1.RevertOnFailure), want: Failed},
	"deadline missed in the middle of a scale, reverts": {world: scaling(3, 13), spoil: failurePolicy(rolloutv1alpha1.RevertOnFailure),
		each: midway(func(c *cluster) { c.broken, c.world.Target.Ready, c.world.Target.Available = true, 4, 4 }), want: Failed},
	"deadline missed, waits, is mended": {world: newWorld(), broken: true, spoil: failurePolicy(rolloutv1alpha1.PauseOnFailure), each: func(c *cluster) {
		if c.in(BatchVerifyFailed) && c.now.Sub(start) > 900*time.Second {
			c.broken = false
			c.world.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationRetry: c.world.Rollout.Status.Take()}
		}
	}, want: Succeeded},
	"template changed in the middle": {world: newWorld(), each: midway(func(c *cluster) {
		w := &c.world.Target
		w.Template, w.Updated, w.UpdatedAvailable, w.Before.Template = "newest", 0, 0, "old"
	}), want: Succeeded},
	"deleted in the middle": {world: newWorld(), each: midway(func(c *cluster) { c.world.Rollout.Deleting = true }), want: Deleting},
	"deleted in the middle, and reverts": {world: newWorld(), spoil: func(w *World) { w.Rollout.RevertOnDelete = true },
		each: midway(func(c *cluster) { c.world.Rollout.Deleting = true }), want: Deleting},
	"the workload is deleted":     {world: newWorld(), each: midway(func(c *cluster) { c.world.Target = Workload{Versions: true} }), want: Failed},
	"an autoscaler in the middle": {world: newWorld(), each: midway(func(c *cluster) { c.world.Target.Replicas = 20 }), want: Succeeded},
	"an autoscaler on the source": {world: twoObjects(10), each: midway(func(c *cluster) {
		c.world.Source.Replicas += 5
		c.world.Source.Others = 5
	}), want: Succeeded},
	"metrics": {world: newWorld(), spoil: func(w *World) { w.Rollout.Plan.CanaryMetric = errors }, metric: 0.001, want: Succeeded},
	"metric fails, reverts": {world: newWorld(), spoil: func(w *World) {
		w.Rollout.Plan.CanaryMetric, w.Rollout.Plan.FailurePolicy = errors, rolloutv1alpha1.RevertOnFailure
	}, metric: 0.5, want: Failed},
	"hooks":           {world: newWorld(), spoil: withHooks(Call{}), hooks: slow, want: Succeeded},
	"a hook rejects":  {world: newWorld(), spoil: withHooks(Call{}), hooks: func(string, int) Call { return Call{Answered: true, Message: "403"} }, want: Failed},
	"held by a pause": {world: newWorld(), spoil: func(w *World) { w.Target.Paused = true }, want: Succeeded},
	"an older definition": {world: newWorld(), spoil: func(w *World) {
		w.Target.Paused = true
		w.Rollout.Plan.FailurePolicy = rolloutv1alpha1.RevertOnFailure
	}, prunes: true, want: Failed},
	"batches too big": {world: newWorld(), spoil: func(w *World) { w.Rollout.Plan.RolloutBatches = batchesOf(12, nil) }, want: Failed},
}

// slow passes at the third delivery.
func slow(_ string, attempt int) Call {
	return Call{Answered: attempt >= 3, Passed: attempt >= 3, Message: "503"}
}

func TestTranscripts(t *testing.T) {
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			if s.spoil != nil {
				s.spoil(&s.world)
			}
			c := newCluster(s.world)
			c.broken, c.hooks, c.metric, c.prunes = s.broken, s.hooks, s.metric, s.prunes
			c.run(2*time.Hour, s.each)
			if got := StateOf(&c.world.Rollout.Status); got != s.want {
				t.Errorf("it ends in %s, want %s", got, s.want)
			}
			for _, side := range []Side{Target, Source} {
				if w := c.side(side); w != nil && w.Found && w.Held {
					t.Errorf("the %s is still held", side)
				}
			}
			if c.world.Rollout.Finalizer {
				t.Error("the finalizer is still there")
			}
			golden.Text(t, name+".txt", c.transcript())
		})
	}
}
