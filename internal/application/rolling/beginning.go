// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/application/live"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/rollout/subject"
	"slipway.dev/slipway/internal/step"
)

// beginning finds the workloads of a rollout that has not begun, and delivers the target's objects when it is time to. A pause
// holds them back.
func (k AppRollouts) beginning(ctx context.Context, r *oamv1beta1.AppRollout, s subject.Subject, delivers bool) (subject.Subject, error) {
	c, missing, err := k.resolve(ctx, r, s.Rollout.Revisions.Component)
	if err != nil {
		return s, err
	}
	if missing != "" {
		return wait(s, "%s", missing)
	}
	s.Rollout.Revisions.Component = c.target.component.Name
	s.Own = append(s.Own, c.app.UID)
	w, missing, err := k.workloads(ctx, r, c)
	if err != nil {
		return s, err
	}
	if missing != "" {
		return wait(s, "%s", missing)
	}
	s.Rollout.Target, s.Rollout.Source = w.target, w.source
	if s.Rollout.Plan.TargetSize == nil {
		s.Rollout.Plan.TargetSize = size(c, w)
	}
	if !delivers || r.Spec.RolloutPlan.Paused || w.seen.Workload.Owner != "" {
		return s, nil
	}
	done := still(c, w, r.Spec.RolloutPlan.TargetSize)
	if done {
		w.scalers = nil // nothing rests for a rollout that takes no pods
	}
	s.First, s.Missing, err = k.deliver(ctx, c, w)
	s.Holds = len(w.scalers) > 0 || w.seen.Object != nil && !w.pair && delivery.RevisionOf(w.seen.Object) != c.target.component.Revision
	if err == nil && s.Missing == "" && done {
		var more []step.Step
		more, err = k.beside(ctx, c, w)
		s.First = append(s.First, more...)
	}
	return s, err
}

// still tells whether both revisions have the same pods, or the source has none, and there are as many as there are to be: then the engine
// sees that all is done, and what follows a last batch would never come.
func still(c *change, w *workloads, size *int32) bool {
	lives := w.seen.Object
	return c.source != nil && (c.source.component.Revision == c.target.component.Revision || w.given()) && lives != nil &&
		delivery.RevisionOf(lives) == c.target.component.Revision && (size == nil || int(*size) == w.seen.Workload.Replicas)
}

// given tells whether the older of two workloads has given all its pods.
func (w *workloads) given() bool {
	return w.source != nil && slices.ContainsFunc(w.others, func(o *unstructured.Unstructured) bool {
		asked, has, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		pods, _, _ := unstructured.NestedInt64(o.Object, "status", "replicas")
		return o.GetName() == w.source.Name && has && asked == 0 && pods == 0
	})
}

// deliver applies what is not there yet of the target: what stands beside the workload first, then the workload, with no pod moved.
func (k AppRollouts) deliver(ctx context.Context, c *change, w *workloads) (steps []step.Step, missing string, err error) {
	why := step.Because("the rollout of " + c.target.revision.Name + " begins")
	var scalers []step.Step
	for _, extra := range c.target.component.Extras {
		lives, err := live.Object(ctx, k.Live, c.app.Namespace, extra.GroupVersionKind(), extra.GetName())
		if err != nil {
			return nil, "", err //nolint:wrapcheck // it names the object
		}
		switch scales := delivery.Scales(extra, c.target.component.Workload); {
		case lives != nil && !c.app.Owns(lives):
			return nil, foreign(lives, c), nil
		case lives != nil && delivery.Is(lives, c.target.revision.Name):
		case !scales:
			steps = append(steps, step.Apply{Because: why, Object: c.marked(c.target, extra)})
		case w.updates: // pods of one workload are updated: it may go on to scale that
			scalers = append(scalers, step.Apply{Because: why, Object: c.marked(c.target, extra)})
		}
	}
	steps = append(steps, k.rest(c, w)...)
	lives := w.seen.Object
	if lives != nil && !c.app.Owns(lives) {
		return nil, foreign(lives, c), nil
	}
	if lives == nil || !delivery.Is(lives, c.target.revision.Name) {
		rendered := c.target.component.Workload.DeepCopy()
		rendered.SetName(w.target.Name)
		if w.pair {
			delivery.Apart(rendered, lives, c.target.component.Revision)
		}
		another := lives == nil || delivery.RevisionOf(lives) != c.target.component.Revision
		o := c.marked(c.target, w.seen.Deliver(rendered, another, apply.FieldManager))
		if lives != nil {
			o.SetUID(lives.GetUID())
			o.SetResourceVersion(lives.GetResourceVersion())
		}
		steps = append(steps, step.Apply{Because: why, Object: o})
	}
	return append(steps, scalers...), "", nil
}

// rest has what scales the older of two workloads ask for no more pods than it finds reasons for.
func (k AppRollouts) rest(c *change, w *workloads) []step.Step {
	var steps []step.Step
	for _, scaler := range w.scalers {
		resting := c.marked(c.source, scaler.rendered)
		delivery.PointAt(resting, w.source.Name)
		delivery.Rest(resting)
		if !says(scaler.live, resting) {
			steps = append(steps, step.Apply{Because: "the rollout takes its pods, batch by batch", Object: resting})
		}
	}
	return steps
}

// marked is a copy of an object as one of the component in a revision.
func (c *change) marked(in *side, o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	c.app.Mark(o, in.revision.Name, &in.component)
	return o
}

func foreign(live *unstructured.Unstructured, c *change) string {
	return fmt.Sprintf("%s %s is there and is not Application %s's: delete it, or rename what the component makes", live.GetKind(), live.GetName(), c.app.Name)
}

func refTo(o *unstructured.Unstructured, name string) rolloutv1alpha1.WorkloadReference {
	return rolloutv1alpha1.WorkloadReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: name}
}

// size is how many pods there are to be at the end when nobody says it, and nothing but what is beside the workload has changed:
// as many as there are.
func size(c *change, w *workloads) *int32 {
	if c.source == nil || !w.pair || w.source != nil || w.seen.Object == nil {
		return nil
	}
	return ptr.To(int32(w.seen.Workload.Replicas))
}
