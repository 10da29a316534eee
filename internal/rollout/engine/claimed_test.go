// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// Between the moment that a plan is verified and the moment that the workloads are held a webhook can take hours, and an autoscaler does
// not wait for it.
func TestWhatChangesBeforeTheClaimIsNotTakenForABatch(t *testing.T) {
	size := func(w Workload, n int) Workload {
		w.Held, w.Replicas, w.Pods, w.Ready, w.Available, w.Before.Replicas = true, n, n, n, n, n
		return w
	}
	for sentence, c := range map[string]struct {
		world       World
		mode        rolloutv1alpha1.RolloutMode
		from, to    int32
		batches     int32
		now         int // the size that is found when it is claimed
		wantTotal   int32
		wantTargets int // the first size that is asked for
	}{
		"a scale that was 4 to 10 begins at 2": {scaling(4, 10), rolloutv1alpha1.ScaleMode, 4, 10, 2, 2, 8, 6},
		"one that is beyond its end by now":    {scaling(4, 10), rolloutv1alpha1.ScaleMode, 4, 10, 2, 12, 2, 11},
		"a source that has grown from 4 to 9":  {twoObjects(4), rolloutv1alpha1.TwoObjectsMode, 4, 4, 3, 9, 9, 3},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := c.world
			r := &rolloutv1alpha1.RunningRollout{Mode: c.mode, TargetRef: w.Rollout.Target, SourceRef: w.Rollout.Source, TargetSize: w.Rollout.Plan.TargetSize, Total: max(c.to-c.from, c.from)}
			if c.mode == rolloutv1alpha1.ScaleMode {
				r.Total = c.to - c.from
			}
			w.Rollout.Plan.RolloutBatches, w.Rollout.Plan.NumBatches = nil, ptr.To(c.batches)
			r.RolloutBatches = Batches(&w.Rollout.Plan, int(r.Total))
			w.Rollout.Finalizer = true
			w.Rollout.Status = rolloutv1alpha1.RolloutStatus{
				RollingState: rolloutv1alpha1.InitializingState, Run: 1, ObservedGeneration: 1, RolloutOriginalSize: c.from, RolloutTargetSize: c.to,
				NewPodTemplateIdentifier: w.Target.Template, Running: r,
			}
			if w.Source != nil {
				source := size(*w.Source, c.now)
				w.Source, w.Target = &source, size(w.Target, 0)
			} else {
				w.Target = size(w.Target, c.now)
			}
			p := Next(w, start)
			if got := p.Status.Running.Total; got != c.wantTotal {
				t.Errorf("the batches divide %d pods, want %d", got, c.wantTotal)
			}
			if len(p.Actions) != 1 {
				t.Fatalf("got the actions %v: %s", p.Actions, p.Status.Message)
			}
			if resize, is := p.Actions[0].(Resize); !is || resize.To != c.wantTargets {
				t.Errorf("got %#v, want a size of %d", p.Actions[0], c.wantTargets)
			}
		})
	}
}
