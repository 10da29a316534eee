// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "fmt"

// FinalizerRollout on a rollout keeps it until it has let go of its workloads. It is there while a rollout is in progress.
const FinalizerRollout = "rollout.slipway.dev/release"

// Keys of workloads that a rollout holds.
const (
	// LabelHeld is "true" on a workload while a rollout holds it.
	LabelHeld = "rollout.slipway.dev/held"
	// AnnotationHeld is the JSON record of what stood in the workload before a rollout claimed it, and of what the rollout
	// has asked it for last. It is there while a rollout holds the workload.
	AnnotationHeld = "rollout.slipway.dev/held"
)

// Annotations of rollouts by which people speak to them. Their values name the moment that they are meant for, so that one
// that is left over does nothing.
const (
	// AnnotationApprove with the value of RolloutStatus.Step has the webhooks and metrics of that step pass.
	AnnotationApprove = "rollout.slipway.dev/approve"
	// AnnotationRetry with the value of RolloutStatus.Take takes up a rollout that has failed, or that waits at a failure.
	AnnotationRetry = "rollout.slipway.dev/retry"
	// AnnotationAbort with the value of RolloutStatus.Take ends a rollout and leaves the pods as they are.
	AnnotationAbort = "rollout.slipway.dev/abort"
	// AnnotationRevert with the value of RolloutStatus.Take ends a rollout and brings back what was before.
	AnnotationRevert = "rollout.slipway.dev/revert"
)

// Take names the try that a rollout is in: a new one begins with each run, and each time that it is taken up after a failure.
func (s *RolloutStatus) Take() string { return fmt.Sprintf("%d.%d", s.Run, s.Attempt) }

// Step names the step that a rollout is in: the state, or the batch and its state.
func (s *RolloutStatus) Step() string {
	if s.RollingState != RollingInBatchesState {
		return fmt.Sprintf("%s/%s", s.Take(), s.RollingState)
	}
	return fmt.Sprintf("%s/%d/%s", s.Take(), s.CurrentBatch, s.BatchRollingState)
}

// IsFinal tells whether nothing moves any more in the state until the spec asks for something new.
func (s RollingState) IsFinal() bool { return s == RolloutSucceedState || s == RolloutFailedState }
