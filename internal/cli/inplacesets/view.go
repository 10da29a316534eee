// SPDX-License-Identifier: Apache-2.0

package inplacesets

import (
	"cmp"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/traffic"
)

// Snapshot is what was read about one InPlaceSet.
type Snapshot = sets.Snapshot[*cafev1alpha1.InPlaceSet]

// Kind is the kind as package sets shows it. Claims are not shown.
func Kind() sets.Kind[*cafev1alpha1.InPlaceSet] {
	return sets.Kind[*cafev1alpha1.InPlaceSet]{
		GVK:      cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind),
		New:      func() *cafev1alpha1.InPlaceSet { return &cafev1alpha1.InPlaceSet{} },
		NewList:  func() client.ObjectList { return &cafev1alpha1.InPlaceSetList{} },
		Selector: func(set *cafev1alpha1.InPlaceSet) *metav1.LabelSelector { return set.Spec.Selector },
		View:     NewView,
		Summary:  NewSummary,
	}
}

// NewView looks at a snapshot. Objects of other owners in it are left out.
func NewView(s Snapshot, now time.Time) sets.View {
	v := newView(s.Set, now).Fill(sets.Contents{
		Owner: s.Set.UID, UpdateRevision: s.Set.Status.UpdateRevision, CurrentRevision: s.Set.Status.CurrentRevision,
		MinReadySeconds: s.Set.Spec.MinReadySeconds, Revisions: s.Revisions, Pods: s.Pods, Order: sets.ByAge,
	}, now)
	noteTraffic(&v, s)
	return v.Settle()
}

// NewSummary looks at a set alone: the numbers are those of its status, and there are no rows.
func NewSummary(set *cafev1alpha1.InPlaceSet, now time.Time) sets.View {
	v, status := newView(set, now), set.Status
	v.Total, v.Ready, v.Available = int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas)
	v.Updated, v.UpdatedAvailable = int(status.UpdatedReplicas), int(status.UpdatedAvailableReplicas)
	return v.Settle()
}

func newView(set *cafev1alpha1.InPlaceSet, now time.Time) sets.View {
	status, update := set.Status, set.Spec.Strategy
	v := sets.View{
		Kind: cafev1alpha1.InPlaceSetKind, Namespace: set.Namespace, Name: set.Name,
		Generation: set.Generation, Observed: status.ObservedGeneration,
		Deleting: set.DeletionTimestamp != nil, Age: now.Sub(set.CreationTimestamp.Time),
		Desired:        int(ptr.Deref(set.Spec.Replicas, 1)),
		Reported:       sets.Reported{Total: int(status.Replicas), Available: int(status.AvailableReplicas), Updated: int(status.UpdatedReplicas)},
		Conditions:     Conditions(status.Conditions),
		UpdateRevision: status.UpdateRevision, Images: sets.ImagesOf(set.Spec.Template.Spec.Containers),
	}
	if update.Paused {
		v.Halt = "paused"
	}
	v.Limits, v.LimitsErr = plan.LimitsOf(&set.Spec)
	v.Strategy = strategy(set, v.Limits, v.LimitsErr)
	if unit := unitOf(set); unit != "" {
		v.Facts = append(v.Facts, sets.Fact{Name: "unit", Text: unit})
	}
	components, err := traffic.Components(set.Annotations)
	switch {
	case err != nil:
		v.LimitsErr = errors.Join(v.LimitsErr, err)
	case len(components) > 0:
		v.Facts = append(v.Facts, sets.Fact{Name: "traffic", Text: strings.Join(components, ", ")})
	}
	return v
}

func allowed(set *cafev1alpha1.InPlaceSet) *intstr.IntOrString {
	return cmp.Or(set.Spec.Strategy.MaxUnavailable, ptr.To(intstr.FromString(cafev1alpha1.DefaultInPlaceSetMaxUnavailable)))
}

// unitOf is the unit with its kind, empty for a set that is tied to none.
func unitOf(set *cafev1alpha1.InPlaceSet) string {
	kind := cmp.Or(set.Spec.UnitType, cafev1alpha1.CellUnitType)
	if set.Spec.DeployUnit == "" || kind == cafev1alpha1.NoneUnitType {
		return ""
	}
	return strings.ToLower(string(kind)) + " " + set.Spec.DeployUnit
}

func strategy(set *cafev1alpha1.InPlaceSet, limits budget.Limits, unreadable error) string {
	update := set.Spec.Strategy
	parts := []string{"in place"}
	if unreadable == nil {
		parts = append(parts,
			"at most "+sets.Limit(limits.Unavailable, allowed(set))+" unavailable",
			"partition "+sets.Limit(limits.Partition, update.Partition))
	}
	if wait := time.Duration(update.GracePeriodSeconds) * time.Second; wait > 0 {
		parts = append(parts, "changed after "+sets.Seconds(wait)+" out of service")
	}
	if wait := time.Duration(set.Spec.MinReadySeconds) * time.Second; wait > 0 {
		parts = append(parts, "available after "+sets.Seconds(wait))
	}
	if update.Paused {
		parts = append(parts, "paused")
	}
	return strings.Join(parts, ", ")
}

// noteTraffic says at each pod which components it waits for.
func noteTraffic(v *sets.View, s Snapshot) {
	components, err := traffic.Components(s.Set.Annotations)
	if err != nil {
		return // the view says so as what the spec cannot be read for
	}
	waiting := map[types.UID]string{}
	for _, p := range s.Pods {
		if pod.IsControlledBy(p, s.Set.UID) {
			waiting[p.UID] = traffic.Waiting(p, components)
		}
	}
	for _, r := range v.Revisions {
		for i := range r.Pods {
			r.Pods[i].Why = cmp.Or(waiting[r.Pods[i].UID], r.Pods[i].Why)
		}
	}
}

// Conditions are the conditions of a kind of this API group, as views show them.
func Conditions(all []cafev1alpha1.Condition) []sets.Condition {
	var shown []sets.Condition
	for _, c := range all {
		shown = append(shown, sets.Condition{
			Type: string(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message, Quiet: quiet(c), Trouble: trouble(c),
		})
	}
	return shown
}

// quiet conditions say nothing that the rest of the view does not say.
func quiet(c cafev1alpha1.Condition) bool {
	switch c.Type {
	case cafev1alpha1.ConditionReady:
		// A CafeDeployment gives its phase as the reason, and the view says what a person can do about these.
		asks := c.Reason == string(cafev1alpha1.WaitingForConfirmPhase) || c.Reason == string(cafev1alpha1.PausedPhase)
		return c.Status == corev1.ConditionTrue || asks
	case cafev1alpha1.ConditionTopologyValid, cafev1alpha1.ConditionAvailable:
		return c.Status == corev1.ConditionTrue
	case cafev1alpha1.ConditionStalled, cafev1alpha1.ConditionFailedScale, cafev1alpha1.ConditionFailedUpdate, cafev1alpha1.ConditionWaitingForTraffic:
		return c.Status != corev1.ConditionTrue
	case cafev1alpha1.ConditionProgressing, cafev1alpha1.ConditionWaitingForConfirm:
		return true // of CafeDeployments, where phase and groups tell the same
	default:
		return c.Message == ""
	}
}

// trouble conditions need a person.
func trouble(c cafev1alpha1.Condition) bool {
	switch c.Type {
	case cafev1alpha1.ConditionStalled, cafev1alpha1.ConditionFailedScale, cafev1alpha1.ConditionFailedUpdate:
		return c.Status == corev1.ConditionTrue
	case cafev1alpha1.ConditionTopologyValid:
		return c.Status == corev1.ConditionFalse
	default:
		return false
	}
}
