// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
)

// RolloutOf is a RolloutTrait as the engine sees it.
func RolloutOf(trait *rolloutv1alpha1.RolloutTrait) engine.Rollout {
	rollout := engine.Rollout{
		Namespace: trait.Namespace, Name: trait.Name, UID: trait.UID, Generation: trait.Generation,
		Deleting: trait.DeletionTimestamp != nil, Finalizer: controllerutil.ContainsFinalizer(trait, rolloutv1alpha1.FinalizerRollout),
		Target: trait.Spec.TargetRef, Plan: trait.Spec.RolloutPlan, RevertOnDelete: trait.Spec.RolloutPlan.RevertOnDelete,
		Annotations: trait.Annotations, Status: trait.Status,
	}
	if len(trait.Spec.SourceRef) > 0 {
		rollout.Source = &trait.Spec.SourceRef[0]
	}
	return rollout
}

// HolderOf is a RolloutTrait as the one that holds workloads.
func HolderOf(trait *rolloutv1alpha1.RolloutTrait) Holder {
	return Holder{Kind: rolloutv1alpha1.GroupVersion.WithKind(rolloutv1alpha1.RolloutTraitKind), Name: trait.Name, UID: trait.UID}
}

// AskOf is what a RolloutTrait asks of its workloads.
func AskOf(trait *rolloutv1alpha1.RolloutTrait) Ask {
	paired := len(trait.Spec.SourceRef) > 0
	return Ask{
		Scales: !paired && trait.Spec.RolloutPlan.TargetSize != nil, Pair: paired,
		Before: trait.Status.RollingState == rolloutv1alpha1.RolloutFailingState || trait.Status.RollingState == rolloutv1alpha1.RolloutDeletingState,
	}
}
