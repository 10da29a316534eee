// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/rollout/engine"
)

// report writes the status when anything in it has changed, and then tells people by events what was decided and done. A pass
// that has written the rollout itself leaves the status to the next one, which sees that.
func (r *Reconciler) report(ctx context.Context, object client.Object, seen observed, next engine.Plan, did acted, now time.Time) error {
	defer apply.Tell(r.Events, object, did.outcomes, nil)
	if did.written {
		return nil
	}
	rollout := &seen.world.Rollout
	if equality.Semantic.DeepEqual(rollout.Status, next.Status) {
		r.Errands.keep(owner(rollout), did.errands)
		r.meters.show(rollout, &next.Status)
		return nil
	}
	if err := r.own.Status(ctx, object, r.kind.WithStatus(object, next.Status)); err != nil {
		return err //nolint:wrapcheck // it names the object
	}
	r.meters.show(rollout, &next.Status)
	r.meters.count(rollout, &next.Status, now)
	r.Errands.keep(owner(rollout), did.errands) // what the others have answered is stored now
	for _, n := range next.News {
		kind := corev1.EventTypeNormal
		if n.Bad {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(object, nil, kind, n.Reason, "Plan", "%s", apply.Cut(n.Note, apply.NoteLimit))
	}
	return nil
}
