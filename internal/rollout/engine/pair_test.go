// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// sized is a rollout from one Deployment to another that has pods already.
func sized(source, target int) World {
	w := twoObjects(source)
	w.Target.Replicas, w.Target.Pods, w.Target.Ready, w.Target.Available = target, target, target, target
	w.Rollout.Plan.RolloutBatches = batchesOf(1, "20%", nil)
	return w
}

func TestTwoObjectsEndWithTheSizeOfTheOlderOne(t *testing.T) {
	for sentence, c := range map[string]struct {
		source, target int
		size           *int32
		want           int
	}{
		"a newer one without pods":              {10, 0, nil, 10},
		"one that was made with a pod":          {10, 1, nil, 10},
		"one that was made with as many":        {10, 10, nil, 10},
		"pods of the newer one are never taken": {4, 10, nil, 10},
		"a size that is asked for":              {10, 1, ptr.To[int32](12), 12},
		"one that is below what is there":       {4, 10, ptr.To[int32](5), 5},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := sized(c.source, c.target)
			w.Rollout.Plan.TargetSize = c.size
			played := newCluster(w)
			played.run(time.Hour, func(now *cluster) {
				if s := &now.world.Rollout.Status; s.Running != nil && (s.RolloutOriginalSize != int32(c.source) || s.RolloutTargetSize != int32(c.want)) && !now.in(Succeeded) {
					t.Errorf("the original size is %d and the final one %d, want %d and %d", s.RolloutOriginalSize, s.RolloutTargetSize, c.source, c.want)
				}
			})
			if got := played.world.Target.Replicas; !played.in(Succeeded) || got != c.want || played.world.Source.Replicas != 0 {
				t.Errorf("it is in %s, and the newer one has %d pods, want %d", StateOf(&played.world.Rollout.Status), got, c.want)
			}
		})
	}
}

// What the newer object has already does not let more of the older one go than the batch.
func TestPodsThatTheNewerObjectHasTakeNoneOfTheOlderOne(t *testing.T) {
	c := newCluster(sized(10, 10))
	least := map[int32]int{}
	c.run(time.Hour, func(c *cluster) {
		if s := &c.world.Rollout.Status; s.Running != nil && !c.in(Succeeded) {
			least[s.CurrentBatch] = c.world.Source.Replicas
		}
	})
	if least[0] != 9 || least[1] != 7 || !c.in(Succeeded) {
		t.Errorf("after the first batches the older one has %d and %d pods, want 9 and 7", least[0], least[1])
	}
}

// A rollout that ended in the middle has pods on both sides. Whoever takes it up, or goes back, wants them all.
func TestARolloutOfTwoThatIsTakenUpInTheMiddleKeepsTheSize(t *testing.T) {
	for sentence, c := range map[string]struct {
		goOn func(*cluster)
		// shrinks is what an autoscaler takes from the older one meanwhile.
		shrinks, want int
	}{
		"by another try":      {func(c *cluster) { retry(c) }, 0, 10},
		"by going back":       {func(c *cluster) { swap(c) }, 0, 10},
		"when there are less": {func(c *cluster) { retry(c) }, 3, 7},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := sized(10, 0)
			w.Rollout.Plan.BatchPartition = ptr.To[int32](1)
			played := newCluster(w)
			played.run(time.Minute, func(c *cluster) {
				if s := &c.world.Rollout.Status; s.WaitingFor == rolloutv1alpha1.WaitingAtPartition {
					c.world.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationAbort: s.Take()}
				}
			})
			older := played.world.Source
			if !played.in(Failed) || played.world.Target.Replicas != 3 || older.Replicas != 7 {
				t.Fatalf("it is in %s, with %d and %d pods", StateOf(&played.world.Rollout.Status), played.world.Target.Replicas, older.Replicas)
			}
			older.Replicas -= c.shrinks
			older.Pods, older.Available, older.Ready = older.Replicas, older.Replicas, older.Replicas
			played.world.Rollout.Plan.BatchPartition = nil
			c.goOn(played)
			played.now = start
			played.run(time.Hour, nil)
			if got := played.world.Target.Replicas; !played.in(Succeeded) || got != c.want || played.world.Source.Replicas != 0 {
				t.Errorf("it is in %s, and there are %d pods, want %d: %s", StateOf(&played.world.Rollout.Status), got, c.want, played.world.Rollout.Status.Message)
			}
		})
	}
}

// A Deployment that is stuck in its own update to a broken version is the source of the fix. No fewer pods serve than did before, and it
// is not waited for the pods that its update has in addition.
func TestAnOlderObjectThatIsStuckInItsOwnUpdateGivesItsPods(t *testing.T) {
	const before = 6 // of 8, by the update's own allowance
	c := newCluster(sized(8, 0))
	stuck := func(c *cluster) {
		w := c.world.Source
		w.Busy, w.Stuck, w.Surge = "updating by itself: 4 of 10 pods are on its template", true, (w.Replicas+3)/4
		if w.Seen {
			w.Pods = w.Replicas + w.Surge
		}
		w.Available = w.Replicas - w.Replicas/4
		w.Ready = w.Available
		if serve := w.Available + c.world.Target.Available; serve < before {
			t.Errorf("%d pods serve, and %d did before", serve, before)
		}
	}
	c.run(time.Hour, stuck)
	if !c.in(Succeeded) || c.world.Source.Pods != 0 || c.world.Target.Available != 8 {
		t.Errorf("it is in %s with %d pods of the older one and %d of the newer one:\n%s", StateOf(&c.world.Rollout.Status), c.world.Source.Pods, c.world.Target.Available, c.transcript())
	}
}

// A Deployment that is paused in its own update does not come to an end by itself. A rollout only takes its pods, so it need not.
func TestAnOlderObjectThatIsPausedInItsOwnUpdateGivesItsPods(t *testing.T) {
	c := newCluster(sized(8, 0))
	c.run(time.Hour, func(c *cluster) {
		w := c.world.Source
		w.Paused, w.Stuck, w.Busy = true, true, "paused in an update of its own: 4 of 8 pods are on its template"
	})
	if !c.in(Succeeded) || c.world.Source.Pods != 0 || c.world.Target.Available != 8 || !c.world.Source.Paused {
		t.Errorf("it is in %s with %d pods of the older one and %d of the newer one:\n%s", StateOf(&c.world.Rollout.Status), c.world.Source.Pods, c.world.Target.Available, c.transcript())
	}
}

// Who is on call at night reads what is waited for, and what ends that. Where only a person can, the rollout is stalled, and says so once.
func TestAWaitForWhatMayNeverEndSaysWhatEndsIt(t *testing.T) {
	for sentence, c := range map[string]struct {
		change  func(*Workload)
		want    string
		stalled bool
	}{
		"paused": {func(w *Workload) {
			w.Paused, w.Stuck, w.Busy, w.Remedy = true, true, "paused in an update of its own: 2 of 5 pods are on its template", "end its pause"
		}, "waits until Deployment web has ended what it is in the middle of: paused in an update of its own: 2 of 5 pods are on its template; end its pause", true},
		"not ready": {func(w *Workload) {
			w.Stuck, w.Busy, w.Waits, w.Remedy = true, "updating by itself: 2 of 5 pods are on its template", "no quota is left", "mend it"
		}, "waits until Deployment web has ended what it is in the middle of: updating by itself: 2 of 5 pods are on its template; no quota is left; mend it", false},
		"under way": {func(w *Workload) { w.Busy, w.Waits = "scaling from 0 to 5 pods", "something that changes" },
			"waits until Deployment web has ended what it is in the middle of: scaling from 0 to 5 pods", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := sized(10, 0)
			c.change(&w.Target)
			w.Rollout.Target.Kind, w.Rollout.Target.Name = "Deployment", "web"
			played := newCluster(w)
			played.run(time.Minute, nil)
			s := &played.world.Rollout.Status
			if s.Message != c.want || !played.in(Verifying) {
				t.Errorf("in %s it says %q", StateOf(s), s.Message)
			}
			if got := conditionIs(*s, rolloutv1alpha1.ConditionStalled, "PausedInUpdate"); got != c.stalled {
				t.Errorf("stalled: %t", got)
			}
			if n := strings.Count(played.transcript(), "PausedInUpdate"); n != map[bool]int{true: 1}[c.stalled] {
				t.Errorf("it is told %d times:\n%s", n, played.transcript())
			}
		})
	}
}

// What changes by itself and comes to an end is waited for; so is a newer object, whatever is wrong with it: its pods would count.
func TestWhatIsInTheMiddleOfSomethingIsWaitedFor(t *testing.T) {
	for sentence, change := range map[string]func(*World){
		"an older one that scales":                    func(w *World) { w.Source.Busy = "scaling from 3 to 10" },
		"an older one that is updated":                func(w *World) { w.Source.Busy = "updating by itself" },
		"a newer one that is stuck in its own update": func(w *World) { w.Target.Busy, w.Target.Stuck = "updating by itself", true },
		"a newer one, and the older one is stuck, too": func(w *World) {
			w.Target.Busy, w.Source.Busy, w.Source.Stuck = "scaling from 0 to 1", "updating by itself", true
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := sized(10, 0)
			change(&w)
			c := newCluster(w)
			c.run(time.Minute, nil)
			if s := &c.world.Rollout.Status; !c.in(Verifying) || s.WaitingFor != rolloutv1alpha1.WaitingForWorkload || c.world.Source.Held {
				t.Errorf("it is in %s: %s", StateOf(s), s.Message)
			}
		})
	}
}

func retry(c *cluster) {
	c.world.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationRetry: c.world.Rollout.Status.Take()}
}

func swap(c *cluster) {
	c.edit(func(r *Rollout) { r.Target, r.Source = older, &newer })
	c.world.Target, *c.world.Source = *c.world.Source, c.world.Target
}

func TestARevertOfTwoGivesBackTheSizesOfBefore(t *testing.T) {
	for sentence, c := range map[string]struct {
		source, target int
		size           *int32
	}{
		"a newer one with a pod":   {10, 1, nil},
		"more pods than there are": {10, 0, ptr.To[int32](15)},
		"both with as many":        {10, 10, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := sized(c.source, c.target)
			w.Rollout.Plan.TargetSize, w.Rollout.Plan.FailurePolicy = c.size, rolloutv1alpha1.RevertOnFailure
			played := newCluster(w)
			played.run(time.Hour, func(c *cluster) {
				if s := &c.world.Rollout.Status; c.in(BatchVerifying) && s.CurrentBatch == 2 {
					c.world.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationRevert: s.Take()}
				}
			})
			if s, n := played.world.Source.Replicas, played.world.Target.Replicas; !played.in(Failed) || s != c.source || n != c.target {
				t.Errorf("it is in %s with %d and %d pods, want %d and %d:\n%s", StateOf(&played.world.Rollout.Status), s, n, c.source, c.target, played.transcript())
			}
		})
	}
}
