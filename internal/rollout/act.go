// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"slices"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/step"
)

// acted is what was done.
type acted struct {
	outcomes []apply.Outcome
	// written: the rollout itself was written, so that its status has to wait for the next look, which sees that.
	written bool
	// errands are the keys of those that are wanted.
	errands []string
}

// act does what was decided.
func (r *Reconciler) act(ctx context.Context, trait *rolloutv1alpha1.RolloutTrait, seen observed, next engine.Plan) (acted, error) {
	var own, others []step.Step
	var errs []error
	var did acted
	for _, action := range next.Actions {
		switch a := action.(type) {
		case engine.Enter:
			own = append(own, finalizers(trait, a.Because, append(slices.Clone(trait.Finalizers), rolloutv1alpha1.FinalizerRollout)))
		case engine.Leave:
			own = append(own, finalizers(trait, a.Because, slices.DeleteFunc(slices.Clone(trait.Finalizers), func(f string) bool {
				return f == rolloutv1alpha1.FinalizerRollout
			})))
		case engine.Invoke:
			did.errands = append(did.errands, a.Key)
			r.Errands.call(trait, a)
		case engine.Measure:
			did.errands = append(did.errands, a.Key)
			if err := r.Errands.sample(ctx, r.Live, trait, a); err != nil {
				errs = append(errs, err)
			}
		case engine.Hold, engine.Advance, engine.Resize, engine.BringBack, engine.Release:
			steps, err := adapter.Steps(seen.by[engine.SideOf(a)], adapter.HolderOf(trait), a)
			if err != nil {
				errs = append(errs, err)
			}
			others = append(others, steps...)
		}
	}
	did.written = len(own) > 0
	did.outcomes = r.own.Steps(ctx, trait.UID, own)
	if apply.Errors(did.outcomes) == nil && !apply.Conflicts(did.outcomes) {
		did.outcomes = append(did.outcomes, r.others.Steps(ctx, trait.UID, others)...)
	}
	return did, errors.Join(errs...)
}

func finalizers(trait *rolloutv1alpha1.RolloutTrait, why engine.Because, list []string) step.Step {
	return step.SetFinalizers{Because: step.Because(why), Target: step.On(trait), Object: &rolloutv1alpha1.RolloutTrait{}, Finalizers: list}
}
