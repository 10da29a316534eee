// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/sets"
)

// waits says for what the rollout waits, or for whom, and since when.
func waits(r *Rollout, now time.Time) string {
	s := &r.Status
	if s.RollingState.IsFinal() {
		return ""
	}
	var text string
	switch s.WaitingFor {
	case rolloutv1alpha1.WaitingForWorkload:
		text = "for the workload"
	case rolloutv1alpha1.WaitingForPods:
		text = "for pods"
	case rolloutv1alpha1.WaitingForInterval:
		text = "for the interval between two pods"
	case rolloutv1alpha1.WaitingForWebhook:
		text = "for a webhook"
	case rolloutv1alpha1.WaitingForMetric:
		text = "for the next sample of a metric"
	case rolloutv1alpha1.WaitingAtPartition:
		text = "for a person, at the partition"
	case rolloutv1alpha1.WaitingForUnpause:
		text = "for a person, who has paused it"
	case rolloutv1alpha1.WaitingForPerson:
		text = "for a person, at a failure"
	default:
		return ""
	}
	since := s.LastProgressTime
	if since == nil {
		return text
	}
	text += fmt.Sprintf(", since %s (%s)", age(now.Sub(since.Time)), since.UTC().Format(time.DateTime)+" UTC")
	if deadline := ptr.Deref(r.Plan.ProgressDeadlineSeconds, 600); s.WaitingFor == rolloutv1alpha1.WaitingForPods && deadline > 0 && !ends(s) {
		if left := since.Add(time.Duration(int64(deadline)-s.StillSeconds) * time.Second).Sub(now); left > 0 {
			text += fmt.Sprintf("; without progress it is given up in %s", sets.Seconds(left))
		}
	}
	return text
}

// ends: it is letting go, for which there is no deadline.
func ends(s *rolloutv1alpha1.RolloutStatus) bool {
	switch s.RollingState {
	case rolloutv1alpha1.RolloutFailingState, rolloutv1alpha1.RolloutAbandoningState, rolloutv1alpha1.RolloutDeletingState,
		rolloutv1alpha1.FinalisingState, rolloutv1alpha1.RolloutSucceedState, rolloutv1alpha1.RolloutFailedState:
		return true
	case rolloutv1alpha1.LocatingTargetAppState, rolloutv1alpha1.VerifyingSpecState, rolloutv1alpha1.InitializingState,
		rolloutv1alpha1.RollingInBatchesState:
	}
	return false
}

// GoesBack tells whether a rollout is bringing back what was before.
func GoesBack(s *rolloutv1alpha1.RolloutStatus) bool {
	return reverts(s) && (s.RollingState == rolloutv1alpha1.RolloutFailingState || s.RollingState == rolloutv1alpha1.RolloutDeletingState)
}

// forSomebody tells whether nothing goes on without a person.
func forSomebody(w rolloutv1alpha1.WaitingFor) bool {
	switch w {
	case rolloutv1alpha1.WaitingAtPartition, rolloutv1alpha1.WaitingForUnpause, rolloutv1alpha1.WaitingForPerson:
		return true
	case rolloutv1alpha1.WaitingForWorkload, rolloutv1alpha1.WaitingForPods, rolloutv1alpha1.WaitingForInterval, rolloutv1alpha1.WaitingForWebhook,
		rolloutv1alpha1.WaitingForMetric:
	}
	return false
}

// next says what a person can type.
func next(r *Rollout) string {
	s := &r.Status
	run := func(verb, name string) string {
		return fmt.Sprintf("`slipway rollout %s %s -n %s`", verb, r.Typed()+name, r.Namespace)
	}
	undo := run("undo", "")
	if r.Application != "" {
		undo = fmt.Sprintf("`slipway app undo %s -n %s`", r.Application, r.Namespace)
	}
	switch {
	case GoesBack(s):
		return run("abort", "") + " leaves the pods as they are"
	case r.DeletionTimestamp != nil || s.ObservedGeneration < r.Generation:
		return ""
	case s.RollingState == rolloutv1alpha1.RolloutFailedState && (reverts(s) || s.Running == nil):
		return run("retry", "") + " begins it anew"
	case s.RollingState == rolloutv1alpha1.RolloutFailedState:
		return run("retry", "") + " begins it anew, " + undo + " goes back"
	case s.RollingState == rolloutv1alpha1.RolloutSucceedState && r.Application != "" && s.Running != nil && s.Running.SourceAppRevision == "":
		return "" // a first release, or another size: the application says the size
	case s.RollingState == rolloutv1alpha1.RolloutSucceedState && s.Running != nil && s.Running.Mode != "": // else there was nothing to do
		return undo + " goes back"
	case ends(s):
		return ""
	}
	abort := run("abort", " --revert") + " goes back"
	if r.Application != "" && s.Running != nil && s.Running.SourceAppRevision != "" {
		abort = undo + " goes back" // the application says what is rolled out
	}
	if s.RollingState != rolloutv1alpha1.RollingInBatchesState { // nothing has moved yet
		abort = run("abort", "") + " ends it"
	}
	switch s.WaitingFor {
	case rolloutv1alpha1.WaitingForUnpause:
		return run("resume", "") + " lets it go on, " + abort
	case rolloutv1alpha1.WaitingAtPartition:
		return fmt.Sprintf("%s lets batch %d begin, with --full all; %s", run("promote", ""), s.CurrentBatch+2, abort)
	case rolloutv1alpha1.WaitingForPerson:
		return run("retry", "") + " tries again, " + run("abort", "") + " ends it, " + abort
	case rolloutv1alpha1.WaitingForWebhook, rolloutv1alpha1.WaitingForMetric:
		return run("approve", "") + " passes this step without it, " + abort
	case rolloutv1alpha1.WaitingForWorkload, rolloutv1alpha1.WaitingForPods, rolloutv1alpha1.WaitingForInterval:
	}
	return run("pause", "") + " starts nothing new, " + abort
}
