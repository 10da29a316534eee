// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
)

// RolloutOf is a RolloutTrait as the engine sees it.
func RolloutOf(trait *rolloutv1alpha1.RolloutTrait) engine.Rollout {
	rollout := engine.RolloutOf(trait, trait.Spec.RolloutPlan, trait.Status)
	rollout.Target = trait.Spec.TargetRef
	if len(trait.Spec.SourceRef) > 0 {
		rollout.Source = &trait.Spec.SourceRef[0]
	}
	return rollout
}

// AskOf is what a rollout asks of its workloads.
func AskOf(r *engine.Rollout) Ask {
	state := r.Status.RollingState
	return Ask{
		Scales: r.Source == nil && r.Plan.TargetSize != nil, Pair: r.Source != nil,
		Before: state == rolloutv1alpha1.RolloutFailingState || state == rolloutv1alpha1.RolloutDeletingState,
	}
}
