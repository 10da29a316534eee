// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/application/plan"
)

// strays are objects of the application that neither its status nor its latest revision has. A manager can die between a write and
// its status, and a rollout can bring objects of a revision that another one takes the place of before anybody has looked. They are
// found by their label, among the kinds that any revision of the application has and that may be read: of others it has made none.
func (r *Reconciler) strays(ctx context.Context, app *oamv1beta1.Application, w *plan.World) ([]*unstructured.Unstructured, error) {
	history, _, err := r.history(ctx, app)
	if err != nil {
		return nil, err
	}
	var kinds []schema.GroupVersionKind
	for _, recorded := range history.Own {
		for i := range recorded.Spec.ComponentRevisions {
			rendered, _ := delivery.Read(&recorded.Spec.ComponentRevisions[i]) // it has what was read until then, and the rest was never applied
			for _, o := range append(rendered.Extras, rendered.Workload) {
				if o != nil && !slices.Contains(kinds, o.GroupVersionKind()) {
					kinds = append(kinds, o.GroupVersionKind())
				}
			}
		}
	}
	var found []*unstructured.Unstructured
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		switch err := r.Live.List(ctx, list, client.InNamespace(app.Namespace), client.MatchingLabels{oamv1beta1.LabelAppName: app.Name}); {
		case apimeta.IsNoMatchError(err), apierrors.IsForbidden(err):
		case err != nil:
			return nil, fmt.Errorf("listing what the application has of kind %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			if o := &list.Items[i]; w.Owns(o) && !isKnown(w, o) {
				found = append(found, o)
			}
		}
	}
	return found, nil
}

// isKnown tells whether an object was read for the decision already.
func isKnown(w *plan.World, o *unstructured.Unstructured) bool {
	same := func(known *unstructured.Unstructured) bool {
		return known != nil && delivery.KeyOf(known) == delivery.KeyOf(o)
	}
	return slices.ContainsFunc(w.Applied, same) || slices.ContainsFunc(w.Components, func(c plan.Component) bool {
		return slices.ContainsFunc(c.Live, same) || slices.ContainsFunc(c.LiveExtras, same)
	})
}
