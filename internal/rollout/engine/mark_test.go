// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// Who takes the label off a held workload takes the watch away. It comes back, and until it has, the rollout looks by itself.
func TestAMarkThatIsGoneComesBack(t *testing.T) {
	for _, s := range []State{Initializing, BatchInitializing, BatchInRolling, BatchVerifying, BatchFinalizing, BatchReady, Failing, Deleting} {
		for what, spoil := range map[string]func(*World){
			"nothing special": func(*World) {},
			"it is paused":    func(w *World) { w.Rollout.Plan.Paused = true },
			"a hook waits":    withHooks(Call{Message: "503"}),
			"it reverts": func(w *World) {
				w.Rollout.Status.Ending, w.Rollout.Deleting, w.Rollout.RevertOnDelete = rolloutv1alpha1.RevertEnding, s == Deleting, true
			},
		} {
			t.Run(s.String()+", "+what, func(t *testing.T) {
				w := newWorld()
				w.Rollout.Status = started(s)
				w.Target.Unmarked = true
				spoil(&w)
				p := Next(w, start.Add(time.Minute))
				writes := 0
				for _, a := range p.Actions {
					if !changes(a, Target) {
						continue
					}
					if _, lets := a.(Release); lets {
						return
					}
					writes++
				}
				if writes != 1 || p.LookAgain == 0 || p.LookAgain > poll {
					t.Errorf("%d writes of the workload, looks again in %s: %v", writes, p.LookAgain, p.Actions)
				}
			})
		}
	}
}

func TestOnlyWhatIsHeldIsMarked(t *testing.T) {
	for sentence, c := range map[string]struct {
		state State
		spoil func(*World)
	}{
		"all is there":            {BatchVerifying, func(w *World) { w.Target.Unmarked = false }},
		"nothing is held yet":     {Verifying, func(w *World) { w.Target.Held = false }},
		"it was let go":           {Finalising, func(w *World) { w.Target.Held = false }},
		"it has ended":            {Succeeded, func(*World) {}},
		"the workload is no more": {BatchVerifying, func(w *World) { w.Target.Found = false }},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld()
			w.Rollout.Status = started(c.state)
			w.Target.Unmarked = true
			c.spoil(&w)
			for _, a := range Next(w, start.Add(time.Minute)).Actions {
				if _, marks := a.(Mark); marks {
					t.Errorf("it is marked: %s", a.Why())
				}
			}
		})
	}
}
