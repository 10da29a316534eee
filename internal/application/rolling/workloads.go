// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/application/live"
	"slipway.dev/slipway/internal/rollout/adapter"
)

// workloads are what the two sides of a change stand for.
type workloads struct {
	target rolloutv1alpha1.WorkloadReference
	source *rolloutv1alpha1.WorkloadReference
	// seen is the target as it lives.
	seen adapter.Seen
	// pair: the kind holds one version in each object. updates: the pods of one object are updated.
	pair, updates bool
	// scalers say how many pods the source has.
	scalers []scaler
	// others live beside the target, of the same component.
	others []*unstructured.Unstructured
}

// scaler is an object that scales a workload, as it was rendered and as it lives.
type scaler struct{ rendered, live *unstructured.Unstructured }

// workloads finds what both sides stand for.
func (k AppRollouts) workloads(ctx context.Context, r *oamv1beta1.AppRollout, c *change) (w *workloads, missing string, err error) {
	rendered := c.target.component.Workload
	if c.source != nil && c.source.component.Workload.GroupVersionKind().GroupKind() != rendered.GroupVersionKind().GroupKind() {
		return nil, fmt.Sprintf("component %s is a %s in %s and a %s in %s: pods cannot go from one to the other in batches; deploy it without a rolloutPlan",
			c.target.component.Name, c.source.component.Workload.GetKind(), c.source.revision.Name, rendered.GetKind(), c.target.revision.Name), nil
	}
	w = &workloads{target: refTo(rendered, nameOf(c.target))}
	if err := k.observe(ctx, r, c, w); err != nil {
		return nil, "", err
	}
	if w.seen.Kind == nil {
		return nil, w.seen.Workload.Unfit, nil
	}
	if w.pair = !adapter.HoldsTwoVersions(w.seen.Kind); !w.pair {
		w.updates = c.source != nil
		return w, "", nil
	}
	return w, "", k.apart(ctx, r, c, w)
}

func (k AppRollouts) observe(ctx context.Context, r *oamv1beta1.AppRollout, c *change, w *workloads) (err error) {
	holder := adapter.Holder{Kind: k.ID(), Name: r.Name, UID: r.UID, Own: []types.UID{c.app.UID}}
	w.seen, err = k.Kinds.Observe(ctx, r.Namespace, w.target, holder, adapter.Ask{}, k.Clock.Now())
	return err //nolint:wrapcheck // it names the workload
}

// apart finds the objects of a component that has one for each of its revisions. One that was deployed without a rolloutPlan is
// called like the component; its label says which revision it has.
func (k AppRollouts) apart(ctx context.Context, r *oamv1beta1.AppRollout, c *change, w *workloads) error {
	all, err := live.Workloads(ctx, k.Live, c.app, c.target.component.Workload.GroupVersionKind(), c.target.component.Name)
	if err != nil {
		return err //nolint:wrapcheck // it names the component
	}
	w.target.Name = c.target.component.Revision
	for _, o := range all {
		switch revision := delivery.RevisionOf(o); {
		case revision == c.target.component.Revision:
			w.target.Name = o.GetName()
			continue
		case c.source != nil && revision == c.source.component.Revision:
			ref := refTo(o, o.GetName())
			w.source = &ref
		}
		w.others = append(w.others, o)
	}
	if err := k.observe(ctx, r, c, w); err != nil {
		return err
	}
	if c.source == nil {
		return nil
	}
	if w.source == nil && c.source.component.Revision != c.target.component.Revision {
		ref := refTo(c.source.component.Workload, c.source.component.Revision) // it is missing, and the engine says so
		w.source = &ref
	}
	if w.source == nil {
		return nil
	}
	for _, extra := range c.source.component.Extras {
		if !delivery.Scales(extra, c.source.component.Workload) {
			continue
		}
		o, err := live.Object(ctx, k.Live, c.app.Namespace, extra.GroupVersionKind(), extra.GetName())
		if err != nil {
			return err //nolint:wrapcheck // it names the object
		}
		if o != nil && c.app.Owns(o) {
			w.scalers = append(w.scalers, scaler{extra, o})
		}
	}
	return nil
}

// nameOf is what the workload of a kind that holds two versions is called.
func nameOf(s *side) string {
	if name := s.component.Workload.GetName(); name != "" {
		return name
	}
	return s.component.Name
}

// says tells whether what lives already refers to the same workload, with the same lower bound.
func says(live, wanted *unstructured.Unstructured) bool {
	for _, at := range [][]string{{"spec", "scaleTargetRef", "name"}, {"spec", "minReplicas"}} {
		is, _, _ := unstructured.NestedFieldNoCopy(live.Object, at...)
		shall, _, _ := unstructured.NestedFieldNoCopy(wanted.Object, at...)
		if shall != nil && is != shall {
			return false
		}
	}
	return true
}
