// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// stale: the look was at an old view of the rollout, and nothing was done to workloads.
	stale bool
	// errands are the keys of those that are wanted.
	errands []string
}

// act does what was decided.
func (r *Reconciler) act(ctx context.Context, object client.Object, seen observed, next engine.Plan) (acted, error) {
	var own, others []step.Step
	var errs []error
	var did acted
	for _, action := range next.Actions {
		switch a := action.(type) {
		case engine.Enter:
			own = append(own, r.enters(object, a.Because))
		case engine.Leave:
			own = append(own, r.finalizers(object, a.Because, slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(f string) bool {
				return f == rolloutv1alpha1.FinalizerRollout
			})))
		case engine.Invoke:
			did.errands = append(did.errands, a.Key)
			r.Errands.call(&seen.world.Rollout, a)
		case engine.Measure:
			did.errands = append(did.errands, a.Key)
			if err := r.sample(ctx, &seen, a); err != nil {
				errs = append(errs, err)
			}
		case engine.Hold, engine.Unpause, engine.Mark, engine.Advance, engine.Resize, engine.BringBack, engine.Release:
			steps, err := adapter.Steps(seen.by[engine.SideOf(a)], r.holder(&seen), a)
			if err != nil {
				errs = append(errs, err)
			}
			others = append(others, steps...)
		}
	}
	did.written = len(own) > 0
	if len(others) > 0 && len(own) == 0 {
		current, err := r.isCurrent(ctx, object)
		if err != nil {
			return did, errors.Join(append(errs, err)...)
		}
		if did.stale = !current; did.stale {
			return did, errors.Join(errs...)
		}
	}
	did.outcomes = r.own.Steps(ctx, object.GetUID(), own)
	if apply.Errors(did.outcomes) == nil && !apply.Conflicts(did.outcomes) {
		did.outcomes = append(did.outcomes, r.others.Steps(ctx, object.GetUID(), others)...)
	}
	return did, errors.Join(errs...)
}

// isCurrent tells whether a rollout still is as this look has seen it. A write to the rollout itself names the version that it was decided
// on, and one to a workload cannot: a manager that has just started, with a view of before, would take what has been let go since, and
// let go what is held.
func (r *Reconciler) isCurrent(ctx context.Context, object client.Object) (bool, error) {
	live := r.kind.New()
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), live); apierrors.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("reading %s %s: %w", r.kind.ID().Kind, client.ObjectKeyFromObject(object), err)
	}
	return live.GetUID() == object.GetUID() && live.GetResourceVersion() == object.GetResourceVersion(), nil
}

// enters puts the finalizer on a rollout.
func (r *Reconciler) enters(object client.Object, why engine.Because) step.Step {
	return r.finalizers(object, why, append(slices.Clone(object.GetFinalizers()), rolloutv1alpha1.FinalizerRollout))
}

func (r *Reconciler) finalizers(object client.Object, why engine.Because, list []string) step.Step {
	return step.SetFinalizers{Because: step.Because(why), Target: step.On(object), Object: r.kind.New(), Finalizers: list}
}
