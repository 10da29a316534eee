// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/report"
)

// progress writes condition Progressing, which exists only while the spec has a deadline.
//
// The clock starts when a release begins, and begins anew with each new revision; a pause, a partition
// that is reached or a set that is whole stop it. Progress of single pods does not restart it.
func progress(w *report.Conditions[kruisev1alpha1.CloneSetCondition, kruisev1alpha1.CloneSetConditionType], set *kruisev1alpha1.CloneSet, next plan.Plan, status kruisev1alpha1.CloneSetStatus, now time.Time) {
	const kind = kruisev1alpha1.CloneSetConditionProgressing
	deadline, has := deadlineOf(set)
	if !has {
		w.List = slices.DeleteFunc(w.List, func(c kruisev1alpha1.CloneSetCondition) bool { return c.Type == kind })
		return
	}
	if next.Invalid != nil {
		return // nothing is known that could say how far it is
	}
	before := conditions.Find(w.List, kind)
	if before != nil && set.Status.UpdateRevision != status.UpdateRevision {
		before = nil // whatever was said, was said of an earlier release
	}
	wanted := int32(next.Limits.Replicas)
	switch {
	case status.CurrentRevision == status.UpdateRevision && status.Replicas == wanted && status.UpdatedReplicas == wanted && status.UpdatedAvailableReplicas == wanted:
		w.Set(kind, true, kruisev1alpha1.ReasonCloneSetAvailable, "CloneSet is available")
	case set.Spec.UpdateStrategy.Paused:
		w.Set(kind, true, kruisev1alpha1.ReasonCloneSetPaused, "CloneSet is paused")
	case status.ExpectedUpdatedReplicas < wanted && status.ExpectedUpdatedReplicas <= status.UpdatedAvailableReplicas:
		w.Set(kind, true, kruisev1alpha1.ReasonProgressPartitionAvailable, "CloneSet has been paused due to partition ready")
	case before != nil && exceeded(before, deadline, now):
		w.Set(kind, false, kruisev1alpha1.ReasonProgressDeadlineExceeded, fmt.Sprintf("CloneSet revision %s has timed out progressing", status.UpdateRevision))
	default:
		w.Set(kind, true, kruisev1alpha1.ReasonCloneSetUpdated, "CloneSet is progressing")
		if before == nil {
			conditions.Find(w.List, kind).LastUpdateTime = metav1.NewTime(now)
		}
	}
}

// exceeded tells whether the release was over its time already, or is now.
func exceeded(progressing *kruisev1alpha1.CloneSetCondition, deadline time.Duration, now time.Time) bool {
	switch progressing.Reason {
	case kruisev1alpha1.ReasonProgressDeadlineExceeded:
		return true
	case kruisev1alpha1.ReasonCloneSetUpdated:
		return progressing.LastUpdateTime.Add(deadline).Before(now)
	}
	return false
}

// untilDeadline is how long it takes until the release is over its time; 0 when no clock runs.
func untilDeadline(set *kruisev1alpha1.CloneSet, status kruisev1alpha1.CloneSetStatus, now time.Time) time.Duration {
	deadline, has := deadlineOf(set)
	progressing := conditions.Find(status.Conditions, kruisev1alpha1.CloneSetConditionProgressing)
	if !has || progressing == nil || progressing.Status != corev1.ConditionTrue || progressing.Reason != kruisev1alpha1.ReasonCloneSetUpdated {
		return 0
	}
	// A second more: the time in the condition is cut to whole seconds when it is stored.
	return max(progressing.LastUpdateTime.Add(deadline).Sub(now), 0) + time.Second
}

func deadlineOf(set *kruisev1alpha1.CloneSet) (time.Duration, bool) {
	seconds := set.Spec.ProgressDeadlineSeconds
	if seconds == nil || *seconds == kruisev1alpha1.NoProgressDeadline {
		return 0, false
	}
	return time.Duration(*seconds) * time.Second, true
}
