// SPDX-License-Identifier: Apache-2.0

package plan

import (
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// repairResizes is for pods that carry the update revision already and do not get its resources. It returns
// false when there is nothing to do.
//
// A pod that serves is given up only while fewer than limit pods are unavailable.
func (p *pass) repairResizes(limit int) (some bool) {
	if p.world.Set.Spec.UpdateStrategy.Type == kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType {
		return false
	}
	down := 0
	for _, m := range p.plan.Members {
		if !m.Available {
			down++
		}
	}
	for _, m := range p.plan.Members {
		if !m.Updated || m.PreparingDelete() {
			continue
		}
		repair := p.asked.Repair(m)
		p.tell(repair)
		if repair.Step == nil {
			continue
		}
		if m.Available {
			if down >= limit {
				p.hold("the pods that are not available use up the allowance")
				continue
			}
			down++
		}
		p.pods[m.Pod.UID], some = repair.Step, true
	}
	return some
}
