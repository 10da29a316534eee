// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/internal/application/revision"
)

// definitions are all that the application can use: those of its own namespace, and those of the system namespace that have no
// namesake there. All are read, and not only those that it names, so that people are told what there is.
func (r *Reconciler) definitions(ctx context.Context, app *oamv1beta1.Application) (render.Definitions, error) {
	d := render.Definitions{
		Components: map[string]oamv1beta1.ComponentDefinition{}, Traits: map[string]oamv1beta1.TraitDefinition{},
		Where: fmt.Sprintf("namespace %q or %q", app.Namespace, r.SystemNamespace),
	}
	for _, namespace := range []string{r.SystemNamespace, app.Namespace} {
		components, traits := &oamv1beta1.ComponentDefinitionList{}, &oamv1beta1.TraitDefinitionList{}
		for _, list := range []client.ObjectList{components, traits} {
			if err := r.Cache.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
				return d, fmt.Errorf("listing definitions in namespace %s: %w", namespace, err)
			}
		}
		for i := range components.Items {
			d.Components[components.Items[i].Name] = components.Items[i]
		}
		for i := range traits.Items {
			d.Traits[traits.Items[i].Name] = traits.Items[i]
		}
	}
	return d, nil
}

// revision is one of the application's, read live; nil when there is none, or it is somebody else's.
func (r *Reconciler) revision(ctx context.Context, app *oamv1beta1.Application, name string) (*oamv1beta1.ApplicationRevision, error) {
	found := &oamv1beta1.ApplicationRevision{}
	switch err := r.Live.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: name}, found); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading ApplicationRevision %s: %w", name, err)
	case !metav1.IsControlledBy(found, app):
		return nil, nil
	}
	return found, nil
}

// history is all that was recorded of the application. It is read live, and only when something is to be recorded.
func (r *Reconciler) history(ctx context.Context, app *oamv1beta1.Application) (revision.History, revision.Known, error) {
	h := revision.History{Application: app.Name, Taken: map[string]bool{}}
	var k revision.Known
	if latest := app.Status.LatestRevision; latest != nil {
		h.Highest = latest.Revision
	}
	snapshots, components := &oamv1beta1.ApplicationRevisionList{}, &appsv1.ControllerRevisionList{}
	if err := r.Live.List(ctx, snapshots, client.InNamespace(app.Namespace), client.MatchingLabels{oamv1beta1.LabelAppName: app.Name}); err != nil {
		return h, k, fmt.Errorf("listing revisions of the application: %w", err)
	}
	for i := range snapshots.Items {
		if snapshot := &snapshots.Items[i]; metav1.IsControlledBy(snapshot, app) {
			h.Own = append(h.Own, snapshot)
		} else {
			h.Taken[snapshot.Name] = true
		}
	}
	if err := r.Live.List(ctx, components, client.InNamespace(app.Namespace), client.MatchingLabels{oamv1beta1.LabelAppName: app.Name}); err != nil {
		return h, k, fmt.Errorf("listing revisions of components: %w", err)
	}
	for i := range components.Items {
		if metav1.IsControlledBy(&components.Items[i], app) {
			k.Stored = append(k.Stored, &components.Items[i])
		}
	}
	k.Snapshots = h.Own
	return h, k, nil
}
