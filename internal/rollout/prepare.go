// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/step"
)

// prepare takes the steps that come before a rollout, or those that come after its last batch, when the workloads are let go.
// Before the first ones that hold something back the rollout has its finalizer, so that it cannot go without letting go.
// What is refused keeps the engine waiting, and it says why. With an old view of the rollout nothing is done, and the error is
// errOld: it could bring back what something newer has taken the place of.
func (r *Reconciler) prepare(ctx context.Context, object client.Object, o *observed) ([]apply.Outcome, error) {
	w, hands := &o.world, r.others
	steps, err := o.subject.Steps(ctx, w)
	switch {
	case apierrors.IsForbidden(err): // only a person can help
		w.Blocked = apply.Cut(err.Error(), apply.NoteLimit)
	case err != nil:
		return nil, err //nolint:wrapcheck // it says what was read
	}
	if len(o.subject.First) > 0 && o.subject.Holds && !w.Rollout.Finalizer {
		steps, hands = []step.Step{r.enters(object, "what it is about to hold back has to be let go before it goes")}, r.own
	} else if len(steps) > 0 {
		switch current, err := r.isCurrent(ctx, object); {
		case err != nil:
			return nil, err
		case !current:
			return nil, errOld
		}
	}
	outcomes := hands.Steps(ctx, object.GetUID(), steps)
	if err := apply.Errors(outcomes); err != nil {
		w.Blocked = apply.Cut(err.Error(), apply.NoteLimit)
	}
	return outcomes, nil
}

// errOld says that the view of a rollout is old. What is newer is on its way to the cache.
var errOld = errors.New("the view of the rollout is old")

// looksAgain is how soon to look at what steps have changed; 0 when there were none, or what was refused has to be told. Nothing is
// decided before that look: a rollout that began without what comes before it would move pods to something else.
func looksAgain(outcomes []apply.Outcome) time.Duration {
	switch {
	case len(outcomes) == 0 || apply.Errors(outcomes) != nil:
		return 0
	case apply.Conflicts(outcomes): // the view was old
		return afterConflict
	}
	return time.Millisecond
}

// afterConflict is how soon to look again when the view was old.
const afterConflict = 100 * time.Millisecond
