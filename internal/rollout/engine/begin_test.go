// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// What has found nothing to do has ended as well, and begins anew when something new is asked for.
func TestARolloutThatWasDoneAlreadyBeginsAnewForAnotherTarget(t *testing.T) {
	w := twoObjects(0)
	w.Target.Replicas, w.Target.Pods, w.Target.Ready, w.Target.Available = 4, 4, 4, 4
	w.Rollout.Plan.RolloutBatches = nil
	c := newCluster(w)
	c.run(10e9, nil)
	if !c.in(Succeeded) {
		t.Fatalf("it is in %s: %s", StateOf(&c.world.Rollout.Status), c.world.Rollout.Status.Message)
	}
	c.edit(func(r *Rollout) { r.Target, r.Source = older, &newer })
	c.world.Target, *c.world.Source = *c.world.Source, c.world.Target
	c.run(60e9, nil)
	if got := c.world.Target.Replicas; !c.in(Succeeded) || got != 4 {
		t.Errorf("it is in %s, and the new target has %d pods: %s", StateOf(&c.world.Rollout.Status), got, c.world.Rollout.Status.Message)
	}
}

// A status of before a change says that all pods are on the newest template. Who believes it takes a rollout for done that has
// not begun.
func TestAStatusThatIsBehindTheSpecIsWaitedFor(t *testing.T) {
	for sentence, w := range map[string]World{
		"a new template that the workload's controller has not seen": newWorld(), "a size that it has not seen": scaling(4, 4), "a source": twoObjects(3),
	} {
		t.Run(sentence, func(t *testing.T) {
			w.Target.Held, w.Target.Differs = false, false
			if w.Source != nil {
				w.Source.Seen = false
			} else {
				w.Target.Seen = false
			}
			p := Next(w, start)
			if got := StateOf(&p.Status); got != Verifying || p.Status.WaitingFor != rolloutv1alpha1.WaitingForWorkload || p.LookAgain == 0 {
				t.Errorf("got state %s, waiting for %q, looks again in %s: %s", got, p.Status.WaitingFor, p.LookAgain, p.Status.Message)
			}
		})
	}
}

// A workload of an application revision that is gone is nobody's to claim.
func TestWhatIsMissingBeforeTheClaimIsWaitedFor(t *testing.T) {
	for _, s := range []State{Locating, Verifying, Initializing} {
		t.Run(s.String(), func(t *testing.T) {
			w := newWorld()
			w.Rollout.Status, w.Blocked = started(s), "there is no revision"
			w.Target.Held, w.Target.Owner = false, "Application shop"
			p := Next(w, start)
			if got := StateOf(&p.Status); got != s || p.Status.WaitingFor != rolloutv1alpha1.WaitingForWorkload || p.Status.Message != "there is no revision" || len(p.Actions) > 0 || p.LookAgain == 0 {
				t.Errorf("got state %s, waiting for %q, %v: %s", got, p.Status.WaitingFor, p.Actions, p.Status.Message)
			}
		})
	}
}
