// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/internal/step"
)

// ending finds out what is left to do when a rollout has let its workloads go. A rollout ends also when the revisions are gone:
// then nothing is known of what they had, and it stays.
func (k AppRollouts) ending(ctx context.Context, r *oamv1beta1.AppRollout, s rollout.Subject, succeeds bool) (rollout.Subject, error) {
	running := r.Status.Running
	if running == nil || running.SourceAppRevision == "" && !succeeds {
		return s, nil
	}
	ran := r.DeepCopy() // the spec may name others by now
	ran.Spec.TargetAppRevisionName, ran.Spec.SourceAppRevisionName = running.TargetAppRevision, running.SourceAppRevision
	c, missing, err := k.resolve(ctx, ran, running.Component)
	if err != nil || missing != "" {
		return s, err
	}
	w, missing, err := k.workloads(ctx, ran, c)
	if err != nil || missing != "" {
		return s, err
	}
	if succeeds {
		s.Last, err = k.replaced(ctx, c, w)
	} else {
		s.Last = append(k.wake(c, w), k.back(r, c, w)...)
	}
	return s, err
}

// replaced has the target scaled by what is to scale it, and takes away what only the source had.
func (k AppRollouts) replaced(ctx context.Context, c *change, w *workloads) ([]step.Step, error) {
	var steps []step.Step
	for _, extra := range c.target.component.Extras {
		if !delivery.Scales(extra, c.target.component.Workload) {
			continue
		}
		live, err := k.live(ctx, c.app.Namespace, extra)
		if err != nil {
			return nil, err
		}
		wanted := c.marked(c.target, extra)
		delivery.PointAt(wanted, w.target.Name)
		if live == nil || c.app.Owns(live) && (!delivery.Is(live, c.target.revision.Name) || !says(live, wanted)) {
			steps = append(steps, step.Apply{Because: "the target has all pods", Object: wanted})
		}
	}
	for i := range w.others {
		steps = append(steps, remove(&w.others[i], "its pods are replaced"))
	}
	if c.source == nil {
		return steps, nil
	}
	for _, extra := range c.source.component.Extras {
		if slices.ContainsFunc(c.target.component.Extras, func(o *unstructured.Unstructured) bool { return same(o, extra) }) {
			continue
		}
		live, err := k.live(ctx, c.app.Namespace, extra)
		if err != nil {
			return nil, err
		}
		if live != nil && live.GetDeletionTimestamp() == nil && c.app.Owns(live) {
			steps = append(steps, remove(live, step.Because("component "+c.target.component.Name+" has it no longer in "+c.target.revision.Name)))
		}
	}
	return steps, nil
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
// that template already, so no pod moves.
func (k AppRollouts) back(r *oamv1beta1.AppRollout, c *change, w *workloads) []step.Step {
	live := w.seen.Object
	if w.pair || r.Status.Ending != rolloutv1alpha1.RevertEnding || live == nil || w.seen.Workload.Held || !delivery.Is(live, c.target.revision.Name) {
		return nil
	}
	o := c.marked(c.source, w.seen.Deliver(c.source.component.Workload, false, apply.FieldManager))
	o.SetName(live.GetName())
	o.SetUID(live.GetUID())
	o.SetResourceVersion(live.GetResourceVersion())
	return []step.Step{step.Apply{Because: step.Because("it is back on " + c.source.revision.Name), Object: o}}
}

func remove(live *unstructured.Unstructured, why step.Because) step.Step {
	return step.DeleteSet{Because: why, Target: step.On(live), Set: live}
}

func same(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind() && a.GetName() == b.GetName()
}
