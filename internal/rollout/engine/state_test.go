// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// ways that every running state has lead out of it, and a state is never left for itself.
func TestEveryRunningStateCanBeEnded(t *testing.T) {
	for _, s := range States() {
		for _, e := range []Event{Broken, Superseded, Deleted} {
			to, known := Follow(s, e)
			switch {
			case s.runs() && s != Failing && s != Abandoning && !known:
				t.Errorf("%s has no way out when this is seen: %s", s, e)
			case known && to == s:
				t.Errorf("%s leads to itself when this is seen: %s", s, e)
			}
		}
	}
	if to, known := Follow(Failing, Superseded); !known || to != Abandoning {
		t.Errorf("a rollout that fails leads to %s when something newer is asked for, want %s", to, Abandoning)
	}
}

func TestAFinalStateIsLeftOnlyForWhatIsNewOrForDeletion(t *testing.T) {
	for _, s := range []State{Succeeded, Failed} {
		for _, e := range Events() {
			if _, known := Follow(s, e); known != (e == Asked || e == Deleted) {
				t.Errorf("%s and %q: way known is %t", s, e, known)
			}
		}
	}
}

func TestEveryStateCanBeReachedAndHasAnEnd(t *testing.T) {
	reached := map[State]bool{None: true}
	for range States() {
		for _, e := range Edges() {
			if reached[e.From] {
				reached[e.To] = true
			}
		}
	}
	for _, s := range States() {
		if !reached[s] {
			t.Errorf("%s cannot be reached", s)
		}
	}
}

// An event that a state does not have must end the rollout, tell both, and never panic.
func TestAnUnknownPairFailsTheRolloutAndNamesBoth(t *testing.T) {
	for _, s := range States() {
		for _, e := range Events() {
			t.Run(s.String()+" and "+string(e), func(t *testing.T) {
				w := newWorld()
				w.Rollout.Status = started(s)
				m := &machine{World: w, now: start, status: *w.Rollout.Status.DeepCopy()}
				m.move(verdict{event: e, why: "seen", reason: "Seen"})
				to, known := Follow(s, e)
				if known {
					if got := m.state(); got != to {
						t.Fatalf("got state %s, want %s", got, to)
					}
					return
				}
				if got := m.state(); got != Failing && got != Failed {
					t.Fatalf("got state %s, want one that fails", got)
				}
				f := m.status.Failure
				if f == nil || !contains(f.Message, s.String()) || !contains(f.Message, string(e)) {
					t.Fatalf("the failure does not name both: %+v", f)
				}
			})
		}
	}
}

// Whatever is seen in whatever state, a decision is made.
func TestEveryStateCanSeeEverything(t *testing.T) {
	for _, s := range States() {
		for name, spoil := range observations() {
			t.Run(s.String()+", "+name, func(t *testing.T) {
				w := newWorld()
				w.Rollout.Status = started(s)
				spoil(&w)
				p := Next(w, start.Add(time.Minute))
				if _, isOne := conditionOf[StateOf(&p.Status)]; !isOne {
					t.Errorf("it leads to the state %s, which nothing is said of", StateOf(&p.Status))
				}
				if f := p.Status.Failure; f != nil && f.Reason == "NoSuchWay" {
					t.Errorf("a handler has left by a way that there is not: %s", f.Message)
				}
				if again := Next(w, start.Add(time.Minute)); !equal(again, p) {
					t.Errorf("the same world gives another plan")
				}
			})
		}
	}
}

func TestAStateOfAnotherProgramEndsTheRollout(t *testing.T) {
	w := newWorld()
	w.Rollout.Status = started(BatchInRolling)
	w.Rollout.Status.BatchRollingState = "batchDancing"
	p := Next(w, start)
	if p.Status.RollingState != rolloutv1alpha1.RolloutFailingState || p.Status.Failure == nil || !contains(p.Status.Failure.Message, "batchDancing") {
		t.Errorf("got %s with %+v", StateOf(&p.Status), p.Status.Failure)
	}
}
