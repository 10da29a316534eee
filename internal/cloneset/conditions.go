// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"
	"slices"
	"strings"
	"time"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/step"
)

// conditions says where a condition of a CloneSet keeps what it says.
var conditions = report.Kind[kruisev1alpha1.CloneSetCondition, kruisev1alpha1.CloneSetConditionType](
	func(c *kruisev1alpha1.CloneSetCondition) report.Fields[kruisev1alpha1.CloneSetConditionType] {
		return report.Fields[kruisev1alpha1.CloneSetConditionType]{
			Type: &c.Type, Status: &c.Status, Reason: &c.Reason, Message: &c.Message,
			Transition: &c.LastTransitionTime, Update: &c.LastUpdateTime, Generation: &c.ObservedGeneration,
		}
	})

// conditionsOf are the conditions of the status. Conditions of other writers stay as they are.
//
//   - Ready: the spec is reached. False says what is waited for, pod by pod.
//   - Stalled: nothing will go on without a person.
//   - Progressing: whether the release keeps its deadline, when it has one.
//   - FailedScale, FailedUpdate: the last pass could not create or delete, or could not update, and why.
func conditionsOf(set *kruisev1alpha1.CloneSet, next plan.Plan, status kruisev1alpha1.CloneSetStatus, outcomes []apply.Outcome, now time.Time) []kruisev1alpha1.CloneSetCondition {
	scaling, updating := report.Failures(outcomes, scales), report.Failures(outcomes, func(s step.Step) bool { return !scales(s) })
	updating = slices.Concat(next.Refused, updating)
	if next.Uncreatable != "" {
		scaling = slices.Concat([]string{next.Uncreatable}, scaling)
	}
	w := conditions.From(set.Status.Conditions, set.Generation, now)

	ready, reason, message := readiness(next, status)
	w.Set(kruisev1alpha1.CloneSetConditionReady, ready, reason, message)
	switch {
	case next.Invalid != nil:
		w.Set(kruisev1alpha1.CloneSetConditionStalled, true, "InvalidSpec", next.Invalid.Error())
	case next.Uncreatable != "":
		w.Set(kruisev1alpha1.CloneSetConditionStalled, true, "FailedCreate", next.Uncreatable)
	case len(next.Refused) > 0:
		w.Set(kruisev1alpha1.CloneSetConditionStalled, true, "UpdateRefused", report.Shortened(next.Refused, "; "))
	default:
		w.Clear(kruisev1alpha1.CloneSetConditionStalled)
	}
	progress(w, set, next, status, now)
	w.Fail(kruisev1alpha1.CloneSetConditionFailedScale, scaling)
	w.Fail(kruisev1alpha1.CloneSetConditionFailedUpdate, updating)
	return w.List
}

// readiness says whether the spec is reached, and if not, how far it is and what it waits for.
func readiness(next plan.Plan, status kruisev1alpha1.CloneSetStatus) (ready bool, reason, message string) {
	if next.Invalid != nil {
		return false, "InvalidSpec", next.Invalid.Error()
	}
	wanted := int32(next.Limits.Replicas)
	reached := status.Replicas == wanted && status.AvailableReplicas == wanted && status.UpdatedReplicas >= status.ExpectedUpdatedReplicas
	if reached && len(next.Refused) == 0 {
		return true, "SpecReached", fmt.Sprintf("%s available, %d of them updated", report.Pods(wanted), status.UpdatedReplicas)
	}
	parts := []string{fmt.Sprintf("%d of %s available, %d of %d updated", status.AvailableReplicas, report.Pods(wanted), status.UpdatedReplicas, status.ExpectedUpdatedReplicas)}
	if next.Held != "" {
		parts = append(parts, next.Held)
	}
	reason = "Progressing"
	if waiting := waitingPods(next.Members); len(waiting) > 0 {
		reason = "WaitingForPods"
		parts = append(parts, "waiting for "+report.Shortened(waiting, ", "))
	}
	if len(next.Refused) > 0 {
		reason = "UpdateRefused"
	}
	return false, reason, strings.Join(parts, "; ")
}

func waitingPods(members []plan.Member) []string {
	var waiting []string
	for _, m := range members {
		if m.Available {
			continue
		}
		waiting = append(waiting, report.Waiting(m))
	}
	return waiting
}

// scales tells whether a step changes how many pods there are.
func scales(s step.Step) bool {
	switch s := s.(type) {
	case step.CreatePod, step.CreateClaim, step.DeleteClaim:
		return true
	case step.DeletePod:
		return s.Cause != step.Recreate
	default: // the rest is about pods that stay, and about revisions
		return false
	}
}
