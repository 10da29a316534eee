// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// A server whose definition of a kind is older than the field that holds back pods drops it without a word. Who ends the pause in
// the same write lets all pods go.
func TestAPauseEndsOnlyOnceWhatHoldsBackPodsIsSeen(t *testing.T) {
	for sentence, prunes := range map[string]bool{"the partition is kept": false, "the partition is dropped": true} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld()
			w.Target.Paused = true
			c := newCluster(w)
			c.prunes = prunes
			c.run(time.Hour, func(c *cluster) {
				if w := &c.world.Target; !w.Paused && w.Held && w.Unkept != "" {
					t.Error("it is unpaused, and nothing holds back its pods")
				}
			})
			s := &c.world.Rollout.Status
			switch {
			case !prunes && (!c.in(Succeeded) || c.world.Target.Paused):
				t.Errorf("it is in %s, paused %t: %s", StateOf(s), c.world.Target.Paused, s.Message)
			case prunes && (!c.in(Failed) || !c.world.Target.Paused || c.world.Target.Updated > 0):
				t.Errorf("it is in %s, paused %t, %d pods are updated: %s", StateOf(s), c.world.Target.Paused, c.world.Target.Updated, s.Message)
			case prunes && !contains(s.Message, "the API server does not keep spec.strategy.partition of CloneSet shop"):
				t.Errorf("it does not say why: %s", s.Message)
			}
		})
	}
}

func TestOnlyThePauseThatIsInTheWayIsEnded(t *testing.T) {
	for sentence, c := range map[string]struct {
		world World
		spoil func(*World)
		want  map[Side]bool
	}{
		"in place":                            {newWorld(), func(w *World) { w.Target.Paused = true }, map[Side]bool{Target: true}},
		"the newer of two objects":            {twoObjects(3), func(w *World) { w.Target.Paused, w.Source.Paused = true, true }, map[Side]bool{Target: true}},
		"one that is scaled":                  {scaling(3, 5), func(w *World) { w.Target.Paused = true }, nil},
		"one that is not scaled while paused": {scaling(3, 5), func(w *World) { w.Target.Paused, w.Target.Frozen = true, true }, map[Side]bool{Target: true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.world.Rollout.Plan.RolloutBatches = nil
			c.spoil(&c.world)
			played, got := newCluster(c.world), map[Side]bool{}
			played.run(time.Minute, func(c *cluster) {
				for _, a := range Next(c.observed(), c.now).Actions {
					if u, is := a.(Unpause); is {
						got[u.On] = true
						if !c.in(Initializing) {
							t.Errorf("it is unpaused in %s", StateOf(&c.world.Rollout.Status))
						}
					}
				}
			})
			if len(got) != len(c.want) || got[Target] != c.want[Target] || !played.in(Succeeded) {
				t.Errorf("unpaused are %v, want %v; it is in %s", got, c.want, StateOf(&played.world.Rollout.Status))
			}
		})
	}
}

// A pause that a person has put on a workload since is theirs.
func TestAPauseInTheMiddleIsLeftAlone(t *testing.T) {
	for _, s := range []State{BatchInitializing, BatchInRolling, BatchVerifying, BatchFinalizing, BatchReady} {
		w := newWorld()
		w.Rollout.Status = started(s)
		w.Target.Paused, w.Target.Frozen = true, true
		for _, a := range Next(w, start.Add(time.Minute)).Actions {
			if _, is := a.(Unpause); is {
				t.Errorf("it is unpaused in %s", s)
			}
		}
	}
	if rolloutv1alpha1.InPlaceMode != started(BatchReady).Running.Mode {
		t.Error("the states above are not of a rollout in place")
	}
}
