// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"context"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/application/live"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/step"
)

// ending finds out what is left to do when a rollout has let its workloads go. A rollout ends also when the revisions are gone:
// then nothing is known of what they had, and it stays.
func (k AppRollouts) ending(ctx context.Context, r *oamv1beta1.AppRollout, succeeds bool) ([]step.Step, error) {
	ran, was := r.DeepCopy(), *asked(r)
	if running := r.Status.Running; running != nil {
		was = revisionsOf(running) // the spec may name others by now
	}
	if was.Source == "" && !succeeds {
		return nil, nil
	}
	ran.Spec.TargetAppRevisionName, ran.Spec.SourceAppRevisionName = was.Target, was.Source
	c, missing, err := k.resolve(ctx, ran, was.Component)
	if err != nil || missing != "" {
		return nil, err
	}
	w, missing, err := k.workloads(ctx, ran, c)
	if err != nil || missing != "" {
		return nil, err
	}
	if !succeeds {
		return append(k.wake(c, w), k.back(r, c, w)...), nil
	}
	steps, err := k.beside(ctx, c, w)
	if c.source != nil { // a scale takes no pods from others
		for _, other := range w.others {
			steps = append(steps, step.Delete(other, "its pods are replaced"))
		}
	}
	return steps, err
}

// beside has the target scaled by what is to scale it, and takes away what only the source had.
func (k AppRollouts) beside(ctx context.Context, c *change, w *workloads) ([]step.Step, error) {
	var steps []step.Step
	for _, extra := range c.target.component.Extras {
		if !delivery.Scales(extra, c.target.component.Workload) {
			continue
		}
		lives, err := live.Object(ctx, k.Live, c.app.Namespace, extra.GroupVersionKind(), extra.GetName())
		if err != nil {
			return nil, err //nolint:wrapcheck // it names the object
		}
		wanted := c.marked(c.target, extra)
		delivery.PointAt(wanted, w.target.Name)
		if lives == nil || c.app.Owns(lives) && (!delivery.Is(lives, c.target.revision.Name) || !says(lives, wanted)) {
			steps = append(steps, step.Apply{Because: "the target has all pods", Object: wanted})
		}
	}
	if c.source == nil {
		return steps, nil
	}
	kept := c.target.extras()
	for _, extra := range c.source.component.Extras {
		if kept[delivery.KeyOf(extra)] {
			continue
		}
		lives, err := live.Object(ctx, k.Live, c.app.Namespace, extra.GroupVersionKind(), extra.GetName())
		if err != nil {
			return nil, err //nolint:wrapcheck // it names the object
		}
		if lives != nil && lives.GetDeletionTimestamp() == nil && c.app.Owns(lives) {
			steps = append(steps, step.Delete(lives, step.Because("component "+c.target.component.Name+" has it no longer in "+c.target.revision.Name)))
		}
	}
	return steps, nil
}

// extras are those that the revision has, of any component: an object can move from one to another. A component that cannot be
// read has none.
func (s *side) extras() map[delivery.Key]bool {
	has := map[delivery.Key]bool{}
	for i := range s.revision.Spec.ComponentRevisions {
		of, _ := delivery.Read(&s.revision.Spec.ComponentRevisions[i]) // it has what was read until then
		for _, extra := range of.Extras {
			has[delivery.KeyOf(extra)] = true
		}
	}
	return has
}

// wake gives what scales the source its bounds back.
func (k AppRollouts) wake(c *change, w *workloads) []step.Step {
	var steps []step.Step
	for _, scaler := range w.scalers {
		wanted := c.marked(c.source, scaler.rendered)
		delivery.PointAt(wanted, w.source.Name)
		if !says(scaler.live, wanted) {
			steps = append(steps, step.Apply{Because: "the rollout has ended, and the source keeps its pods", Object: wanted})
		}
	}
	return steps
}

// back has a workload that was brought back to the template of the source say so, or it would be taken for the target. It has
// that template already, mostly; else its pods are held, so that none moves. One that no pod has left yet goes back whole: nobody else
// would ever let its pods go on to the target.
func (k AppRollouts) back(r *oamv1beta1.AppRollout, c *change, w *workloads) []step.Step {
	live := w.seen.Object
	if w.pair || live == nil || w.seen.Workload.Going || w.seen.Workload.Held || w.seen.Workload.Owner != "" || !delivery.Is(live, c.target.revision.Name) {
		return nil
	}
	if r.Status.Ending != rolloutv1alpha1.RevertEnding && (isTakenUp(r, c) || !isUntouched(c, w)) {
		return nil
	}
	another := !w.seen.Has(c.source.component.Workload) // its pods had never all come to the source, and are back where they were before
	o := c.marked(c.source, w.seen.Deliver(c.source.component.Workload, another, apply.FieldManager))
	o.SetName(live.GetName())
	o.SetUID(live.GetUID())
	o.SetResourceVersion(live.GetResourceVersion())
	return []step.Step{step.Apply{Because: step.Because("it is back on " + c.source.revision.Name), Object: o}}
}

// isTakenUp tells whether a rollout begins anew with the same component: then its workload is taken on from where it is.
func isTakenUp(r *oamv1beta1.AppRollout, c *change) bool {
	asks := asked(r).Component
	return r.Status.RollingState == rolloutv1alpha1.RolloutAbandoningState && (asks == "" || asks == c.target.component.Name)
}

// isUntouched tells whether a workload has the template of the target as it was delivered, and no pod has it, or may have.
func isUntouched(c *change, w *workloads) bool {
	return w.seen.Workload.Asked == 0 && w.seen.Workload.Updated == 0 && w.seen.Has(c.target.component.Workload)
}
