// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
)

// report writes the status when anything in it has changed, and then tells people by events what was done.
func (r *Reconciler) report(ctx context.Context, world plan.World, next plan.Plan, outcomes []apply.Outcome, m *memory, now time.Time) error {
	defer apply.Tell(r.Events, world.Set, outcomes, words)
	r.warnOf(world.Set, next, m)
	status := statusOf(world, next, outcomes, now)
	if equality.Semantic.DeepEqual(world.Set.Status, status) {
		return nil
	}
	after := world.Set.DeepCopy()
	after.Status = status
	if err := r.apply.Status(ctx, world.Set, after); err != nil {
		return err
	}
	if stalled := conditions.Find(status.Conditions, kruisev1beta1.StatefulSetConditionStalled); stalled != nil && stalled.Reason != reasonOfClaims {
		conditions.TellTrouble(r.Events, world.Set, world.Set.Status.Conditions, status.Conditions, stalled.Type)
	}
	return nil
}

// words are those of the events that others know this kind by. A pod that makes room for its successor is told of as
// deleted: its successor has the same name. Repairs of identity and owners are updates.
func words(s step.Step) (apply.Words, bool) {
	switch s := s.(type) {
	case step.DeletePod:
		return apply.Words{Done: "SuccessfulDelete", Failed: "FailedDelete", Action: "Delete"}, true
	case step.GiveClaim:
		return apply.Words{Done: "SuccessfulUpdate", Failed: "FailedUpdate", Action: "Update"}, true
	case step.PatchPod:
		told := apply.Words{Failed: "FailedUpdate", Action: "Update"}
		if s.Patch.Labels[kruisev1beta1.LabelPodName] != nil || s.Patch.Labels[kruisev1beta1.LabelPodIndex] != nil {
			told.Done = "SuccessfulUpdate"
		}
		return told, true
	default:
		return apply.Words{}, false
	}
}

// reasonOfClaims is the reason of events about claims that cannot become what their template asks for. They are told
// claim by claim, so a condition with this reason is not told again.
const reasonOfClaims = "FailedUpdatePVC"

// reasonOfScaleIn is the reason of the event, and of condition Ready, when condemned pods wait for one another.
const reasonOfScaleIn = "ScaleInBlocked"

// warnOf records an event for claims that cannot become what their template asks for and for a scaling in that waits for
// somebody, when that begins, and for pods that are updated without the care that is taken otherwise.
func (r *Reconciler) warnOf(set *kruisev1beta1.StatefulSet, next plan.Plan, m *memory) {
	var news []string
	told := map[string]bool{}
	for _, why := range next.RefusedClaims {
		if told[why] = true; !m.told[why] {
			news = append(news, why)
		}
	}
	m.told = told
	r.warn(set, reasonOfClaims, news)
	if next.Blocked != "" && next.Blocked != m.blocked {
		r.warn(set, reasonOfScaleIn, []string{next.Blocked})
	}
	m.blocked = next.Blocked
	r.warn(set, "UpdateWithoutDrain", next.Warned)
}

func (r *Reconciler) warn(set *kruisev1beta1.StatefulSet, reason string, sentences []string) {
	if len(sentences) > 0 {
		r.Events.Eventf(set, nil, corev1.EventTypeWarning, reason, "Plan", "%s", apply.Cut(report.Shortened(sentences, "; "), apply.NoteLimit))
	}
}

// statusOf is the status that the observed world has. It never depends on what was just done, except
// that errors are told, and that they are over.
func statusOf(world plan.World, next plan.Plan, outcomes []apply.Outcome, now time.Time) kruisev1beta1.StatefulSetStatus {
	before := &world.Set.Status
	status := kruisev1beta1.StatefulSetStatus{
		ObservedGeneration: world.Set.Generation,
		UpdateRevision:     next.UpdateRevision,
		CurrentRevision:    next.CurrentRevision,
		CollisionCount:     before.CollisionCount,
		LabelSelector:      metav1.FormatLabelSelector(world.Set.Spec.Selector),
	}
	if next.CollisionCount != ptr.Deref(before.CollisionCount, 0) {
		status.CollisionCount = &next.CollisionCount
	}
	for i := range next.Members {
		count(&status, &next.Members[i])
	}
	if next.Invalid != nil {
		status.CollisionCount, status.VolumeClaims = before.CollisionCount, before.VolumeClaims
	} else if promoted(world.Set, next, status) {
		status.CurrentRevision, status.CurrentReplicas = status.UpdateRevision, status.UpdatedReplicas
	}
	for _, c := range next.Claims {
		status.VolumeClaims = append(status.VolumeClaims, kruisev1beta1.VolumeClaimStatus{
			VolumeClaimName: c.Template, CompatibleReplicas: int32(c.Compatible), CompatibleReadyReplicas: int32(c.Ready),
		})
	}
	status.Conditions = conditionsOf(world.Set, next, status, outcomes, now)
	return status
}

func count(status *kruisev1beta1.StatefulSetStatus, m *plan.Member) {
	stays := !pod.IsTerminating(m.Pod)
	status.Replicas++
	status.ReadyReplicas += report.One(m.Ready)
	status.AvailableReplicas += report.One(m.Available)
	status.CurrentReplicas += report.One(stays && pod.HasRevision(m.Pod, status.CurrentRevision))
	status.UpdatedReplicas += report.One(stays && m.Updated)
	status.UpdatedReadyReplicas += report.One(m.Updated && m.Ready)
	status.UpdatedAvailableReplicas += report.One(m.Updated && m.Available)
}

// promoted tells whether the update revision has reached all pods that are wanted, and there are no others.
func promoted(set *kruisev1beta1.StatefulSet, next plan.Plan, status kruisev1beta1.StatefulSetStatus) bool {
	wanted := int32(next.Limits.Replicas)
	return set.Spec.UpdateStrategy.Type != kruisev1beta1.OnDeleteStatefulSetStrategyType &&
		status.Replicas == wanted && status.ReadyReplicas == wanted && status.UpdatedReplicas == wanted
}
