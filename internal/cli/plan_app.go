// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/cli/lint"
	"slipway.dev/slipway/internal/cli/rollouts"
)

func appRolloutToPlan() rolloutToPlan {
	return rolloutToPlan{
		shownKind: appRolloutKind(),
		empty:     func() client.Object { return &oamv1beta1.AppRollout{} },
		lint:      func(o client.Object) []lint.Finding { return lint.AppRollout(o.(*oamv1beta1.AppRollout), nil) },
		status: func(o client.Object) *rolloutv1alpha1.RolloutStatus {
			return &o.(*oamv1beta1.AppRollout).Status.RolloutStatus
		},
		objects: func(ctx context.Context, p *planRelease, o client.Object) ([]*unstructured.Unstructured, []string, error) {
			return p.ofRevisions(ctx, o.(*oamv1beta1.AppRollout))
		},
		needs: "get of approllouts and of applicationrevisions, both of core.oam.dev, get of all that these hold, and list of their workloads",
	}
}

// ofRevisions are the objects of all revisions that a rollout is about. A revision that is not there, or that cannot be read, has none:
// the rollout itself tells of it.
func (p *planRelease) ofRevisions(ctx context.Context, r *oamv1beta1.AppRollout) (all []*unstructured.Unstructured, warnings []string, err error) {
	names := []string{r.Spec.TargetAppRevisionName, r.Spec.SourceAppRevisionName}
	if running := r.Status.Running; running != nil {
		names = append(names, running.TargetAppRevision, running.SourceAppRevision)
	}
	application := ""
	for _, name := range names {
		if name == "" {
			continue
		}
		revision := &oamv1beta1.ApplicationRevision{}
		switch err := p.reader.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, revision); {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("reading ApplicationRevision %s: %w", name, err)
		}
		if of := metav1.GetControllerOf(revision); of != nil && application == "" {
			application = of.Name
		}
		for i := range revision.Spec.ComponentRevisions {
			c, err := delivery.Read(&revision.Spec.ComponentRevisions[i])
			if err != nil {
				continue // a revision does not change, and the rollout says what is wrong with it
			}
			all = append(append(all, c.Workload), c.Extras...)
		}
	}
	warnings, err = p.beneath(ctx, r, application)
	return all, warnings, err
}

// beneath warns of an application that writes the rollout, that deploys beside it, or that is not there.
func (p *planRelease) beneath(ctx context.Context, r *oamv1beta1.AppRollout, application string) ([]string, error) {
	if by := rollouts.OfRevisions(r).Application; by != "" {
		return []string{fmt.Sprintf("Application %s writes this rollout: it takes back what is changed here; change the spec.rolloutPlan of the application", by)}, nil
	}
	if application == "" || p.offline {
		return nil, nil
	}
	warnings, err := besideRevisions(ctx, p.reader, r.Namespace, application)
	if apierrors.IsForbidden(err) {
		return []string{fmt.Sprintf("these credentials may not read Application %s: whether it deploys its revisions by itself is not known", application)}, nil
	}
	return warnings, err
}

// besideRevisions warns of an application whose revisions are rolled out by somebody else.
func besideRevisions(ctx context.Context, from client.Reader, namespace, application string) ([]string, error) {
	app := &oamv1beta1.Application{}
	switch err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: application}, app); {
	case apierrors.IsNotFound(err):
		return []string{fmt.Sprintf("there is no Application %s in namespace %s any more: its revisions and all that it has deployed are about to be deleted as well", application, namespace)}, nil
	case err != nil:
		return nil, fmt.Errorf("reading Application %s: %w", application, err)
	case !app.IsRolloutTemplate():
		return []string{fmt.Sprintf("Application %s deploys its revisions by itself, over what this rollout does: give it the annotation %s: \"true\" first",
			application, oamv1beta1.AnnotationRolloutTemplate)}, nil
	}
	return nil, nil
}
