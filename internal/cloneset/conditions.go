// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// namedInMessage is how many pods or failures a message names before it only counts the others.
const namedInMessage = 3

// conditionsOf are the conditions of the status. Conditions of other writers stay as they are.
//
//   - Ready: the spec is reached. False says what is waited for, pod by pod.
//   - Stalled: nothing will go on without a person.
//   - Progressing: whether the release keeps its deadline, when it has one.
//   - FailedScale, FailedUpdate: the last pass could not create or delete, or could not update, and why.
func conditionsOf(set *kruisev1alpha1.CloneSet, next plan.Plan, status kruisev1alpha1.CloneSetStatus, outcomes []apply.Outcome, now time.Time) []kruisev1alpha1.CloneSetCondition {
	scaling, updating := failures(outcomes)
	updating = slices.Concat(next.Refused, updating)
	if next.Uncreatable != "" {
		scaling = slices.Concat([]string{next.Uncreatable}, scaling)
	}
	w := conditionWriter{conditions: slices.Clone(set.Status.Conditions), generation: set.Generation, now: metav1.NewTime(now)}

	ready, reason, message := readiness(next, status)
	w.set(kruisev1alpha1.CloneSetConditionReady, ready, reason, message)
	switch {
	case next.Invalid != nil:
		w.set(kruisev1alpha1.CloneSetConditionStalled, true, "InvalidSpec", next.Invalid.Error())
	case next.Uncreatable != "":
		w.set(kruisev1alpha1.CloneSetConditionStalled, true, "FailedCreate", next.Uncreatable)
	case len(next.Refused) > 0:
		w.set(kruisev1alpha1.CloneSetConditionStalled, true, "UpdateRefused", shortened(next.Refused, "; "))
	default:
		w.clear(kruisev1alpha1.CloneSetConditionStalled)
	}
	w.progress(set, next, status)
	w.fail(kruisev1alpha1.CloneSetConditionFailedScale, scaling)
	w.fail(kruisev1alpha1.CloneSetConditionFailedUpdate, updating)
	return w.conditions
}

// readiness says whether the spec is reached, and if not, how far it is and what it waits for.
func readiness(next plan.Plan, status kruisev1alpha1.CloneSetStatus) (ready bool, reason, message string) {
	if next.Invalid != nil {
		return false, "InvalidSpec", next.Invalid.Error()
	}
	wanted := int32(next.Limits.Replicas)
	reached := status.Replicas == wanted && status.AvailableReplicas == wanted && status.UpdatedReplicas >= status.ExpectedUpdatedReplicas
	if reached && len(next.Refused) == 0 {
		return true, "SpecReached", fmt.Sprintf("%s available, %d of them updated", pods(wanted), status.UpdatedReplicas)
	}
	parts := []string{fmt.Sprintf("%d of %s available, %d of %d updated", status.AvailableReplicas, pods(wanted), status.UpdatedReplicas, status.ExpectedUpdatedReplicas)}
	if next.Held != "" {
		parts = append(parts, next.Held)
	}
	reason = "Progressing"
	if waiting := waitingPods(next.Members); len(waiting) > 0 {
		reason = "WaitingForPods"
		parts = append(parts, "waiting for "+shortened(waiting, ", "))
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
		why := cmp.Or(pod.WaitingFor(m.Pod), m.Progress.Waiting, "ready, and not yet for minReadySeconds")
		waiting = append(waiting, fmt.Sprintf("pod %s (%s)", m.Pod.Name, why))
	}
	return waiting
}

// failures sorts what went wrong by the condition that tells of it.
func failures(outcomes []apply.Outcome) (scaling, updating []string) {
	for _, o := range outcomes {
		switch {
		case o.Err == nil || apply.IsConflict(o.Err):
		case scales(o.Step):
			scaling = append(scaling, o.Err.Error())
		default:
			updating = append(updating, o.Err.Error())
		}
	}
	return scaling, updating
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

func shortened(list []string, separator string) string {
	if len(list) <= namedInMessage {
		return strings.Join(list, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:namedInMessage], separator), len(list)-namedInMessage)
}

func pods(n int32) string { return step.Counted(int(n), "pod", "pods") }

// conditionWriter changes a condition only where it says something new, so that a settled set causes no
// write.
type conditionWriter struct {
	conditions []kruisev1alpha1.CloneSetCondition
	generation int64
	now        metav1.Time
}

func (w *conditionWriter) set(kind kruisev1alpha1.CloneSetConditionType, is bool, reason, message string) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	written := kruisev1alpha1.CloneSetCondition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: w.generation,
		LastUpdateTime: w.now, LastTransitionTime: w.now,
	}
	existing := conditionOf(w.conditions, kind)
	if existing == nil {
		w.conditions = append(w.conditions, written)
		return
	}
	if existing.Status == status {
		written.LastTransitionTime = existing.LastTransitionTime
	}
	if existing.Status == status && existing.Reason == reason && existing.Message == message {
		written.LastUpdateTime = existing.LastUpdateTime
	}
	*existing = written
}

// fail says that the last pass failed, or takes it back.
func (w *conditionWriter) fail(kind kruisev1alpha1.CloneSetConditionType, failures []string) {
	if len(failures) == 0 {
		w.clear(kind)
		return
	}
	w.set(kind, true, "", shortened(failures, "; "))
}

// clear sets a condition to False that was True once.
func (w *conditionWriter) clear(kind kruisev1alpha1.CloneSetConditionType) {
	if conditionOf(w.conditions, kind) != nil {
		w.set(kind, false, "", "")
	}
}
