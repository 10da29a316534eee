// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/report"
)

// report writes the status when anything in it has changed, and then tells people by events what was done. What only
// counts pods may have to wait, and then it says how long.
func (r *Reconciler) report(ctx context.Context, world plan.World, m *owned.Memory, next plan.Plan, outcomes []apply.Outcome, now time.Time) (wait time.Duration, err error) {
	defer apply.Tell(r.Events, world.Set, outcomes, nil)
	status := statusOf(world, next, outcomes, now)
	if equality.Semantic.DeepEqual(world.Set.Status, status) {
		return 0, nil
	}
	if wait := m.CountsIn(now); wait > 0 && onlyCounts(&world.Set.Status, &status) {
		return wait, nil
	}
	after := world.Set.DeepCopy()
	after.Status = status
	began := r.Clock.Now()
	if err := r.apply.Status(ctx, world.Set, after); err != nil {
		return 0, err
	}
	m.Reported(began, r.Clock.Now())
	conditions.TellTrouble(r.Events, world.Set, world.Set.Status.Conditions, status.Conditions, cafev1alpha1.ConditionStalled)
	return 0, nil
}

// onlyCounts tells whether a status differs from the one before in nothing but numbers of pods, and in what conditions say
// while they are as they were. When the set reaches its spec, a condition turns.
func onlyCounts(before, after *cafev1alpha1.InPlaceSetStatus) bool {
	same := *after
	same.Replicas, same.ReadyReplicas, same.AvailableReplicas = before.Replicas, before.ReadyReplicas, before.AvailableReplicas
	same.UpdatedReplicas, same.UpdatedReadyReplicas = before.UpdatedReplicas, before.UpdatedReadyReplicas
	same.UpdatedAvailableReplicas = before.UpdatedAvailableReplicas
	same.Conditions = conditions.Unsaid(before.Conditions, after.Conditions)
	return equality.Semantic.DeepEqual(*before, same)
}

// statusOf is the status that the observed world has. It never depends on what was just done, except that errors are
// told.
func statusOf(world plan.World, next plan.Plan, outcomes []apply.Outcome, now time.Time) cafev1alpha1.InPlaceSetStatus {
	before := &world.Set.Status
	status := cafev1alpha1.InPlaceSetStatus{
		ObservedGeneration: world.Set.Generation,
		UpdateRevision:     next.UpdateRevision,
		CurrentRevision:    next.CurrentRevision,
		CollisionCount:     before.CollisionCount,
		LabelSelector:      metav1.FormatLabelSelector(world.Set.Spec.Selector),
	}
	if next.CollisionCount != ptr.Deref(before.CollisionCount, 0) {
		status.CollisionCount = &next.CollisionCount
	}
	for _, m := range next.Members {
		status.Replicas++
		status.ReadyReplicas += report.One(m.Ready)
		status.AvailableReplicas += report.One(m.Available)
		status.UpdatedReplicas += report.One(m.Updated)
		status.UpdatedReadyReplicas += report.One(m.Updated && m.Ready)
		status.UpdatedAvailableReplicas += report.One(m.Updated && m.Available)
	}
	if wanted := int32(next.Limits.Replicas); next.Invalid == nil && status.UpdatedReplicas == wanted && status.Replicas == wanted {
		status.CurrentRevision = status.UpdateRevision
	}
	status.Conditions = conditionsOf(world, next, status, outcomes, now)
	return status
}
