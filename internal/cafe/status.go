// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/step"
)

// conditions says where a condition of a CafeDeployment keeps what it says.
var conditions = report.Kind[cafev1alpha1.Condition, cafev1alpha1.ConditionType](
	func(c *cafev1alpha1.Condition) report.Fields[cafev1alpha1.ConditionType] {
		return report.Fields[cafev1alpha1.ConditionType]{
			Type: &c.Type, Status: &c.Status, Reason: &c.Reason, Message: &c.Message, Transition: &c.LastTransitionTime, Generation: &c.ObservedGeneration,
		}
	})

type conditionWriter = report.Conditions[cafev1alpha1.Condition, cafev1alpha1.ConditionType]

// report writes the status when anything in it has changed, and then tells people by events what was decided and done. A
// pass that has written the deployment's own annotations leaves the status to the next one, which sees them. What only
// counts pods may have to wait, and then the pass says how long.
func (r *Reconciler) report(ctx context.Context, d *cafev1alpha1.CafeDeployment, m *owned.Memory, next plan.Plan, outcomes []apply.Outcome, now time.Time) (wait time.Duration, err error) {
	defer apply.Tell(r.Events, d, outcomes, nil)
	if next.Annotates && apply.Errors(outcomes) == nil {
		return 0, nil
	}
	status := next.Status
	status.Conditions = conditionsOf(d, next, outcomes, now)
	if equality.Semantic.DeepEqual(d.Status, status) {
		return 0, nil
	}
	if wait := m.CountsIn(now); wait > 0 && len(next.News) == 0 && onlyCounts(&d.Status, &status) {
		return wait, nil
	}
	after := d.DeepCopy()
	after.Status = status
	began := r.Clock.Now()
	if err := r.apply.Status(ctx, d, after); err != nil {
		return 0, err
	}
	m.Reported(began, r.Clock.Now())
	for _, n := range next.News {
		r.Events.Eventf(d, nil, corev1.EventTypeNormal, n.Reason, "Plan", "%s", apply.Cut(n.Note, apply.NoteLimit))
	}
	conditions.TellTrouble(r.Events, d, d.Status.Conditions, status.Conditions, cafev1alpha1.ConditionStalled)
	return 0, nil
}

// onlyCounts tells whether a status differs from the one before in nothing but numbers of pods, and in what conditions say
// while they are as they were. Nothing is decided from these.
func onlyCounts(before, after *cafev1alpha1.CafeDeploymentStatus) bool {
	if len(before.Units) != len(after.Units) {
		return false
	}
	same := *after
	same.Replicas, same.ReadyReplicas, same.AvailableReplicas = before.Replicas, before.ReadyReplicas, before.AvailableReplicas
	same.UpdatedReplicas, same.UpdatedAvailableReplicas = before.UpdatedReplicas, before.UpdatedAvailableReplicas
	same.Units = slices.Clone(after.Units)
	for i := range same.Units {
		u, was := &same.Units[i], &before.Units[i]
		u.Replicas, u.Ready, u.Available, u.Partition = was.Replicas, was.Ready, was.Available, was.Partition
		u.Updated, u.UpdatedAvailable = was.Updated, was.UpdatedAvailable
	}
	same.Conditions = conditions.Unsaid(before.Conditions, after.Conditions)
	return equality.Semantic.DeepEqual(*before, same)
}

// conditionsOf are the conditions of the status. Conditions of other writers stay as they are.
//
//   - TopologyValid: the split over the units adds up.
//   - Progressing: a release, a scaling or a move goes on; the message says what it waits for.
//   - WaitingForConfirm: a group waits for a person.
//   - Available: no unit has fewer available pods than its release leaves it.
//   - Stalled: nothing goes on without a person.
//   - Ready: the spec is reached.
func conditionsOf(d *cafev1alpha1.CafeDeployment, next plan.Plan, outcomes []apply.Outcome, now time.Time) []cafev1alpha1.Condition {
	w := conditions.From(d.Status.Conditions, d.Generation, now)
	if next.Topology != nil {
		w.Set(cafev1alpha1.ConditionTopologyValid, false, "InvalidSplit", next.Topology.Error())
	} else if next.Invalid == nil {
		w.Set(cafev1alpha1.ConditionTopologyValid, true, "SplitAddsUp", split(next))
	}
	failures := report.Failures(outcomes, func(step.Step) bool { return true })
	waits := strings.Join(slices.Concat(failures, next.Full, next.Waits), "; ")
	if waits == "" && len(next.Lacks) > 0 { // no group waits for them: they were lost
		waits = report.Shortened(next.Lacks, "; ")
	}
	progressing(w, next, failures, waits)
	if next.Confirm != "" {
		w.Set(cafev1alpha1.ConditionWaitingForConfirm, true, "GroupDone", next.Confirm)
	} else {
		w.Set(cafev1alpha1.ConditionWaitingForConfirm, false, "NoGroupWaits", "no group waits for a confirmation")
	}
	if len(next.Lacks) > 0 {
		w.Set(cafev1alpha1.ConditionAvailable, false, "UnitsLackPods", report.Shortened(next.Lacks, "; "))
	} else {
		w.Set(cafev1alpha1.ConditionAvailable, true, "UnitsHavePods", "no unit has fewer available pods than its release leaves it")
	}
	stalled(w, next)
	ready(w, d, next, waits)
	return w.List
}

// split tells what each unit is to have: A 5, B 5.
func split(next plan.Plan) string {
	var words []string
	for _, u := range next.Status.Units {
		if u.Name != "" {
			words = append(words, fmt.Sprintf("%s %d", u.Name, u.Desired))
		}
	}
	if len(words) == 0 {
		return "there is one pod set for all pods"
	}
	return strings.Join(words, ", ")
}

func progressing(w *conditionWriter, next plan.Plan, failures []string, waits string) {
	const kind = cafev1alpha1.ConditionProgressing
	phase := next.Status.Phase
	switch {
	case phase == cafev1alpha1.StablePhase:
		w.Set(kind, false, "Complete", "nothing is left to do")
	case next.Invalid != nil || next.Topology != nil:
		w.Set(kind, false, "Blocked", "the spec cannot be acted on")
	case phase == cafev1alpha1.PausedPhase:
		w.Set(kind, false, "Paused", waits)
	case next.Confirm != "":
		w.Set(kind, false, "WaitingForConfirm", next.Confirm)
	case len(failures) > 0:
		w.Set(kind, true, "WriteFailed", waits)
	case len(next.Full) > 0:
		w.Set(kind, false, "UnitFull", waits)
	case waits == "":
		w.Set(kind, true, "Progressing", "pod sets are asked for what stands in writing")
	default:
		w.Set(kind, true, "Progressing", waits)
	}
}

func stalled(w *conditionWriter, next plan.Plan) {
	const kind = cafev1alpha1.ConditionStalled
	switch {
	case next.Invalid != nil:
		w.Set(kind, true, "InvalidSpec", next.Invalid.Error())
	case next.Topology != nil:
		w.Set(kind, true, "InvalidSplit", next.Topology.Error())
	default:
		w.Clear(kind)
	}
}

func ready(w *conditionWriter, d *cafev1alpha1.CafeDeployment, next plan.Plan, waits string) {
	const kind = cafev1alpha1.ConditionReady
	s := &next.Status
	switch {
	case next.Invalid != nil:
		w.Set(kind, false, "InvalidSpec", next.Invalid.Error())
		return
	case next.Topology != nil:
		w.Set(kind, false, "InvalidSplit", next.Topology.Error())
		return
	case s.Phase == cafev1alpha1.StablePhase:
		w.Set(kind, true, "SpecReached", fmt.Sprintf("%s available, %d of them updated", report.Pods(s.AvailableReplicas), s.UpdatedReplicas))
		return
	}
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	message := fmt.Sprintf("%d of %s available, %d updated", s.AvailableReplicas, report.Pods(wanted), s.UpdatedReplicas)
	if more := strings.Join(slices.DeleteFunc([]string{next.Confirm, waits}, func(s string) bool { return s == "" }), "; "); more != "" {
		message += "; " + more
	}
	w.Set(kind, false, string(s.Phase), message)
}
