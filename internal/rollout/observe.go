// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
)

// observed is a world, with the workloads that it was read from.
type observed struct {
	world engine.World
	by    map[engine.Side]adapter.Seen
}

// observe builds the world that one decision depends on. It reads only. A rollout that has ended looks at nothing.
func (r *Reconciler) observe(ctx context.Context, trait *rolloutv1alpha1.RolloutTrait, now time.Time) (observed, error) {
	o := observed{world: engine.World{Rollout: adapter.RolloutOf(trait)}, by: map[engine.Side]adapter.Seen{}}
	if trait.Status.RollingState.IsFinal() {
		return o, nil
	}
	target, source := o.world.Rollout.Looks()
	if err := r.look(ctx, trait, &o, engine.Target, target, now); err != nil {
		return o, err
	}
	o.world.Target = o.by[engine.Target].Workload
	if source != nil {
		if err := r.look(ctx, trait, &o, engine.Source, *source, now); err != nil {
			return o, err
		}
		seen := o.by[engine.Source].Workload
		o.world.Source = &seen
	}
	r.Errands.answers(owner(trait), &o.world, now)
	return o, nil
}

func (r *Reconciler) look(ctx context.Context, trait *rolloutv1alpha1.RolloutTrait, o *observed, side engine.Side,
	ref rolloutv1alpha1.WorkloadReference, now time.Time) error {
	seen, err := r.Kinds.Observe(ctx, trait.Namespace, ref, adapter.HolderOf(trait), adapter.AskOf(trait), now)
	if err != nil {
		return err //nolint:wrapcheck // it names the workload
	}
	o.by[side] = seen
	if seen.Workload.Found {
		return r.watches.of(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	}
	return nil
}
