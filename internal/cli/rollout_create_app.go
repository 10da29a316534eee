// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/lint"
	"slipway.dev/slipway/internal/cli/rollouts"
)

// ofRevisions is the AppRollout to begin with, when one is asked for; nil for a RolloutTrait. It finds out of which kind the rollout
// is that this one is to be like.
func (c *rolloutCreate) ofRevisions(ctx context.Context) (*oamv1beta1.AppRollout, error) {
	r := &oamv1beta1.AppRollout{}
	if c.like == "" {
		if c.targetRevision == "" {
			return nil, nil
		}
		c.kind = appRolloutKind()
		return r, nil
	}
	like := &getSets{namespace: c.namespace, env: c.env, client: c.client}
	if err := like.readRollout(c.like); err != nil {
		return nil, fmt.Errorf("--like: %w", err)
	}
	c.like = like.name
	if err := like.resolve(ctx); err != nil {
		return nil, err
	}
	if like.kind.Name() != oamv1beta1.AppRolloutKind {
		if c.targetRevision+c.sourceRevision+c.component != "" {
			return nil, errors.New("--target-revision, --source-revision and --component are for AppRollouts, and --like names a RolloutTrait")
		}
		return nil, nil
	}
	if c.target+c.source != "" {
		return nil, errors.New("--target and --source are for RolloutTraits, and --like names an AppRollout")
	}
	c.kind = appRolloutKind()
	if err := c.client.Get(ctx, like.key(), r); err != nil {
		return nil, err
	}
	return &oamv1beta1.AppRollout{Spec: *r.Spec.DeepCopy()}, nil
}

// runRevisions begins an AppRollout.
func (c *rolloutCreate) runRevisions(ctx context.Context, r *oamv1beta1.AppRollout) error {
	r.TypeMeta = metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.AppRolloutKind}
	r.Namespace, r.Name = c.namespace, c.name
	if c.targetRevision != "" {
		r.Spec.TargetAppRevisionName = c.targetRevision
	}
	if c.given("source-revision") {
		r.Spec.SourceAppRevisionName = c.sourceRevision
	}
	if c.component != "" {
		r.Spec.ComponentList = []string{c.component}
	}
	c.flagsInto(&r.Spec.RolloutPlan)
	if len(c.batches) > 0 {
		batches, _, err := readBatches(c.batches, -1)
		if err != nil {
			return err
		}
		r.Spec.RolloutPlan.RolloutBatches, r.Spec.RolloutPlan.NumBatches = batches, nil
	}
	if findings := lint.AppRollout(r, nil); len(findings) > 0 {
		return fmt.Errorf("the API would refuse it: %s", strings.Join(texts(findings), "; "))
	}
	if err := c.lookAtRevisions(ctx, r); err != nil {
		return err
	}
	stored := r.DeepCopy()
	if err := c.store(ctx, stored); err != nil {
		return err
	}
	return c.tell(stored, rollouts.OfRevisions(stored), rolloutv1alpha1.RolloutStatus{})
}

// lookAtRevisions warns of what keeps the rollout waiting, and of an application that deploys what it has by itself.
func (c *rolloutCreate) lookAtRevisions(ctx context.Context, r *oamv1beta1.AppRollout) error {
	if c.offline {
		return nil
	}
	application := ""
	for _, name := range []string{r.Spec.TargetAppRevisionName, r.Spec.SourceAppRevisionName} {
		if name == "" {
			continue
		}
		revision := &metav1.PartialObjectMetadata{}
		revision.SetGroupVersionKind(oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationRevisionKind))
		switch err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, revision); {
		case apierrors.IsNotFound(err):
			c.warnings = append(c.warnings, fmt.Sprintf("there is no ApplicationRevision %s in namespace %s: the rollout waits for it", name, c.namespace))
		case err != nil:
			return fmt.Errorf("reading ApplicationRevision %s: %w", name, err)
		default:
			if of := metav1.GetControllerOf(revision); of != nil && application == "" {
				application = of.Name
			}
		}
	}
	if application == "" {
		return nil
	}
	warnings, err := besideRevisions(ctx, c.client, c.namespace, application)
	c.warnings = append(c.warnings, warnings...)
	return err
}

// typed is the name as people type it.
func (c *rolloutCreate) typed() string {
	if c.kind.Name() == oamv1beta1.AppRolloutKind {
		return rollouts.AppRolloutWord + "/" + c.name
	}
	return c.name
}
