// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/apply"
)

// prepare takes the steps that come before a rollout, or those that come after its last batch, when the workloads are let go.
// What is refused keeps the engine waiting, and it says why.
func (r *Reconciler) prepare(ctx context.Context, object client.Object, o *observed) []apply.Outcome {
	w, steps := &o.world, o.subject.First
	if !w.Target.Held && (w.Source == nil || !w.Source.Held) {
		steps = append(steps, o.subject.Last...)
	}
	outcomes := r.others.Steps(ctx, object.GetUID(), steps)
	if err := apply.Errors(outcomes); err != nil {
		w.Blocked = apply.Cut(err.Error(), apply.NoteLimit)
	}
	return outcomes
}

// done tells whether steps were taken, and all of them.
func done(outcomes []apply.Outcome) bool {
	return len(outcomes) > 0 && apply.Errors(outcomes) == nil && !apply.Conflicts(outcomes)
}
