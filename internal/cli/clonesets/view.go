// SPDX-License-Identifier: Apache-2.0

package clonesets

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/cli/sets"
)

// Snapshot is what was read about one CloneSet.
type Snapshot = sets.Snapshot[*kruisev1alpha1.CloneSet]

// Kind is the kind as package sets shows it. Claims are not shown.
func Kind() sets.Kind[*kruisev1alpha1.CloneSet] {
	return sets.Kind[*kruisev1alpha1.CloneSet]{
		GVK:      kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind),
		New:      func() *kruisev1alpha1.CloneSet { return &kruisev1alpha1.CloneSet{} },
		NewList:  func() client.ObjectList { return &kruisev1alpha1.CloneSetList{} },
		Selector: func(set *kruisev1alpha1.CloneSet) *metav1.LabelSelector { return set.Spec.Selector },
		View:     NewView,
		Summary:  NewSummary,
	}
}

// NewView looks at a snapshot. Objects of other owners in it are left out.
func NewView(s Snapshot, now time.Time) sets.View {
	return newView(s.Set, now).Fill(sets.Contents{
		Owner: s.Set.UID, UpdateRevision: s.Set.Status.UpdateRevision, CurrentRevision: s.Set.Status.CurrentRevision,
		MinReadySeconds: s.Set.Spec.MinReadySeconds, Revisions: s.Revisions, Pods: s.Pods, Order: sets.ByAge,
	}, now).Settle()
}

// NewSummary looks at a set alone: the numbers are those of its status, and there are no rows.
func NewSummary(set *kruisev1alpha1.CloneSet, now time.Time) sets.View {
	v, status := newView(set, now), set.Status
	v.Total, v.Ready, v.Available = int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas)
	v.Updated, v.UpdatedAvailable = int(status.UpdatedReplicas), int(status.UpdatedAvailableReplicas)
	return v.Settle()
}

func newView(set *kruisev1alpha1.CloneSet, now time.Time) sets.View {
	status := set.Status
	v := sets.View{
		Kind: kruisev1alpha1.CloneSetKind, Namespace: set.Namespace, Name: set.Name,
		Generation: set.Generation, Observed: status.ObservedGeneration,
		Deleting: set.DeletionTimestamp != nil, Age: now.Sub(set.CreationTimestamp.Time),
		Desired:        int(ptr.Deref(set.Spec.Replicas, 1)),
		Reported:       sets.Reported{Total: int(status.Replicas), Available: int(status.AvailableReplicas), Updated: int(status.UpdatedReplicas)},
		Conditions:     conditions(status.Conditions),
		UpdateRevision: status.UpdateRevision, Images: sets.ImagesOf(set.Spec.Template.Spec.Containers),
	}
	update := set.Spec.UpdateStrategy
	if update.Paused {
		v.Halt = "paused"
	}
	v.Limits, v.LimitsErr = budget.NewLimits(budget.Spec{
		Replicas: set.Spec.Replicas, Partition: update.Partition, MaxSurge: update.MaxSurge,
		MaxUnavailable: update.MaxUnavailable, ScaleMaxUnavailable: set.Spec.ScaleStrategy.MaxUnavailable, Paused: update.Paused,
	})
	v.Strategy = strategy(set, v.Limits, v.LimitsErr)
	return v
}

func strategy(set *kruisev1alpha1.CloneSet, limits budget.Limits, unreadable error) string {
	update := set.Spec.UpdateStrategy
	kind := string(update.Type)
	if kind == "" {
		kind = string(kruisev1alpha1.ReCreateCloneSetUpdateStrategyType)
	}
	parts := []string{kind}
	if unreadable == nil {
		parts = append(parts,
			"at most "+sets.Limit(limits.Unavailable, update.MaxUnavailable)+" unavailable",
			"partition "+sets.Limit(limits.Partition, update.Partition))
		if limits.Surge > 0 {
			parts = append(parts, "surge "+sets.Limit(limits.Surge, update.MaxSurge))
		}
	}
	if wait := time.Duration(set.Spec.MinReadySeconds) * time.Second; wait > 0 {
		parts = append(parts, "available after "+sets.Seconds(wait))
	}
	if update.Paused {
		parts = append(parts, "paused")
	}
	return strings.Join(parts, ", ")
}

func conditions(all []kruisev1alpha1.CloneSetCondition) []sets.Condition {
	var shown []sets.Condition
	for _, c := range all {
		shown = append(shown, sets.Condition{
			Type: string(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message, Quiet: quiet(c), Trouble: trouble(c),
		})
	}
	return shown
}

// quiet conditions say nothing that the rest of the view does not say.
func quiet(c kruisev1alpha1.CloneSetCondition) bool {
	switch c.Type {
	case kruisev1alpha1.CloneSetConditionReady:
		return c.Status == corev1.ConditionTrue
	case kruisev1alpha1.CloneSetConditionStalled, kruisev1alpha1.CloneSetConditionFailedScale, kruisev1alpha1.CloneSetConditionFailedUpdate:
		return c.Status != corev1.ConditionTrue
	case kruisev1alpha1.CloneSetConditionProgressing:
		return c.Status == corev1.ConditionTrue && c.Reason == kruisev1alpha1.ReasonCloneSetAvailable
	default:
		return c.Message == ""
	}
}

// trouble conditions need a person.
func trouble(c kruisev1alpha1.CloneSetCondition) bool {
	switch c.Type {
	case kruisev1alpha1.CloneSetConditionStalled, kruisev1alpha1.CloneSetConditionFailedScale, kruisev1alpha1.CloneSetConditionFailedUpdate:
		return c.Status == corev1.ConditionTrue
	case kruisev1alpha1.CloneSetConditionProgressing:
		return c.Status == corev1.ConditionFalse
	default:
		return false
	}
}
