// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
)

// conditions says where a condition of a StatefulSet keeps what it says.
var conditions = report.Kind[kruisev1beta1.StatefulSetCondition, kruisev1beta1.StatefulSetConditionType](
	func(c *kruisev1beta1.StatefulSetCondition) report.Fields[kruisev1beta1.StatefulSetConditionType] {
		return report.Fields[kruisev1beta1.StatefulSetConditionType]{
			Type: &c.Type, Status: &c.Status, Reason: &c.Reason, Message: &c.Message, Transition: &c.LastTransitionTime,
		}
	})

type conditionWriter = report.Conditions[kruisev1beta1.StatefulSetCondition, kruisev1beta1.StatefulSetConditionType]

// conditionsOf are the conditions of the status. Conditions of other writers stay as they are.
//
//   - Ready: the spec is reached. False says what is waited for, pod by pod.
//   - Stalled: nothing will go on without a person.
//   - FailedCreatePod, FailedUpdatePod: pods could not be created or updated, and why, until some could.
func conditionsOf(set *kruisev1beta1.StatefulSet, next plan.Plan, status kruisev1beta1.StatefulSetStatus, outcomes []apply.Outcome, now time.Time) []kruisev1beta1.StatefulSetCondition {
	w := conditions.From(set.Status.Conditions, set.Generation, now)
	ready, reason, message := readiness(next, status)
	w.Set(kruisev1beta1.StatefulSetConditionReady, ready, reason, message)
	stalled(w, next)

	var uncreatable []string
	if next.Uncreatable != "" {
		uncreatable = []string{next.Uncreatable}
	}
	refused := slices.Concat(next.Refused, next.RefusedClaims)
	fail(w, kruisev1beta1.StatefulSetConditionFailedCreatePod, "create", uncreatable, outcomes, creates, ready)
	fail(w, kruisev1beta1.StatefulSetConditionFailedUpdatePod, "update", refused, outcomes, updates, ready)
	return w.List
}

func stalled(w *conditionWriter, next plan.Plan) {
	const kind = kruisev1beta1.StatefulSetConditionStalled
	switch {
	case next.Invalid != nil:
		w.Set(kind, true, "InvalidSpec", next.Invalid.Error())
	case next.Uncreatable != "":
		w.Set(kind, true, "FailedCreate", next.Uncreatable)
	case len(next.Refused) > 0:
		w.Set(kind, true, "UpdateRefused", report.Shortened(next.Refused, "; "))
	case len(next.RefusedClaims) > 0:
		w.Set(kind, true, reasonOfClaims, report.Shortened(next.RefusedClaims, "; "))
	default:
		w.Clear(kind)
	}
}

// fail says what went wrong in this pass. What went wrong before stands until a step of the same sort is taken, or
// until nothing is left to be done: people have to see it longer than a pass takes.
func fail(w *conditionWriter, kind kruisev1beta1.StatefulSetConditionType, verb string, planned []string, outcomes []apply.Outcome, about func(step.Step) bool, reached bool) {
	failed := slices.Concat(planned, report.Failures(outcomes, about))
	taken := slices.ContainsFunc(outcomes, func(o apply.Outcome) bool { return o.Err == nil && about(o.Step) })
	switch {
	case len(failed) > 0:
		w.Set(kind, true, "", fmt.Sprintf("StatefulPodControl failed to %s Pod error: %s", verb, report.Shortened(failed, "; ")))
	case taken || reached:
		w.Clear(kind)
	}
}

func creates(s step.Step) bool {
	switch s.(type) {
	case step.CreatePod, step.CreateClaim:
		return true
	default: // the rest is about pods that are there, and about revisions
		return false
	}
}

func updates(s step.Step) bool {
	switch s := s.(type) {
	case step.AdoptPod, step.ReleasePod, step.PatchPod, step.SetConditions, step.UpdateInPlace, step.GiveClaim, step.ResizeClaim:
		return true
	case step.DeletePod:
		return s.Cause == step.Recreate
	default: // the rest is about which pods there are, and about revisions
		return false
	}
}

// readiness says whether the spec is reached, and if not, how far it is and what it waits for.
func readiness(next plan.Plan, status kruisev1beta1.StatefulSetStatus) (ready bool, reason, message string) {
	if next.Invalid != nil {
		return false, "InvalidSpec", next.Invalid.Error()
	}
	wanted, updated := int32(next.Limits.Replicas), int32(next.Limits.Replicas-next.Limits.Partition)
	reached := status.Replicas == wanted && status.AvailableReplicas == wanted && status.UpdatedReplicas >= updated
	refused := len(next.Refused)+len(next.RefusedClaims) > 0
	if reached && !refused {
		return true, "SpecReached", fmt.Sprintf("%s available, %d of them updated", report.Pods(wanted), status.UpdatedReplicas)
	}
	parts := []string{fmt.Sprintf("%d of %s available, %d of %d updated", status.AvailableReplicas, report.Pods(wanted), status.UpdatedReplicas, updated)}
	if held := cmp.Or(next.Blocked, next.Held); held != "" {
		parts = append(parts, held)
	}
	reason = "Progressing"
	if waiting := waitingPods(next.Members); len(waiting) > 0 {
		reason = "WaitingForPods"
		parts = append(parts, "waiting for "+report.Shortened(waiting, ", "))
	}
	switch {
	case refused:
		reason = "UpdateRefused"
	case next.Blocked != "":
		reason = reasonOfScaleIn
	}
	return false, reason, strings.Join(parts, "; ")
}

func waitingPods(members []plan.Member) []string {
	var waiting []string
	for i := range members {
		if m := &members[i]; !m.Available {
			waiting = append(waiting, report.Waiting(m.Member))
		}
	}
	return waiting
}
