// SPDX-License-Identifier: Apache-2.0

package sets

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/cli/tree"
)

// Phase is how a set is doing, in a word.
type Phase int

// The phases.
const (
	// Unseen: the controller has not looked at the newest spec yet.
	Unseen Phase = iota + 1
	// Deleting: the set is being deleted.
	Deleting
	// Failed: the controller says that it cannot go on as things are.
	Failed
	// HeldUp: pods of the new revision fail or do not get ready, and the allowance for unavailable pods is used up.
	HeldUp
	// Paused: the release waits for a person.
	Paused
	// Releasing: pods are being brought to the new revision.
	Releasing
	// Scaling: there are too few or too many pods.
	Scaling
	// Recovering: the right pods exist, and not all of them are available.
	Recovering
	// Complete: nothing is left to do.
	Complete
)

// String is the phase as one word.
func (p Phase) String() string {
	switch p {
	case Unseen:
		return "Unseen"
	case Deleting:
		return "Deleting"
	case Failed:
		return "Failed"
	case HeldUp:
		return "HeldUp"
	case Paused:
		return "Paused"
	case Releasing:
		return "Releasing"
	case Scaling:
		return "Scaling"
	case Recovering:
		return "Recovering"
	case Complete:
		return "Complete"
	}
	return "Unknown"
}

func (p Phase) mark() tree.Mark {
	switch p {
	case Complete:
		return tree.Good
	case Failed, HeldUp:
		return tree.Bad
	case Paused:
		return tree.Paused
	case Deleting:
		return tree.Leaving
	case Unseen:
		return tree.Waiting
	case Releasing, Scaling, Recovering:
		return tree.Working
	}
	return tree.None
}

// Settled says that the controller has seen the newest spec and that nothing is left to do for
// it: every pod exists and is available, and all but those that the partition keeps are updated.
func (v View) Settled() bool { return v.Phase == Complete }

// target is how many pods the spec wants on the new revision.
func (v View) target() int { return max(v.Desired-v.Limits.Partition, 0) }

// outdated is how many pods are still to be brought to the new revision.
func (v View) outdated() int { return max(v.Total-v.Leaving-v.Updated-v.Limits.Partition, 0) }

func phase(v View) (Phase, string) {
	updated := fmt.Sprintf("%d of %d pods updated", v.Updated, v.target())
	deadline := v.condition(conditionProgressing, corev1.ConditionFalse)
	stalled := v.condition(conditionStalled, corev1.ConditionTrue)
	stuck := stuckUpdated(v)
	switch {
	case v.Deleting:
		return Deleting, fmt.Sprintf("being deleted, %s left", count(v.Total, "pod"))
	case v.Observed < v.Generation:
		return Unseen, "waiting for the controller to look at the newest spec"
	case v.LimitsErr != nil:
		return Failed, v.LimitsErr.Error()
	case stalled != nil:
		return Failed, stalled.Message
	case v.settled():
		return Complete, complete(v, updated)
	case v.outdated() > 0 && v.Halt != "":
		return Paused, v.Halt + ": " + updated
	case v.outdated() > 0 && stuck > 0 && v.Desired-v.Available >= v.Limits.Unavailable:
		return HeldUp, fmt.Sprintf("held up: %s, %d of them %s not get ready; no more than %d may be unavailable",
			updated, stuck, plural(stuck, "does", "do"), v.Limits.Unavailable)
	case deadline != nil:
		return Failed, deadline.Message
	case v.outdated() > 0:
		return Releasing, fmt.Sprintf("releasing: %s, %d not available", updated, max(v.Desired-v.Available, 0))
	case v.Total != v.Desired:
		return Scaling, fmt.Sprintf("scaling: %d of %d pods exist", v.Total, v.Desired)
	case v.Misplaced > 0:
		return Scaling, fmt.Sprintf("scaling: %s to be replaced by one of another ordinal", count(v.Misplaced, "pod"))
	case stuck > 0:
		return Recovering, fmt.Sprintf("%d of %d pods available, %d %s not get ready",
			v.Available, v.Desired, stuck, plural(stuck, "does", "do"))
	default:
		return Recovering, fmt.Sprintf("%d of %d pods available", v.Available, v.Desired)
	}
}

func complete(v View, updated string) string {
	switch {
	case v.Desired == 0:
		return "scaled to zero"
	case v.Updated < v.Total:
		return fmt.Sprintf("released up to the partition: %s and available, %d kept back", updated, v.Total-v.Updated)
	default:
		return fmt.Sprintf("released: %s and available", updated)
	}
}

// settled asks the pods and the status: the one is newer, the other is what other programs see.
func (v View) settled() bool {
	return v.Total == v.Desired && v.Available == v.Desired && v.Updated >= v.target() && v.Misplaced == 0 &&
		v.Reported.Total == v.Desired && v.Reported.Available == v.Desired && v.Reported.Updated >= v.target()
}

func stuckUpdated(v View) int {
	n := 0
	for _, r := range v.Revisions {
		for _, p := range r.Pods {
			if r.Update && p.stuck {
				n++
			}
		}
	}
	return n
}

func count(n int, noun string) string { return fmt.Sprintf("%d %s", n, plural(n, noun, noun+"s")) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
