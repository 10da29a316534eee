// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/application/live"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
)

// observe builds the world that the deployment of a revision depends on. It reads only.
func (r *Reconciler) observe(ctx context.Context, app *oamv1beta1.Application, latest *oamv1beta1.ApplicationRevision) (plan.World, error) {
	w := plan.World{App: app, Latest: latest.Name, Managers: append([]string{apply.FieldManager}, r.Managers...)}
	if err := r.rollout(ctx, app, &w); err != nil {
		return w, err
	}
	for i := range latest.Spec.ComponentRevisions {
		rendered, err := delivery.Read(&latest.Spec.ComponentRevisions[i])
		if err != nil {
			return w, fmt.Errorf("reading ApplicationRevision %s: %w", latest.Name, err)
		}
		c := plan.Component{Component: rendered}
		if err := r.component(ctx, app, &w, &c); err != nil {
			return w, err
		}
		w.Components = append(w.Components, c)
	}
	for i := range app.Status.AppliedResources {
		a := &app.Status.AppliedResources[i]
		o := read(&w, a) // most is in the latest revision too
		if o == nil {
			var err error
			if o, err = r.live(ctx, app.Namespace, schema.FromAPIVersionAndKind(a.APIVersion, a.Kind), a.Name); err != nil {
				return w, err
			}
		}
		if o != nil && (a.UID == "" || a.UID == o.GetUID()) {
			w.Applied = append(w.Applied, o)
		}
	}
	return w, nil
}

// read is an object that belongs to a component and was read with it; nil for none.
func read(w *plan.World, a *oamv1beta1.AppliedResource) *unstructured.Unstructured {
	for i := range w.Components {
		for _, o := range slices.Concat(w.Components[i].Live, w.Components[i].LiveExtras) {
			if o != nil && o.GetAPIVersion() == a.APIVersion && o.GetKind() == a.Kind && o.GetName() == a.Name {
				return o
			}
		}
	}
	return nil
}

// rollout finds the AppRollout of the application's own name. An application that never had a plan has none that we made: it
// takes our finalizer first. So the cache, which may be late, is good enough for those, which are most.
func (r *Reconciler) rollout(ctx context.Context, app *oamv1beta1.Application, w *plan.World) error {
	from := r.Live
	if app.Spec.RolloutPlan == nil && !slices.Contains(app.Finalizers, oamv1beta1.FinalizerApplication) {
		from = r.Cache
	}
	rollout := &oamv1beta1.AppRollout{}
	switch err := from.Get(ctx, client.ObjectKeyFromObject(app), rollout); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading AppRollout %s: %w", app.Name, err)
	}
	w.Rollout = rollout
	if !metav1.IsControlledBy(rollout, app) {
		w.Someone = "somebody else"
		if of := metav1.GetControllerOf(rollout); of != nil {
			w.Someone = of.Kind + " " + of.Name
		}
	}
	return nil
}

// component finds out how a component lives.
func (r *Reconciler) component(ctx context.Context, app *oamv1beta1.Application, w *plan.World, c *plan.Component) error {
	of := delivery.Application{Namespace: app.Namespace, Name: app.Name, UID: app.UID}
	for _, extra := range c.Extras {
		live, err := r.live(ctx, app.Namespace, extra.GroupVersionKind(), extra.GetName())
		if err != nil {
			return err
		}
		c.LiveExtras = append(c.LiveExtras, live)
	}
	if err := r.workloads(ctx, of, c); err != nil {
		return err
	}
	name := c.Workload.GetName()
	current := plan.Current(c)
	if current != nil {
		name = current.GetName()
	}
	seen, err := r.seen(ctx, app, c, name, current)
	if err != nil {
		return err //nolint:wrapcheck // it names the workload
	}
	if c.Driven = seen.Kind != nil; c.Driven {
		c.Versions = adapter.HoldsTwoVersions(seen.Kind)
		c.Size, c.Sized = adapter.Size(seen.Kind, c.Workload)
	}
	if current == nil || seen.Object == nil {
		return nil
	}
	live := seen.Workload
	c.Healthy = live.Seen && !live.Differs && live.Pods == live.Replicas && live.Available >= live.Replicas && delivery.RevisionOf(seen.Object) == c.Revision
	c.Mixed = c.Versions && live.Seen && live.Differs
	c.Even = c.Versions && live.Seen && !live.Differs && live.Pods == live.Replicas
	if !c.Healthy {
		c.Waits = waits(live)
	}
	c.Released = c.Workload.DeepCopy()
	c.Released.SetName(name)
	if c.Driven && !c.Versions {
		delivery.Apart(c.Released, current, c.Revision)
	}
	c.Settled = seen.Deliver(c.Released, false, apply.FieldManager)
	if live.Owner == "" { // who holds it says how far its pods go
		c.Opened = seen.Opened(c.Workload, w.Managers...)
	}
	return nil
}

// seen is how the workload of a component looks to whoever rolls it out. One that was just read is not read again.
func (r *Reconciler) seen(ctx context.Context, app *oamv1beta1.Application, c *plan.Component, name string, current *unstructured.Unstructured) (adapter.Seen, error) {
	by := adapter.Holder{Own: []types.UID{app.UID}}
	if current != nil {
		return r.Kinds.ObserveObject(ctx, current.DeepCopy(), by, adapter.Ask{Looks: true}, r.Clock.Now()) //nolint:wrapcheck // it names the workload
	}
	id := c.Workload.GroupVersionKind()
	ref := rolloutv1alpha1.WorkloadReference{APIVersion: id.GroupVersion().String(), Kind: id.Kind, Name: name}
	return r.Kinds.Observe(ctx, app.Namespace, ref, by, adapter.Ask{Looks: true}, r.Clock.Now()) //nolint:wrapcheck // as above
}

// workloads finds those of a component, by their labels; and who has the name that one would have.
func (r *Reconciler) workloads(ctx context.Context, of delivery.Application, c *plan.Component) error {
	var err error
	if c.Live, err = live.Workloads(ctx, r.Live, of, c.Workload.GroupVersionKind(), c.Name); err != nil || len(c.Live) > 0 {
		return err //nolint:wrapcheck // it names the component
	}
	c.Named, err = r.live(ctx, of.Namespace, c.Workload.GroupVersionKind(), c.Workload.GetName())
	return err
}

// live is an object as it stands in the cluster; nil for none.
func (r *Reconciler) live(ctx context.Context, namespace string, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	return live.Object(ctx, r.Live, namespace, kind, name) //nolint:wrapcheck // it names the object
}

// waits says what a workload lacks.
func waits(w engine.Workload) string {
	said := fmt.Sprintf("%d of %d pods are available", w.Available, w.Replicas)
	if w.Busy != "" {
		said = w.Busy + "; " + said
	}
	if w.Waits != "" {
		said += "; " + w.Waits
	}
	return said
}
