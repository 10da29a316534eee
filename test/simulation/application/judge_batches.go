// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// batches are how many pods each one has. The last one takes the rest, whatever stands here.
type batches []int

// equally divides a number of pods: the contract's arithmetic, written for the judge alone. What does not divide goes to the later ones.
func equally(total, number int) batches {
	all := make(batches, max(number, 1))
	for i := range all {
		all[i] = total / len(all)
		if i >= len(all)-total%len(all) {
			all[i]++
		}
	}
	return all
}

func storedIn(running *rolloutv1alpha1.RunningRollout) batches {
	if running == nil {
		return nil
	}
	all := make(batches, len(running.RolloutBatches))
	for i, b := range running.RolloutBatches {
		if b.Replicas != nil {
			all[i] = b.Replicas.IntValue()
		}
	}
	return all
}

// goal is how many of so many pods are to be done at the end of a batch, from 0. When there are another number of pods than were divided,
// batches stay as they are.
func (b batches) goal(total, batch int) int {
	if batch >= len(b)-1 {
		return total
	}
	done := 0
	for _, size := range b[:batch+1] {
		done += size
	}
	return min(done, total)
}

// batches are those that a run has by now: those that have begun stay as they were written out, and the later ones are what the plan
// says that the pass sees, where that leaves some for the last one.
func (j *judge) batches(r *oamv1beta1.AppRollout) batches {
	stored := storedIn(r.Status.Running)
	begun := min(int(r.Status.CurrentBatch)+1, len(stored))
	saw := j.plans[r.UID]
	if saw == nil {
		return stored
	}
	total := int(r.Status.Running.Total)
	asked := equally(total, int(ptr.Deref(saw.Spec.RolloutPlan.NumBatches, 1)))
	if len(asked) < begun || len(asked) == begun && begun < len(stored) || total > 0 && asked.goal(total, len(asked)-2) >= total {
		return stored
	}
	return slices.Concat(stored[:begun], asked[begun:])
}

// divided: batches are written out as equal parts of the pods, and those of a run that is under way may stay as they were.
func divided(was, is *oamv1beta1.AppRollout) error {
	if is.Status.Running == nil {
		return nil
	}
	var before batches
	if was.Status.Run == is.Status.Run {
		before = storedIn(was.Status.Running)
	}
	after := storedIn(is.Status.Running)
	equal := equally(int(is.Status.Running.Total), len(after))
	for i, size := range after[:max(len(after)-1, 0)] {
		if size != equal[i] && (i >= len(before) || size != before[i]) {
			return fmt.Errorf("batch %d of %d has %d pods, and %d are its part of %d", i+1, len(after), size, equal[i], is.Status.Running.Total)
		}
		if isRolling(was) && isRolling(is) && i < len(before)-1 && i <= int(was.Status.CurrentBatch) && size != before[i] {
			return fmt.Errorf("batch %d of %d has begun with %d pods, and is to have %d", i+1, len(after), before[i], size)
		}
	}
	return nil
}
