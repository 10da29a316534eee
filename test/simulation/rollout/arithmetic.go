// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/world"
)

// The contract's arithmetic, written for the judge alone: it must not borrow it from the code that it judges.

// goalAfter is how many of so many pods are to be done at the end of a batch, from 0; none before the first one. Equal batches are written
// out when the rollout begins, with as many pods as there were then.
func goalAfter(p *rolloutv1alpha1.RolloutPlan, batch, began, total int) int {
	if batch < 0 {
		return 0
	}
	if len(p.RolloutBatches) == 0 {
		number := int(max(1, valueOf(p.NumBatches)))
		done := 0
		for i := 0; i <= batch && i < number-1; i++ {
			done += began / number
			if i >= number-began%number { // what does not divide goes to the later ones
				done++
			}
		}
		if batch >= number-1 {
			return total
		}
		return min(done, total)
	}
	done := 0
	for i := 0; i <= batch && i < len(p.RolloutBatches); i++ {
		if i == len(p.RolloutBatches)-1 {
			return total
		}
		done = min(total, done+world.Share(p.RolloutBatches[i].Replicas, total, true, 0))
	}
	return done
}

// toleratedIn is how many of the pods that are done may be unavailable at the end of a batch.
func toleratedIn(p *rolloutv1alpha1.RolloutPlan, batch, total int) int {
	if batch < 0 || batch >= len(p.RolloutBatches) {
		return 0
	}
	return world.Share(p.RolloutBatches[batch].MaxUnavailable, total, false, 0)
}

func isLast(p *rolloutv1alpha1.RolloutPlan, batch int) bool {
	return batch >= max(len(p.RolloutBatches), int(valueOf(p.NumBatches)), 1)-1
}

func valueOf(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

const errorsAllowed = 5
