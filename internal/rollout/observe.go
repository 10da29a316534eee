// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/subject"
)

// observed is a world, with what it was read from.
type observed struct {
	subject subject.Subject
	world   engine.World
	by      map[engine.Side]adapter.Seen
}

// observe builds the world that one decision depends on. It reads only. A rollout that has ended looks at nothing.
func (r *Reconciler) observe(ctx context.Context, object client.Object, now time.Time) (observed, error) {
	o := observed{by: map[engine.Side]adapter.Seen{}}
	var err error
	if o.subject, err = r.kind.Subject(ctx, object); err != nil {
		return o, err //nolint:wrapcheck // it says what was read
	}
	o.world.Rollout = o.subject.Rollout
	target, source := o.world.Rollout.Looks()
	if o.world.Blocked = o.subject.Missing; o.world.Rollout.Status.RollingState.IsFinal() || target.Name == "" {
		return o, nil
	}
	if err := r.look(ctx, &o, engine.Target, target, now); err != nil {
		return o, err
	}
	o.world.Target = o.by[engine.Target].Workload
	if source != nil {
		if err := r.look(ctx, &o, engine.Source, *source, now); err != nil {
			return o, err
		}
		seen := o.by[engine.Source].Workload
		o.world.Source = &seen
	}
	r.Errands.answers(owner(&o.world.Rollout), &o.world, now)
	return o, nil
}

func (r *Reconciler) look(ctx context.Context, o *observed, side engine.Side, ref rolloutv1alpha1.WorkloadReference, now time.Time) error {
	rollout := &o.world.Rollout
	seen, err := r.Kinds.Observe(ctx, rollout.Namespace, ref, r.holder(o), adapter.AskOf(rollout), now)
	if err != nil {
		return err //nolint:wrapcheck // it names the workload
	}
	o.by[side] = seen
	if seen.Workload.Found {
		return r.watches.Watch(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	}
	return nil
}

func (r *Reconciler) holder(o *observed) adapter.Holder {
	return adapter.Holder{Kind: r.kind.ID(), Name: o.world.Rollout.Name, UID: o.world.Rollout.UID, Own: o.subject.Own}
}
