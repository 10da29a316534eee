// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/budget"
)

// Batches writes out the batches of a plan. Equal ones become numbers, so they need the number of pods that they divide.
func Batches(p *rolloutv1alpha1.RolloutPlan, total int) []rolloutv1alpha1.RunningBatch {
	if len(p.RolloutBatches) == 0 {
		return equalBatches(int(ptr.Deref(p.NumBatches, 1)), total)
	}
	batches := make([]rolloutv1alpha1.RunningBatch, len(p.RolloutBatches))
	for i, b := range p.RolloutBatches {
		batches[i] = rolloutv1alpha1.RunningBatch{Replicas: b.Replicas, MaxUnavailable: b.MaxUnavailable, InstanceInterval: b.InstanceInterval}
	}
	return batches
}

// equalBatches divide total; the later ones take what does not divide. The last one stays open, for the total can change.
func equalBatches(number, total int) []rolloutv1alpha1.RunningBatch {
	batches := make([]rolloutv1alpha1.RunningBatch, max(number, 1))
	share, rest := total/len(batches), total%len(batches)
	for i := range len(batches) - 1 {
		size := share
		if len(batches)-i <= rest {
			size++
		}
		batches[i].Replicas = ptr.To(intstr.FromInt32(int32(size)))
	}
	return batches
}

// CheckBatches tells why batches do not add up to a total, as an error that names the field.
func CheckBatches(batches []rolloutv1alpha1.RunningBatch, total int) error {
	if total == 0 {
		return nil // nothing to divide: each batch is empty
	}
	sum, last := 0, len(batches)-1
	for i, b := range batches {
		field := fmt.Sprintf("spec.rolloutPlan.rolloutBatches[%d].replicas", i)
		size, err := budget.Resolve(b.Replicas, total, budget.Up, field)
		if err != nil {
			return fmt.Errorf("reading a batch: %w", err)
		}
		if i < last {
			if b.Replicas == nil {
				return fmt.Errorf("%s: is needed in every batch but the last", field)
			}
			sum += size
			if sum >= total {
				return fmt.Errorf("%s: the batches up to this one take %d pods of %d, and leave none for the last one", field, sum, total)
			}
			continue
		}
		if b.Replicas != nil && b.Replicas.Type == intstr.Int && sum+size != total {
			return fmt.Errorf("%s: must be %d, which is what the batches before leave of %d pods, and is %d; leave it out to take the rest", field, total-sum, total, size)
		}
	}
	return nil
}

// Goals are how many pods are to be done after each batch: the running sum, and all after the last. A total that has changed
// since the batches were checked leaves numbers as they are and gives percentages their share.
func Goals(batches []rolloutv1alpha1.RunningBatch, total int) []int {
	goals := make([]int, len(batches))
	sum := 0
	for i, b := range batches {
		size, err := budget.Resolve(b.Replicas, total, budget.Up, "replicas")
		if err != nil { // the schema and CheckBatches have read it before
			size = 0
		}
		sum = min(sum+size, total)
		goals[i] = sum
	}
	if len(goals) > 0 {
		goals[len(goals)-1] = total
	}
	return goals
}

// Tolerated is how many of the updated pods may be unavailable when a batch is done.
func Tolerated(b rolloutv1alpha1.RunningBatch, total int) int {
	n, err := budget.Resolve(b.MaxUnavailable, total, budget.Down, "maxUnavailable")
	if err != nil { // the schema has read it before
		return 0
	}
	return n
}
