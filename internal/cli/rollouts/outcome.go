// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"fmt"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
)

// Outcome is how far a rollout is, for programs.
type Outcome int

const (
	// GoesOn: it has not ended; it may wait for somebody.
	GoesOn Outcome = iota
	// Succeeded: it has ended well.
	Succeeded
	// Failed: it has ended otherwise.
	Failed
)

// OutcomeOf is how far a rollout is. What the controller has not looked at yet goes on, and so does one that has failed
// and is to be tried again.
func OutcomeOf(r *Rollout) Outcome {
	s := &r.Status
	switch {
	case r.DeletionTimestamp != nil, s.ObservedGeneration < r.Generation:
		return GoesOn
	case s.RollingState == rolloutv1alpha1.RolloutSucceedState:
		return Succeeded
	case s.RollingState == rolloutv1alpha1.RolloutFailedState && r.Annotations[rolloutv1alpha1.AnnotationRetry] != s.Take():
		return Failed
	}
	return GoesOn
}

// Line says in one line how far a rollout is: name, state, batch, pods, and what it does or waits for.
func Line(r *Rollout) string {
	s := &r.Status
	_, headline := phase(r)
	line := fmt.Sprintf("%s/%s %s", r.Namespace, r.Name, engine.StateOf(s))
	if batch := batchOf(r); batch != "-" {
		line += " batch " + batch
	}
	if total := total(r); total >= 0 && !reverts(s) {
		line += fmt.Sprintf(" pods %d/%d", s.UpgradedReadyReplicas, total)
	}
	return line + ": " + headline
}
