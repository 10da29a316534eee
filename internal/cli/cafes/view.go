// SPDX-License-Identifier: Apache-2.0

package cafes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/cli/inplacesets"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/revision"
)

// Snapshot is what was read about one CafeDeployment. Sets and pods may hold those of others; only its own count. Nothing in
// it is changed.
type Snapshot struct {
	Deployment *cafev1alpha1.CafeDeployment
	Sets       []*unstructured.Unstructured
	Pods       []*corev1.Pod
}

// NewView looks at a snapshot.
func NewView(s Snapshot, now time.Time) sets.View {
	v := newView(s.Deployment, now)
	g := newGrid(s, now)
	update, current := s.Deployment.Status.UpdateRevision, s.Deployment.Status.CurrentRevision
	newest := sets.Revision{Name: update, Hash: revision.HashOf(update), Update: true, Current: update == current, Images: v.Images}
	older := sets.Revision{Name: current, Hash: revision.HashOf(current), Current: true}
	if update == current {
		older = sets.Revision{Name: "older", Hash: "older"}
	}
	for _, p := range g.pods {
		if p.updated {
			newest.Pods = append(newest.Pods, p.Pod)
		} else {
			older.Pods = append(older.Pods, p.Pod)
		}
	}
	v = v.Hold([]sets.Revision{newest, older})
	v.Body = g.body()
	return settle(v, s.Deployment)
}

// NewSummary looks at a deployment alone: the numbers are those of its status, and there are no pods.
func NewSummary(d *cafev1alpha1.CafeDeployment, now time.Time) sets.View {
	v, status := newView(d, now), d.Status
	v.Total, v.Ready, v.Available = int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas)
	v.Updated, v.UpdatedAvailable = int(status.UpdatedReplicas), int(status.UpdatedAvailableReplicas)
	return settle(v, d)
}

func newView(d *cafev1alpha1.CafeDeployment, now time.Time) sets.View {
	status, replicas := d.Status, int(ptr.Deref(d.Spec.Replicas, 1))
	v := sets.View{
		Kind: cafev1alpha1.CafeDeploymentKind, Namespace: d.Namespace, Name: d.Name,
		Generation: d.Generation, Observed: status.ObservedGeneration,
		Deleting: d.DeletionTimestamp != nil, Age: now.Sub(d.CreationTimestamp.Time),
		Desired: replicas, Limits: budget.Limits{Replicas: replicas},
		Reported:       sets.Reported{Total: int(status.Replicas), Available: int(status.AvailableReplicas), Updated: int(status.UpdatedReplicas)},
		Conditions:     inplacesets.Conditions(status.Conditions),
		Strategy:       strategy(d),
		UpdateRevision: status.UpdateRevision, Images: sets.ImagesOf(d.Spec.Template.Spec.Containers),
	}
	v.Facts = append(waits(d), units(d, now)...)
	return v
}

func strategy(d *cafev1alpha1.CafeDeployment) string {
	s := d.Spec.Strategy
	parts := groups(s)
	if s.MinReadySeconds > 0 {
		parts = append(parts, "available after "+sets.Seconds(time.Duration(s.MinReadySeconds)*time.Second))
	}
	if s.Pause {
		parts = append(parts, "paused")
	}
	return strings.TrimPrefix(strings.Join(parts, ", "), "then ")
}

// groups tell how a release is divided.
func groups(s cafev1alpha1.CafeDeploymentStrategy) []string {
	if s.Partition != nil {
		return []string{fmt.Sprintf("all but %d pods at once", *s.Partition)}
	}
	var parts []string
	if s.UpgradeType == cafev1alpha1.BetaUpgradeType {
		parts = append(parts, "one Beta pod in each unit")
	}
	if s.BatchSize == nil {
		parts = append(parts, "then all in one group")
	} else {
		parts = append(parts, fmt.Sprintf("groups of %d", *s.BatchSize))
	}
	if s.NeedWaitingForConfirm {
		parts = append(parts, "each after a confirmation")
	}
	return parts
}

// waits tells which group waits for a person, and what the person can do.
func waits(d *cafev1alpha1.CafeDeployment) []sets.Fact {
	switch d.Status.Phase {
	case cafev1alpha1.WaitingForConfirmPhase:
		next := "the next group"
		if at := Next(d); at >= 0 {
			next = title(d, at)
		}
		return []sets.Fact{{Name: "waits", Alert: true, Text: fmt.Sprintf("for a person: `slipway confirm %s -n %s` lets %s begin", d.Name, d.Namespace, next)}}
	case cafev1alpha1.PausedPhase:
		if d.Spec.Strategy.Partition != nil && !d.Spec.Strategy.Pause {
			return []sets.Fact{{Name: "waits", Alert: true, Text: "for whoever sets spec.strategy.partition to lower it"}}
		}
		return []sets.Fact{{Name: "waits", Alert: true, Text: fmt.Sprintf("for a person: `slipway resume %s -n %s` lets it go on", d.Name, d.Namespace)}}
	case cafev1alpha1.StablePhase, cafev1alpha1.ProgressingPhase, cafev1alpha1.BlockedPhase:
	}
	return nil
}

// units tell of quota that has moved, and of units that are short of room.
func units(d *cafev1alpha1.CafeDeployment, now time.Time) []sets.Fact {
	facts := []sets.Fact{{Name: "units", Text: topology(d)}}
	var moved, short []string
	for _, u := range d.Status.Units {
		if u.RescheduledOut > 0 {
			moved = append(moved, fmt.Sprintf("%d out of %s", u.RescheduledOut, u.Name))
		}
		if u.RescheduledIn > 0 {
			moved = append(moved, fmt.Sprintf("%d into %s", u.RescheduledIn, u.Name))
		}
		if until := u.ShortUntil; until != nil && now.Before(until.Time) {
			short = append(short, fmt.Sprintf("%s gets no pods of other units until %s", u.Name, until.UTC().Format(time.TimeOnly)+" UTC"))
		}
		if u.Short > 0 {
			short = append(short, fmt.Sprintf("%d of its pods find no node in %s", u.Short, cmp.Or(u.Name, "the cluster")))
		}
	}
	if len(moved) > 0 {
		facts = append(facts, sets.Fact{Name: "moved", Text: strings.Join(moved, ", "), Alert: true})
	}
	if len(short) > 0 {
		facts = append(facts, sets.Fact{Name: "short", Text: strings.Join(short, "; "), Alert: true})
	}
	return facts
}

func topology(d *cafev1alpha1.CafeDeployment) string {
	podSet := string(cmp.Or(d.Spec.PodSetType, cafev1alpha1.InPlaceSetPodSetType))
	kind := cmp.Or(d.Spec.Topology.UnitType, cafev1alpha1.CellUnitType)
	if kind == cafev1alpha1.NoneUnitType {
		return "none, pods kept by one " + podSet
	}
	return fmt.Sprintf("%s, pods kept by %ss", count(len(d.Spec.Topology.Values), strings.ToLower(string(kind))), podSet)
}

// settle says in a word and a sentence how the deployment is doing.
func settle(v sets.View, d *cafev1alpha1.CafeDeployment) sets.View {
	updated := fmt.Sprintf("%d of %d pods updated", v.Updated, v.Desired)
	at := Next(d)
	v.Stage = fmt.Sprint(d.Status.UpdateRevision, at)
	switch {
	case v.Deleting:
		v.Phase, v.Headline = sets.Deleting, fmt.Sprintf("being deleted, %s left", count(v.Total, "pod"))
	case v.Observed < v.Generation:
		v.Phase, v.Headline = sets.Unseen, "waiting for the controller to look at the newest spec"
	case d.Status.Phase == cafev1alpha1.BlockedPhase:
		v.Phase, v.Headline = sets.Failed, blocked(d)
	case d.Status.Phase == cafev1alpha1.PausedPhase:
		v.Phase, v.Headline = sets.Paused, "paused: "+updated
	case d.Status.Phase == cafev1alpha1.WaitingForConfirmPhase && at >= 0:
		v.Phase, v.Headline = sets.Paused, fmt.Sprintf("%s waits for a confirmation: %s; %s", title(d, at), contents(d, at), updated)
	case d.Status.Phase == cafev1alpha1.StablePhase && arrived(v):
		v.Phase, v.Headline = sets.Complete, fmt.Sprintf("released: %s and available", updated)
		if v.Desired == 0 {
			v.Headline = "scaled to zero"
		}
	case at >= 0:
		v.Phase, v.Headline = sets.Releasing, fmt.Sprintf("releasing %s: %s; %s", title(d, at), contents(d, at), updated)
	case v.Updated < min(v.Total, v.Desired):
		v.Phase, v.Headline = sets.Releasing, "releasing: "+updated
	case v.Total != v.Desired:
		v.Phase, v.Headline = sets.Scaling, fmt.Sprintf("scaling: %d of %d pods exist", v.Total, v.Desired)
	default:
		v.Phase, v.Headline = sets.Recovering, fmt.Sprintf("%d of %d pods available", v.Available, v.Desired)
	}
	return v
}

// arrived asks the pods, and the status, which other programs see.
func arrived(v sets.View) bool {
	return v.Total == v.Desired && v.Available == v.Desired && v.Updated == v.Desired &&
		v.Reported.Total == v.Desired && v.Reported.Available == v.Desired && v.Reported.Updated == v.Desired
}

func blocked(d *cafev1alpha1.CafeDeployment) string {
	for _, t := range []cafev1alpha1.ConditionType{cafev1alpha1.ConditionTopologyValid, cafev1alpha1.ConditionProgressing, cafev1alpha1.ConditionReady} {
		for _, c := range d.Status.Conditions {
			if c.Type == t && c.Status == corev1.ConditionFalse && c.Message != "" {
				return "blocked: " + c.Message
			}
		}
	}
	return "blocked"
}
