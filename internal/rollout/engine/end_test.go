// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

// Whoever looks after a crash believes the stored status. If that still speaks of a batch, a workload that was let go looks as
// if somebody else had taken it away, and a rollout that was all done fails.
func TestNothingIsLetGoBeforeTheStoredStatusSaysThatItEnds(t *testing.T) {
	for _, s := range States() {
		for name, spoil := range observations() {
			for _, batch := range []int32{1, 3} {
				if s == BatchReady && batch == 3 {
					continue // the last batch is never followed by another one
				}
				t.Run(fmt.Sprintf("%s of batch %d, %s", s, batch, name), func(t *testing.T) {
					w := newWorld()
					w.Rollout.Status = started(s)
					w.Rollout.Status.CurrentBatch = batch
					spoil(&w)
					stored := StateOf(&w.Rollout.Status)
					for _, a := range Next(w, start.Add(time.Minute)).Actions {
						if _, lets := a.(Release); lets && stored != Finalising && stored != Failing && stored != Abandoning && stored != Deleting {
							t.Errorf("it is let go while the stored state is %s", stored)
						}
					}
				})
			}
		}
	}
}

func TestABatchThatHasBegunDoesNotBecomeTheLastOne(t *testing.T) {
	for _, s := range []State{BatchInRolling, BatchVerifying, BatchFinalizing, BatchReady} {
		t.Run(s.String(), func(t *testing.T) {
			w := newWorld()
			w.Rollout.Plan.RolloutBatches = batchesOf("20%", nil)
			w.Rollout.Status = started(s)
			w.Rollout.Status.CurrentBatch = 0
			w.Rollout.Status.Running.RolloutBatches = Batches(&w.Rollout.Plan, 10)
			w.Rollout.Plan.RolloutBatches, w.Rollout.Plan.BatchPartition = batchesOf("20%"), ptr.To[int32](0)
			w.Target.Asked, w.Target.Updated, w.Target.UpdatedAvailable = 2, 2, 2
			p := Next(w, start.Add(time.Minute))
			if got := len(p.Status.Running.RolloutBatches); got != 2 || len(p.Actions) > 0 || StateOf(&p.Status) != BatchReady {
				t.Errorf("%d batches, actions %v, state %s: want to wait after the first of 2", got, p.Actions, StateOf(&p.Status))
			}
			w.Rollout.Plan.BatchPartition = nil
			if p = Next(w, start.Add(time.Minute)); p.Status.CurrentBatch != 1 {
				t.Errorf("it is in batch %d, want 1", p.Status.CurrentBatch)
			}
		})
	}
}

// That the end has come is stored before anything is let go, and once.
func TestTheEndIsStoredByOneWrite(t *testing.T) {
	w := newWorld()
	w.Rollout.Status = started(BatchFinalizing)
	w.Rollout.Status.CurrentBatch = 3
	w.Target.Asked, w.Target.Updated, w.Target.UpdatedAvailable = 10, 10, 10
	first := Next(w, start.Add(time.Minute))
	if got := StateOf(&first.Status); got != Finalising || len(first.Actions) > 0 {
		t.Fatalf("it is in %s, and does %v", got, first.Actions)
	}
	w.Rollout.Status = first.Status
	second := Next(w, start.Add(2*time.Minute))
	if diff := cmp.Diff(first.Status, second.Status); diff != "" {
		t.Errorf("the status is written again (-first +second):\n%s", diff)
	}
	if _, lets := second.Actions[0].(Release); !lets || second.LookAgain == 0 {
		t.Errorf("it does %v, and looks again in %s", second.Actions, second.LookAgain)
	}
}
