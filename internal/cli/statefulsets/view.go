// SPDX-License-Identifier: Apache-2.0

package statefulsets

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/statefulset/plan"
)

// Snapshot is what was read about one StatefulSet.
type Snapshot = sets.Snapshot[*kruisev1beta1.StatefulSet]

// Kind is the kind as package sets shows it.
func Kind() sets.Kind[*kruisev1beta1.StatefulSet] {
	return sets.Kind[*kruisev1beta1.StatefulSet]{
		GVK:       kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind),
		New:       func() *kruisev1beta1.StatefulSet { return &kruisev1beta1.StatefulSet{} },
		NewList:   func() client.ObjectList { return &kruisev1beta1.StatefulSetList{} },
		Selector:  func(set *kruisev1beta1.StatefulSet) *metav1.LabelSelector { return set.Spec.Selector },
		HasClaims: func(set *kruisev1beta1.StatefulSet) bool { return len(set.Spec.VolumeClaimTemplates) > 0 },
		View:      NewView,
		Summary:   NewSummary,
	}
}

// NewView looks at a snapshot. Objects of other owners in it are left out, but for claims: a set uses a claim of the
// right name whoever made it.
func NewView(s Snapshot, now time.Time) sets.View {
	v := newView(s.Set, now).Fill(sets.Contents{
		Owner: s.Set.UID, UpdateRevision: s.Set.Status.UpdateRevision, CurrentRevision: s.Set.Status.CurrentRevision,
		MinReadySeconds: ptr.Deref(rolling(s.Set).MinReadySeconds, 0), Revisions: s.Revisions, Pods: s.Pods, Order: byOrdinal(s.Set.Name),
	}, now)
	place(&v, s)
	return v.Settle()
}

// NewSummary looks at a set alone: the numbers are those of its status, and there are no rows.
func NewSummary(set *kruisev1beta1.StatefulSet, now time.Time) sets.View {
	v, status := newView(set, now), set.Status
	v.Total, v.Ready, v.Available = int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas)
	v.Updated, v.UpdatedAvailable = int(status.UpdatedReplicas), int(status.UpdatedAvailableReplicas)
	v.Leaving = max(v.Total-v.Desired, 0) // the status counts pods that are being deleted, too
	return v.Settle()
}

// byOrdinal sorts pods with an ordinal of the set by it, and the others behind them.
func byOrdinal(set string) func(a, b sets.Pod) int {
	return func(a, b sets.Pod) int {
		m, isMember := ordinal.Of(set, a.Name)
		n, alsoMember := ordinal.Of(set, b.Name)
		switch {
		case isMember && alsoMember:
			return cmp.Compare(m, n)
		case isMember:
			return -1
		case alsoMember:
			return 1
		default:
			return sets.ByAge(a, b)
		}
	}
}

func newView(set *kruisev1beta1.StatefulSet, now time.Time) sets.View {
	status := set.Status
	v := sets.View{
		Kind: kruisev1beta1.StatefulSetKind, Namespace: set.Namespace, Name: set.Name,
		Generation: set.Generation, Observed: status.ObservedGeneration,
		Deleting: set.DeletionTimestamp != nil, Age: now.Sub(set.CreationTimestamp.Time),
		Desired:        int(ptr.Deref(set.Spec.Replicas, 1)),
		Reported:       sets.Reported{Total: int(status.Replicas), Available: int(status.AvailableReplicas), Updated: int(status.UpdatedReplicas)},
		Conditions:     conditions(status.Conditions),
		UpdateRevision: status.UpdateRevision, Images: sets.ImagesOf(set.Spec.Template.Spec.Containers),
	}
	switch {
	case byDeletion(set):
		v.Halt = "pods are updated when somebody deletes them"
	case rolling(set).Paused:
		v.Halt = "paused"
	}
	limits, errLimits := plan.LimitsOf(set)
	_, errLive := plan.Live(set)
	v.Limits, v.LimitsErr = limits, errors.Join(errLimits, errLive)
	v.Strategy = strategy(set, v)
	return v
}

// rolling is how updates are made; its absence means all its defaults.
func rolling(set *kruisev1beta1.StatefulSet) *kruisev1beta1.RollingUpdateStatefulSetStrategy {
	return cmp.Or(set.Spec.UpdateStrategy.RollingUpdate, &kruisev1beta1.RollingUpdateStatefulSetStrategy{})
}

func byDeletion(set *kruisev1beta1.StatefulSet) bool {
	return set.Spec.UpdateStrategy.Type == kruisev1beta1.OnDeleteStatefulSetStrategyType
}

func strategy(set *kruisev1beta1.StatefulSet, v sets.View) string {
	update := rolling(set)
	parts := []string{string(cmp.Or(set.Spec.PodManagementPolicy, kruisev1beta1.OrderedReadyPodManagement))}
	if byDeletion(set) {
		parts = append(parts, string(kruisev1beta1.OnDeleteStatefulSetStrategyType))
	} else {
		parts = append(parts, string(cmp.Or(update.PodUpdatePolicy, kruisev1beta1.RecreatePodUpdateStrategyType)))
	}
	if v.LimitsErr == nil {
		unavailable := fmt.Sprint(v.Limits.Unavailable)
		if set.Spec.PodManagementPolicy == kruisev1beta1.ParallelPodManagement {
			unavailable = sets.Limit(v.Limits.Unavailable, update.MaxUnavailable)
		}
		parts = append(parts, "at most "+unavailable+" unavailable")
		if !byDeletion(set) {
			parts = append(parts, fmt.Sprintf("partition %d", v.Limits.Partition))
		}
	}
	if update.UnorderedUpdate != nil {
		parts = append(parts, "in any order")
	}
	if wait := time.Duration(ptr.Deref(update.MinReadySeconds, 0)) * time.Second; wait > 0 {
		parts = append(parts, "available after "+sets.Seconds(wait))
	}
	if update.Paused {
		parts = append(parts, "paused")
	}
	return strings.Join(parts, ", ")
}

func conditions(all []kruisev1beta1.StatefulSetCondition) []sets.Condition {
	var shown []sets.Condition
	for _, c := range all {
		shown = append(shown, sets.Condition{
			Type: string(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message, Quiet: quiet(c), Trouble: trouble(c),
		})
	}
	return shown
}

// quiet conditions say nothing that the rest of the view does not say.
func quiet(c kruisev1beta1.StatefulSetCondition) bool {
	switch c.Type {
	case kruisev1beta1.StatefulSetConditionReady:
		return c.Status == corev1.ConditionTrue
	case kruisev1beta1.StatefulSetConditionStalled, kruisev1beta1.StatefulSetConditionFailedCreatePod, kruisev1beta1.StatefulSetConditionFailedUpdatePod:
		return c.Status != corev1.ConditionTrue
	default:
		return c.Message == ""
	}
}

// trouble conditions need a person.
func trouble(c kruisev1beta1.StatefulSetCondition) bool {
	return c.Type != kruisev1beta1.StatefulSetConditionReady && !quiet(c) && c.Status == corev1.ConditionTrue
}
