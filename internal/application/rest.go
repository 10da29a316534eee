// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/owned"
)

// rest is what the last look has seen at which there was nothing to do and nothing new to say. As long as all of it is as it was,
// there is nothing at the next one either, and the server need not be asked.
type rest struct {
	// version is that of the application, rollout that of its AppRollout, and hash that of its content.
	version, rollout, hash string
	// objects are the versions of those that the application controls, and kinds all that they may be of.
	objects map[owned.Ref]string
	kinds   []schema.GroupVersionKind
}

// maxRemembered is how many bytes are remembered of a revision. Most have a few thousand; definitions may make as much as a store
// takes, and whoever writes those shall not fill the memory of the manager.
const maxRemembered = 32 << 10

// rested is what a look has seen that has found nothing to do; nil when the next one may see more without a change of any of this.
func rested(app *oamv1beta1.Application, hash string, w *plan.World) *rest {
	s := &rest{version: app.ResourceVersion, hash: hash, objects: map[owned.Ref]string{}}
	if w.Rollout != nil {
		s.rollout = w.Rollout.ResourceVersion
	}
	seen := func(objects ...*unstructured.Unstructured) {
		for _, o := range objects {
			if o != nil && metav1.IsControlledBy(o, app) {
				s.of(o.GroupVersionKind())
				s.objects[owned.Ref{Kind: o.GroupVersionKind().GroupKind(), Name: o.GetName()}] = o.GetResourceVersion()
			}
		}
	}
	for i := range w.Components {
		c := &w.Components[i]
		if c.Driven && len(c.Live) > 0 && !c.Healthy {
			return nil // what it waits for may be another object's
		}
		s.of(c.Workload.GroupVersionKind())
		for _, extra := range c.Extras {
			s.of(extra.GroupVersionKind())
		}
		seen(c.Live...)
		seen(c.LiveExtras...)
	}
	seen(w.Applied...)
	return s
}

func (s *rest) of(kind schema.GroupVersionKind) {
	if !slices.Contains(s.kinds, kind) {
		s.kinds = append(s.kinds, kind)
	}
}

// brief is what a look needs of a revision as long as there is nothing to do; nil when that is much. Who applies something reads all.
func brief(latest *oamv1beta1.ApplicationRevision) *oamv1beta1.ApplicationRevision {
	b := &oamv1beta1.ApplicationRevision{}
	b.Name, b.Namespace = latest.Name, latest.Namespace
	b.Spec.Revision = latest.Spec.Revision
	b.Spec.Application.Spec.Components = latest.Spec.Application.Spec.Components
	b.Spec.ComponentRevisions = latest.Spec.ComponentRevisions
	b.Spec.ComponentDefinitions = map[string]oamv1beta1.ComponentDefinition{}
	bytes := 0
	for name := range latest.Spec.ComponentDefinitions {
		if says := latest.Spec.ComponentDefinitions[name].Spec.Status; says != nil {
			b.Spec.ComponentDefinitions[name] = oamv1beta1.ComponentDefinition{Spec: oamv1beta1.ComponentDefinitionSpec{Status: says}}
			bytes += len(says.HealthPolicy) + len(says.CustomStatus)
		}
	}
	for i := range b.Spec.Application.Spec.Components {
		c := &b.Spec.Application.Spec.Components[i]
		if c.Properties != nil {
			bytes += len(c.Properties.Raw)
		}
		for j := range c.Traits {
			if c.Traits[j].Properties != nil {
				bytes += len(c.Traits[j].Properties.Raw)
			}
		}
	}
	for i := range b.Spec.ComponentRevisions {
		c := &b.Spec.ComponentRevisions[i]
		if c.Workload != nil {
			bytes += len(c.Workload.Raw)
		}
		for j := range c.Resources {
			bytes += len(c.Resources[j].Object.Raw)
		}
	}
	if bytes > maxRemembered {
		return nil
	}
	return b.DeepCopy() // and not a part of what was read, which would be kept with it
}

// rests tells whether all is as it was when there was nothing to do. It asks caches only, and never waits for them. Where one fails, the
// server is asked, and whoever does that has something to tell.
func (r *Reconciler) rests(ctx context.Context, app *oamv1beta1.Application, hash string, was *rest) bool {
	if was == nil || was.version != app.ResourceVersion || was.hash != hash {
		return false
	}
	rollout := &oamv1beta1.AppRollout{}
	err := r.Cache.Get(ctx, client.ObjectKeyFromObject(app), rollout, client.UnsafeDisableDeepCopy)
	if err != nil && !apierrors.IsNotFound(err) || rollout.ResourceVersion != was.rollout {
		return false
	}
	objects, shown, err := r.Shown(ctx, app, was.kinds)
	return err == nil && shown && maps.Equal(objects, was.objects)
}
