// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/test/simulation/api"
)

// TestAnOldViewOfARolloutMovesNothing has a manager start with each view of the rollout that there ever was. What it has done in its
// former life it must neither do again nor undo.
func TestAnOldViewOfARolloutMovesNothing(t *testing.T) {
	for _, of := range subjects {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			for view := range len(ended(t, of, Hooks{}).Server.History(api.RolloutTraits)) {
				if err := restarted(ended(t, of, Hooks{}), view); err != nil {
					t.Errorf("with view %d: %v", view, err)
				}
			}
		})
	}
}

// TestAnOldViewThatIsBelievedIsCaught has a manager read rollouts from its cache also where it is to read them live.
func TestAnOldViewThatIsBelievedIsCaught(t *testing.T) {
	of := subjects[0]
	mutation := Hooks{Dependencies: func(d *rollout.Dependencies) { d.Live = believing{d.Live, d.Cache} }}
	for view := range len(ended(t, of, mutation).Server.History(api.RolloutTraits)) {
		if restarted(ended(t, of, mutation), view) != nil {
			return
		}
	}
	t.Error("nothing shows it")
}

// believing reads rollouts from the cache only.
type believing struct {
	client.Reader
	cache client.Reader
}

func (b believing) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, is := o.(*rolloutv1alpha1.RolloutTrait); is {
		return b.cache.Get(ctx, key, o, opts...)
	}
	return b.Reader.Get(ctx, key, o, opts...)
}

// restarted says what a manager breaks that starts with an old view of a rollout that has ended.
func restarted(s *telling, view int) error {
	s.Manager.Start(func(stored api.Kind) int {
		if stored == api.RolloutTraits {
			return view
		}
		return len(s.Server.History(stored))
	})
	before := s.World.Summary()
	for len(s.Manager.Queued()) > 0 { // nothing is delivered meanwhile
		if err := s.Manager.Reconcile(); err != nil {
			return err
		}
	}
	if err := firstOf(clean(s.World), s.Rest(), clean(s.World)); err != nil {
		return err
	}
	if after := s.World.Summary(); after != before {
		return fmt.Errorf("there is %s, and there was %s", after, before)
	}
	return nil
}

// ended is a world in which a rollout has succeeded.
func ended(t *testing.T, of subject, mutation Hooks) *telling {
	t.Helper()
	s := carriedOut(t, of, rollsOut, mutation)
	if state := s.trait().Status.RollingState; state != rolloutv1alpha1.RolloutSucceedState {
		t.Fatalf("it ends as %s", state)
	}
	return s
}

// carriedOut is a world in which nobody has disturbed a rollout.
func carriedOut(t *testing.T, of subject, op operation, mutation Hooks) *telling {
	t.Helper()
	s := &telling{newSimulation(of, mutation), op}
	s.make()
	if err := s.Rest(); err != nil {
		t.Fatal(err)
	}
	s.begin(story{})
	if err := s.Rest(); err != nil {
		t.Fatal(err)
	}
	return s
}
