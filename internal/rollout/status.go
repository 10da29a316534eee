// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/rollout/engine"
)

// report writes the status when anything in it has changed, and then tells people by events what was decided and done. A pass
// that has written the rollout itself leaves the status to the next one, which sees that.
func (r *Reconciler) report(ctx context.Context, trait *rolloutv1alpha1.RolloutTrait, next engine.Plan, did acted, now time.Time) error {
	defer apply.Tell(r.Events, trait, did.outcomes, nil)
	if did.written {
		return nil
	}
	if equality.Semantic.DeepEqual(trait.Status, next.Status) {
		r.Errands.keep(owner(trait), did.errands)
		r.meters.show(trait, &next.Status)
		return nil
	}
	after := trait.DeepCopy()
	after.Status = next.Status
	if err := r.own.Status(ctx, trait, after); err != nil {
		return err //nolint:wrapcheck // it names the object
	}
	r.meters.show(trait, &next.Status)
	r.meters.count(trait, &next.Status, now)
	r.Errands.keep(owner(trait), did.errands) // what the others have answered is stored now
	for _, n := range next.News {
		kind := corev1.EventTypeNormal
		if n.Bad {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(trait, nil, kind, n.Reason, "Plan", "%s", apply.Cut(n.Note, apply.NoteLimit))
	}
	return nil
}
