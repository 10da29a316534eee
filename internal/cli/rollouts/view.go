// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/internal/rollout/engine"
)

// NewView looks at a rollout.
func NewView(r *Rollout, now time.Time) sets.View {
	s := &r.Status
	v := sets.View{
		Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Generation: r.Generation, Observed: s.ObservedGeneration,
		Deleting: r.DeletionTimestamp != nil, Age: now.Sub(r.CreationTimestamp.Time), Podless: true,
		Stage:      fmt.Sprint(engine.StateOf(s), s.CurrentBatch, s.WaitingFor, s.Take()),
		Conditions: conditions(r), Facts: facts(r, now), Body: body(r, now),
	}
	v.Phase, v.Headline = phase(r)
	v.Cells = []tree.Span{
		{Text: r.Name}, {Text: targetOf(r)}, {Text: batchOf(r)}, {Text: fmt.Sprint(s.UpgradedReplicas)}, {Text: fmt.Sprint(s.UpgradedReadyReplicas)},
		{Text: age(v.Age)}, {Text: stateName(s)}, {Text: sourceOf(r)}, {Text: string(policyOf(&r.Plan))},
	}
	return v
}

// wideOnly is how many of a view's cells are shown in wide tables only.
const wideOnly = 3

// table lays rollouts out.
func table(views []sets.View, namespaces, wide bool) ([]tree.Column, []tree.Node) {
	columns := []tree.Column{
		{Title: "NAME"}, {Title: "TARGET", Drop: 2}, {Title: "BATCH", Drop: 1}, {Title: "UPGRADED", Drop: 3}, {Title: "READY", Drop: 3}, {Title: "AGE", Drop: 4},
		{Title: "STATE"}, {Title: "SOURCE"}, {Title: "ON-FAILURE"},
	}
	shown := len(columns)
	if !wide {
		shown -= wideOnly
	}
	return sets.Rows(columns[:shown:shown], views, namespaces, func(v sets.View) []tree.Span { return v.Cells[:shown:shown] })
}

// phase says in a word and in a sentence how a rollout is doing.
func phase(r *Rollout) (sets.Phase, string) {
	s := &r.Status
	message := strings.TrimSpace(s.Message)
	switch {
	case r.DeletionTimestamp != nil:
		return sets.Deleting, "being deleted: " + cmp.Or(message, "it lets go of what it holds")
	case s.RollingState == "" || s.ObservedGeneration < r.Generation:
		return sets.Unseen, "waiting for the controller to look at the newest spec"
	}
	switch s.RollingState {
	case rolloutv1alpha1.RolloutSucceedState:
		return sets.Complete, "succeeded: " + message
	case rolloutv1alpha1.RolloutFailedState:
		return sets.Failed, "failed: " + message
	case rolloutv1alpha1.RolloutFailingState:
		if s.Ending == rolloutv1alpha1.RevertEnding {
			return sets.Failed, "reverting: " + message
		}
		return sets.Failed, "failing: " + message
	case rolloutv1alpha1.RolloutAbandoningState:
		return sets.Releasing, "making room for what is newer: " + message
	case rolloutv1alpha1.LocatingTargetAppState, rolloutv1alpha1.VerifyingSpecState, rolloutv1alpha1.InitializingState,
		rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.FinalisingState, rolloutv1alpha1.RolloutDeletingState:
	}
	if s.Failure != nil {
		return sets.HeldUp, message
	}
	switch s.WaitingFor {
	case rolloutv1alpha1.WaitingForUnpause, rolloutv1alpha1.WaitingAtPartition:
		return sets.Paused, withBatch(r, message)
	case rolloutv1alpha1.WaitingForPerson:
		return sets.HeldUp, message
	case rolloutv1alpha1.WaitingForWorkload, rolloutv1alpha1.WaitingForPods, rolloutv1alpha1.WaitingForInterval,
		rolloutv1alpha1.WaitingForWebhook, rolloutv1alpha1.WaitingForMetric:
	}
	return sets.Releasing, withBatch(r, message)
}

// withBatch names the batch in front of a message that does not.
func withBatch(r *Rollout, message string) string {
	if batch := batchOf(r); batch != "-" && r.Status.RollingState == rolloutv1alpha1.RollingInBatchesState && !strings.Contains(message, "batch ") {
		return strings.Replace("batch "+batch, "/", " of ", 1) + ": " + message
	}
	return message
}

// conditions hold what news are made of. The rest of the view says what they say.
func conditions(r *Rollout) []sets.Condition {
	var shown []sets.Condition
	for _, c := range r.Status.Conditions {
		shown = append(shown, sets.Condition{
			Type: c.Type, Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, Quiet: true,
			Trouble: c.Type == rolloutv1alpha1.ConditionStalled && c.Status == metav1.ConditionTrue,
		})
	}
	return shown
}

func facts(r *Rollout, now time.Time) []sets.Fact {
	s := &r.Status
	all := []sets.Fact{{Name: "rollout", Text: Change(r)}}
	if pods := pods(r); pods != "" {
		all = append(all, sets.Fact{Name: "pods", Text: pods})
	}
	all = append(all, sets.Fact{Name: "plan", Text: Plan(r)})
	if s.RollingState != "" {
		all = append(all, sets.Fact{Name: "state", Text: state(r)})
	}
	if f := s.Failure; f != nil {
		all = append(all, sets.Fact{Name: "failure", Text: f.Reason + ": " + f.Message, Alert: true})
	}
	if text := waits(r, now); text != "" {
		all = append(all, sets.Fact{Name: "waits", Text: text, Alert: forSomebody(s.WaitingFor)})
	}
	if text := next(r); text != "" {
		all = append(all, sets.Fact{Name: "next", Text: text})
	}
	return all
}

// Change says what becomes of what.
func Change(r *Rollout) string {
	asks := r.Revisions
	if asks == nil {
		return ofWorkloads(r)
	}
	target, source := asks.Target, asks.Source
	running := r.Status.Running
	if running != nil && running.TargetAppRevision != "" {
		target, source = running.TargetAppRevision, running.SourceAppRevision
	}
	change := fmt.Sprintf("from %s to %s", source, target)
	switch { // without a name it is the one component that both have
	case asks.Component != "" && source == "":
		change = fmt.Sprintf("component %s of %s", asks.Component, target)
	case asks.Component != "":
		change = fmt.Sprintf("component %s %s", asks.Component, change)
	case source == "":
		change = target
	}
	switch {
	case running != nil && running.TargetRef.Name != "":
		change += ": " + ofWorkloads(r)
	case source == "" && r.Plan.TargetSize != nil:
		change += fmt.Sprintf(", %d pods", *r.Plan.TargetSize)
	}
	return change
}

// ofWorkloads says what becomes of which workload.
func ofWorkloads(r *Rollout) string {
	target, source, size := r.Target, "-", r.Plan.TargetSize
	if r.Source != nil {
		source = Ref(*r.Source)
	}
	if running := r.Status.Running; running != nil {
		switch running.Mode {
		case rolloutv1alpha1.ScaleMode:
			return fmt.Sprintf("%s from %d to %d pods", Ref(running.TargetRef), r.Status.RolloutOriginalSize, max(r.Status.RolloutTargetSize, 0))
		case rolloutv1alpha1.InPlaceMode:
			return Ref(running.TargetRef) + " to its newest template"
		case rolloutv1alpha1.TwoObjectsMode:
		}
		target = running.TargetRef
		if running.SourceRef != nil {
			source = Ref(*running.SourceRef)
		}
	}
	switch {
	case source != "-" && r.Plan.RolloutStrategy == rolloutv1alpha1.DecreaseFirst:
		return fmt.Sprintf("from %s to %s, shrinking first", source, Ref(target))
	case source != "-":
		return fmt.Sprintf("from %s to %s, growing first", source, Ref(target))
	case size != nil:
		return fmt.Sprintf("%s, %d pods", Ref(target), *size)
	}
	return Ref(target)
}

// pods tells how many are done. A rollout that reverts counts in another direction, and its message tells.
func pods(r *Rollout) string {
	s := &r.Status
	total := total(r)
	if total < 0 {
		return ""
	}
	if s.Running.Mode == rolloutv1alpha1.ScaleMode {
		verb := "added"
		if s.RolloutTargetSize < s.RolloutOriginalSize {
			return fmt.Sprintf("%d of %d removed", s.UpgradedReplicas, total)
		}
		return fmt.Sprintf("%d of %d %s, %d of them ready", s.UpgradedReplicas, total, verb, s.UpgradedReadyReplicas)
	}
	if reverts(s) {
		return fmt.Sprintf("%d in all", total)
	}
	return fmt.Sprintf("%d in all, %d on the new version, %d of them available", total, s.UpgradedReplicas, s.UpgradedReadyReplicas)
}

func reverts(s *rolloutv1alpha1.RolloutStatus) bool {
	return s.Ending == rolloutv1alpha1.RevertEnding
}

// Plan says in a line how the rollout goes about it.
func Plan(r *Rollout) string {
	p := &r.Plan
	n := len(batches(r))
	parts := []string{count(n, "batch")}
	if p.BatchPartition != nil && int(*p.BatchPartition) < n-1 {
		parts = append(parts, fmt.Sprintf("stops after batch %d (batchPartition %d)", *p.BatchPartition+1, *p.BatchPartition))
	}
	deadline := time.Duration(ptr.Deref(p.ProgressDeadlineSeconds, 600)) * time.Second
	if deadline > 0 {
		parts = append(parts, fmt.Sprintf("at most %s without progress", duration.HumanDuration(deadline)))
	}
	parts = append(parts, map[rolloutv1alpha1.FailurePolicy]string{
		rolloutv1alpha1.FailOnFailure: "ends on a failure", rolloutv1alpha1.PauseOnFailure: "waits on a failure", rolloutv1alpha1.RevertOnFailure: "reverts on a failure",
	}[policyOf(p)])
	if r.RevertOnDelete {
		parts = append(parts, "reverts when deleted")
	}
	if p.Paused {
		parts = append(parts, "paused")
	}
	return strings.Join(parts, ", ")
}

func policyOf(p *rolloutv1alpha1.RolloutPlan) rolloutv1alpha1.FailurePolicy {
	return cmp.Or(p.FailurePolicy, rolloutv1alpha1.FailOnFailure)
}

func state(r *Rollout) string {
	s := &r.Status
	text := engine.StateOf(s).String()
	if s.Run > 1 {
		text += fmt.Sprintf(", run %d", s.Run)
	}
	if s.Attempt > 0 {
		text += fmt.Sprintf(", taken up again %s", count(int(s.Attempt), "time"))
	}
	return text
}

// stateName is the state in one word: within batches that of the batch.
func stateName(s *rolloutv1alpha1.RolloutStatus) string {
	at := engine.StateOf(s)
	return cmp.Or(string(at.Batch), string(at.Rolling), "-")
}

// batchOf is the number of the current batch and of all, from 1, as people count.
func batchOf(r *Rollout) string {
	s := &r.Status
	if s.Running == nil || s.BatchRollingState == "" {
		return "-"
	}
	return fmt.Sprintf("%d/%d", s.CurrentBatch+1, len(s.Running.RolloutBatches))
}

// Ref is a workload as people write it.
func Ref(ref rolloutv1alpha1.WorkloadReference) string {
	return ref.Kind + " " + ref.Name
}

func targetOf(r *Rollout) string {
	if r.Revisions != nil {
		return r.Revisions.Target
	}
	return Ref(r.Target)
}

func sourceOf(r *Rollout) string {
	switch {
	case r.Revisions != nil:
		return cmp.Or(r.Revisions.Source, "-")
	case r.Source == nil:
		return "-"
	}
	return Ref(*r.Source)
}

func age(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }

func count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "h"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
