// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// A rollout that had nothing to do has ended like any other: it begins anew when something new is asked for.
func TestARolloutThatHadNothingToDoBeginsAnewForWhatIsNew(t *testing.T) {
	for sentence, c := range map[string]struct {
		world World
		asks  func(*Rollout)
	}{
		"another size":   {scaling(4, 4), func(r *Rollout) { r.Plan.TargetSize = ptr.To[int32](8) }},
		"another target": {scaling(4, 4), func(r *Rollout) { r.Target.Name = "other" }},
		"a size at last": {updated(), func(r *Rollout) { r.Plan.TargetSize = ptr.To[int32](8) }},
		"another source": {emptied(), func(r *Rollout) {
			r.Source = &rolloutv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop-v0"}
		}},
		"no source":       {emptied(), func(r *Rollout) { r.Source = nil }},
		"a size of a two": {emptied(), func(r *Rollout) { r.Plan.TargetSize = ptr.To[int32](30) }},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := newCluster(c.world)
			cluster.world.Target.Seen = true
			cluster.run(time.Hour, nil)
			if !cluster.in(Succeeded) {
				t.Fatalf("it is in %s, want %s: %s", StateOf(&cluster.world.Rollout.Status), Succeeded, cluster.world.Rollout.Status.Message)
			}
			cluster.edit(c.asks)
			if p := Next(cluster.world, cluster.now); StateOf(&p.Status) == Succeeded {
				t.Errorf("it stays where it is: %s", p.Status.Message)
			}
		})
	}
}

func updated() World {
	w := newWorld()
	w.Target.Differs, w.Target.Asked, w.Target.Updated, w.Target.UpdatedAvailable = false, 10, 10, 10
	return w
}

func emptied() World {
	w := twoObjects(0)
	w.Target.Replicas, w.Target.Pods, w.Target.Ready, w.Target.Available = 5, 5, 5, 5
	return w
}

// What was rolled out last stays known when a later rollout finds nothing to do.
func TestWhatIsThereAlreadyCountsAsRolledOut(t *testing.T) {
	for sentence, w := range map[string]World{"a size": scaling(4, 4), "a template": updated(), "two objects": emptied()} {
		t.Run(sentence, func(t *testing.T) {
			w.Target.Held = false
			w.Rollout.Status.LastAppliedPodTemplateIdentifier = "former"
			p := Next(w, start)
			if got := p.Status.LastAppliedPodTemplateIdentifier; StateOf(&p.Status) != Succeeded || got != "new" {
				t.Errorf("it is in %s with %q as the last template, want %s and %q", StateOf(&p.Status), got, Succeeded, "new")
			}
		})
	}
}

// A workload that is gone, or that somebody else has let go, is not brought back, so nobody may be told that it was.
func TestNobodyIsToldOfARevertThatCannotBe(t *testing.T) {
	for sentence, spoil := range map[string]func(*Workload){
		"the workload is gone":           func(w *Workload) { *w = Workload{Versions: true} },
		"the workload is let go":         func(w *Workload) { w.Held = false },
		"the workload is on its way out": func(w *Workload) { w.Going = true },
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld()
			w.Rollout.Plan.FailurePolicy = rolloutv1alpha1.RevertOnFailure
			c := newCluster(w)
			c.run(time.Hour, midway(func(c *cluster) { spoil(&c.world.Target) }))
			got := c.world.Rollout.Status
			if !c.in(Failed) || got.Ending != rolloutv1alpha1.LeaveEnding || contains(got.Message, "is back") {
				t.Errorf("it is in %s, having ended by %q: %s", StateOf(&got), got.Ending, got.Message)
			}
		})
	}
}

// A webhook of the plan and one of the batch may have one name: both are called.
func TestAHookOfTheBatchIsNotTakenForThePlansOfTheSameName(t *testing.T) {
	for _, kind := range []rolloutv1alpha1.HookType{rolloutv1alpha1.PreBatchRolloutHook, rolloutv1alpha1.PostBatchRolloutHook} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld()
			gate := func(url string) []rolloutv1alpha1.RolloutWebhook {
				return []rolloutv1alpha1.RolloutWebhook{{Type: kind, Name: "gate", URL: url}}
			}
			w.Rollout.Plan.RolloutWebhooks = gate("http://127.0.0.1/plan")
			w.Rollout.Plan.RolloutBatches[1].BatchRolloutWebhooks = gate("http://127.0.0.1/batch")
			c := newCluster(w)
			c.run(time.Hour, nil)
			if len(c.calls) != 5 || len(slices.Compact(slices.Sorted(slices.Values(c.calls)))) != 5 {
				t.Errorf("want the plan's for each of four batches and one of the second batch, got\n%v", c.calls)
			}
		})
	}
}

// A person who takes up a step has only those webhooks called again that have not passed.
func TestARetryCallsNoHookAgainThatHasPassed(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.FailurePolicy = rolloutv1alpha1.PauseOnFailure
	w.Rollout.Plan.RolloutBatches = nil
	for _, name := range []string{"first", "second"} {
		w.Rollout.Plan.RolloutWebhooks = append(w.Rollout.Plan.RolloutWebhooks,
			rolloutv1alpha1.RolloutWebhook{Type: rolloutv1alpha1.PreBatchRolloutHook, Name: name, URL: "http://127.0.0.1"})
	}
	c := newCluster(w)
	rejects := true
	c.hooks = func(key string, _ int) Call {
		return Call{Answered: true, Passed: !rejects || contains(key, "first"), Message: "403"}
	}
	c.run(time.Hour, func(c *cluster) {
		if s := &c.world.Rollout.Status; s.WaitingFor == rolloutv1alpha1.WaitingForPerson {
			rejects = false
			c.world.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationRetry: s.Take()}
		}
	})
	first := slices.DeleteFunc(slices.Clone(c.calls), func(key string) bool { return !contains(key, "first") })
	if !c.in(Succeeded) || len(first) != 1 || len(c.calls) != 3 {
		t.Errorf("it ends in %s after the calls %v", StateOf(&c.world.Rollout.Status), c.calls)
	}
}

// Nothing was held, so whatever is changed may be the mistake.
func TestARolloutThatCouldNeverSucceedBeginsAnewWithAnyChange(t *testing.T) {
	w := newWorld()
	w.Rollout.Plan.RolloutBatches = batchesOf(12, nil)
	c := newCluster(w)
	c.run(time.Hour, nil)
	if !c.in(Failed) {
		t.Fatalf("it is in %s", StateOf(&c.world.Rollout.Status))
	}
	c.edit(func(r *Rollout) { r.Plan.RolloutBatches = batchesOf(2, nil) })
	c.run(time.Hour, nil)
	if !c.in(Succeeded) {
		t.Errorf("it is in %s: %s", StateOf(&c.world.Rollout.Status), c.world.Rollout.Status.Message)
	}
}
