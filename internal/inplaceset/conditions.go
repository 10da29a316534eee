// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"fmt"
	"strings"
	"time"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/traffic"
)

// conditions says where a condition of an InPlaceSet keeps what it says.
var conditions = report.Kind[cafev1alpha1.Condition, cafev1alpha1.ConditionType](
	func(c *cafev1alpha1.Condition) report.Fields[cafev1alpha1.ConditionType] {
		return report.Fields[cafev1alpha1.ConditionType]{
			Type: &c.Type, Status: &c.Status, Reason: &c.Reason, Message: &c.Message,
			Transition: &c.LastTransitionTime, Generation: &c.ObservedGeneration,
		}
	})

// conditionsOf are the conditions of the status. Conditions of other writers stay as they are.
//
//   - Ready: the spec is reached. False says what is waited for, pod by pod.
//   - Stalled: nothing will go on without a person.
//   - WaitingForTraffic: pods wait for components to let go of them or to take them on.
//   - FailedScale, FailedUpdate: the last pass could not create or delete, or could not update, and why.
func conditionsOf(world plan.World, next plan.Plan, status cafev1alpha1.InPlaceSetStatus, outcomes []apply.Outcome, now time.Time) []cafev1alpha1.Condition {
	w := conditions.From(world.Set.Status.Conditions, world.Set.Generation, now)
	ready, reason, message := readiness(next, status)
	w.Set(cafev1alpha1.ConditionReady, ready, reason, message)
	switch {
	case next.Invalid != nil:
		w.Set(cafev1alpha1.ConditionStalled, true, "InvalidSpec", next.Invalid.Error())
	case len(next.Refused) > 0:
		w.Set(cafev1alpha1.ConditionStalled, true, "UpdateRefused", report.Shortened(next.Refused, "; "))
	default:
		w.Clear(cafev1alpha1.ConditionStalled)
	}
	if waiting := forTraffic(world, next); len(waiting) > 0 {
		w.Set(cafev1alpha1.ConditionWaitingForTraffic, true, "WaitingForComponents", strings.Join(waiting, "; "))
	} else {
		w.Clear(cafev1alpha1.ConditionWaitingForTraffic)
	}
	w.Fail(cafev1alpha1.ConditionFailedScale, report.Failures(outcomes, scales))
	w.Fail(cafev1alpha1.ConditionFailedUpdate, report.Failures(outcomes, func(s step.Step) bool { return !scales(s) }))
	return w.List
}

// readiness says whether the spec is reached, and if not, how far it is and what it waits for.
func readiness(next plan.Plan, status cafev1alpha1.InPlaceSetStatus) (ready bool, reason, message string) {
	if next.Invalid != nil {
		return false, "InvalidSpec", next.Invalid.Error()
	}
	wanted, updated := int32(next.Limits.Replicas), int32(next.Limits.Replicas-next.Limits.Partition)
	reached := status.Replicas == wanted && status.AvailableReplicas == wanted && status.UpdatedReplicas >= updated
	if reached && len(next.Refused) == 0 {
		return true, "SpecReached", fmt.Sprintf("%s available, %d of them updated", report.Pods(wanted), status.UpdatedReplicas)
	}
	parts := []string{fmt.Sprintf("%d of %s available, %d of %d updated", status.AvailableReplicas, report.Pods(wanted), status.UpdatedReplicas, updated)}
	if next.Held != "" {
		parts = append(parts, next.Held)
	}
	reason = "Progressing"
	if waiting := waitingPods(next); len(waiting) > 0 {
		reason = "WaitingForPods"
		parts = append(parts, "waiting for "+report.Shortened(waiting, ", "))
	}
	if len(next.Refused) > 0 {
		reason = "UpdateRefused"
	}
	return false, reason, strings.Join(parts, "; ")
}

func waitingPods(next plan.Plan) []string {
	var waiting []string
	for _, m := range next.Members {
		if m.Available {
			continue
		}
		if why := traffic.Waiting(m.Pod, next.Components); why != "" {
			waiting = append(waiting, fmt.Sprintf("pod %s (%s)", m.Pod.Name, why))
			continue
		}
		waiting = append(waiting, report.Waiting(m))
	}
	return waiting
}

// forTraffic says which components are waited for and by which pods, those that are on their way out, too. Pods that wait for
// the same are told together, so that many of them hide no component.
func forTraffic(world plan.World, next plan.Plan) []string {
	var order []string
	waiting := map[string][]string{}
	for _, p := range world.Pods {
		why := traffic.Waiting(p, next.Components)
		if why == "" {
			continue
		}
		if len(waiting[why]) == 0 {
			order = append(order, why)
		}
		waiting[why] = append(waiting[why], p.Name)
	}
	for i, why := range order {
		what := "pod "
		if len(waiting[why]) > 1 {
			what = "pods "
		}
		order[i] = what + report.Shortened(waiting[why], ", ") + ": " + why
	}
	return order
}

// scales tells whether a step changes how many pods there are.
func scales(s step.Step) bool {
	switch s := s.(type) {
	case step.CreatePod:
		return true
	case step.DeletePod:
		return s.Cause != step.Recreate
	default: // the rest is about pods that stay, and about revisions
		return false
	}
}
