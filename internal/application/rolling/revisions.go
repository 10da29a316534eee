// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
)

// change is a component in both revisions. Source is nil for a scale.
type change struct {
	app            delivery.Application
	target, source *side
}

// side is a component in one revision.
type side struct {
	revision  *oamv1beta1.ApplicationRevision
	component delivery.Component
}

// resolve reads both revisions, and finds the component in them. What is missing is said.
func (k AppRollouts) resolve(ctx context.Context, r *oamv1beta1.AppRollout, component string) (c *change, missing string, err error) {
	target, missing, err := k.read(ctx, r.Namespace, r.Spec.TargetAppRevisionName)
	if err != nil || missing != "" {
		return nil, missing, err
	}
	var source *oamv1beta1.ApplicationRevision
	if name := r.Spec.SourceAppRevisionName; name != "" {
		if source, missing, err = k.read(ctx, r.Namespace, name); err != nil || missing != "" {
			return nil, missing, err
		}
		if of, other := metav1.GetControllerOf(target), metav1.GetControllerOf(source); of.UID != other.UID {
			return nil, fmt.Sprintf("ApplicationRevision %s is of Application %s, and %s is of %s: both have to be of one", target.Name, of.Name, source.Name, other.Name), nil
		}
	}
	if component == "" {
		if component, missing = only(target, source); missing != "" {
			return nil, missing, nil
		}
	}
	of := metav1.GetControllerOf(target)
	c = &change{app: delivery.Application{Namespace: r.Namespace, Name: of.Name, UID: of.UID}}
	if c.target, missing = sideOf(target, component); missing == "" && source != nil {
		c.source, missing = sideOf(source, component)
	}
	return c, missing, nil
}

func (k AppRollouts) read(ctx context.Context, namespace, name string) (*oamv1beta1.ApplicationRevision, string, error) {
	revision := &oamv1beta1.ApplicationRevision{}
	switch err := k.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, revision); {
	case apierrors.IsNotFound(err):
		return nil, fmt.Sprintf("there is no ApplicationRevision %s in namespace %s", name, namespace), nil
	case err != nil:
		return nil, "", fmt.Errorf("reading ApplicationRevision %s: %w", name, err)
	}
	of := metav1.GetControllerOf(revision)
	if of == nil || of.Kind != oamv1beta1.ApplicationKind {
		return nil, fmt.Sprintf("ApplicationRevision %s is of no Application: it has no controller owner of that kind", name), nil
	}
	return revision, "", nil
}

func sideOf(of *oamv1beta1.ApplicationRevision, component string) (s *side, missing string) {
	c, has, err := delivery.Find(of, component)
	switch {
	case err != nil: // a revision does not change
		return nil, err.Error()
	case !has:
		return nil, fmt.Sprintf("ApplicationRevision %s has no component %s; it has %s", of.Name, component, strings.Join(names(of), ", "))
	}
	return &side{of, c}, ""
}

// only is the one component that both revisions have.
func only(target, source *oamv1beta1.ApplicationRevision) (component, missing string) {
	shared := names(target)
	if source != nil {
		shared = slices.DeleteFunc(shared, func(name string) bool { return !slices.Contains(names(source), name) })
	}
	switch len(shared) {
	case 1:
		return shared[0], ""
	case 0:
		if source == nil {
			return "", fmt.Sprintf("ApplicationRevision %s has no component", target.Name)
		}
		return "", fmt.Sprintf("no component is both in ApplicationRevision %s and in %s", target.Name, source.Name)
	}
	return "", fmt.Sprintf("spec.componentList: has to name one component, for there are several: %s", strings.Join(shared, ", "))
}

func names(of *oamv1beta1.ApplicationRevision) []string {
	var all []string
	for i := range of.Spec.ComponentRevisions {
		all = append(all, of.Spec.ComponentRevisions[i].Name)
	}
	return all
}
