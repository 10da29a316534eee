// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/step"
)

// split sets the steps apart that change the set itself. They are taken last and only when the status need
// not be written: both writes are conditional on the version that was seen.
func split(all []step.Step) (steps, ofSet []step.Step) {
	for _, s := range all {
		if _, is := s.(step.TrimPodsToDelete); is {
			ofSet = append(ofSet, s)
			continue
		}
		steps = append(steps, s)
	}
	return steps, ofSet
}

// report writes the status when anything in it has changed, and then tells people by events what was done.
func (r *Reconciler) report(ctx context.Context, world plan.World, next plan.Plan, status kruisev1alpha1.CloneSetStatus, outcomes []apply.Outcome) (written bool, err error) {
	defer apply.Tell(r.Events, world.Set, outcomes, nil)
	if equality.Semantic.DeepEqual(world.Set.Status, status) {
		return false, nil
	}
	after := world.Set.DeepCopy()
	after.Status = status
	err = r.apply.Status(ctx, world.Set, after)
	if err == nil {
		r.tellOfTrouble(world.Set, next, status)
	}
	return true, err
}

// statusOf is the status that the observed world has. It never depends on what was just done, except
// that errors are told.
func statusOf(world plan.World, next plan.Plan, outcomes []apply.Outcome, now time.Time) kruisev1alpha1.CloneSetStatus {
	before := &world.Set.Status
	status := kruisev1alpha1.CloneSetStatus{
		ObservedGeneration:      world.Set.Generation,
		ExpectedUpdatedReplicas: before.ExpectedUpdatedReplicas,
		UpdateRevision:          next.UpdateRevision,
		CurrentRevision:         next.CurrentRevision,
		CollisionCount:          before.CollisionCount,
		LabelSelector:           metav1.FormatLabelSelector(world.Set.Spec.Selector),
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
	if next.Invalid == nil {
		wanted := int32(next.Limits.Replicas)
		status.ExpectedUpdatedReplicas = wanted - int32(next.Limits.Partition)
		if status.UpdatedReplicas == wanted && status.Replicas == wanted {
			status.CurrentRevision = status.UpdateRevision
		}
	}
	status.Conditions = conditionsOf(world.Set, next, status, outcomes, now)
	return status
}

// tellOfTrouble records an event when a condition begins to tell of trouble, not each time it is seen.
func (r *Reconciler) tellOfTrouble(set *kruisev1alpha1.CloneSet, next plan.Plan, status kruisev1alpha1.CloneSetStatus) {
	conditions.TellTrouble(r.Events, set, set.Status.Conditions, status.Conditions, kruisev1alpha1.CloneSetConditionStalled)
	before := conditions.Find(set.Status.Conditions, kruisev1alpha1.CloneSetConditionReady)
	if next.Throttled && (before == nil || before.Message != conditions.Find(status.Conditions, kruisev1alpha1.CloneSetConditionReady).Message) {
		r.Events.Eventf(set, nil, corev1.EventTypeWarning, "ScaleUpLimited", "Create", "%s", next.Held)
	}
}
