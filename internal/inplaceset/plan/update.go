// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// update brings pods to the update revision, as many as the partition wants and the allowance lets.
func (p *pass) update() {
	s, candidates := p.scaling(isUpdated), p.candidates()
	if p.world.Set.Spec.Strategy.Paused && s.Wish > 0 {
		p.hold(fmt.Sprintf("paused with %s to update", step.Counted(s.Wish, "pod", "pods")))
		p.callOff(candidates)
		return
	}
	unavailable, onTarget := p.unavailable()
	allowance := budget.NewAllowance(s, unavailable, onTarget)
	for i, m := range candidates {
		switch stop := allowance.Refuses(m.Available); stop {
		case budget.NotStopped:
		case budget.StoppedByUnavailable:
			p.hold(stop.String())
			continue
		case budget.StoppedByTarget:
			// A pod that prepares for its update was allowed for when it began, and is unavailable already. If the
			// allowance has shrunk since, only its update brings it back.
			if !m.PreparingUpdate() {
				p.hold(stop.String())
				return
			}
		case budget.StoppedByWish:
			p.callOff(candidates[i:])
			return
		}
		update := p.asked.UpdateOf(m)
		p.take(m.Pod, update)
		allowance.Spend(m.Available)
		if update.Step != nil {
			p.turns[m.Pod.UID] = 1 + i
		}
	}
}

func (p *pass) unavailable() (all, onTarget int) {
	for _, m := range p.plan.Members {
		if !m.Available {
			all++
			if m.Updated {
				onTarget++
			}
		}
	}
	return all, onTarget
}

// candidates are the pods to update, first in front. Those that prepare for their update already come before all
// others.
func (p *pass) candidates() []member.Member {
	members := map[types.UID]member.Member{}
	for _, m := range p.plan.Members {
		members[m.Pod.UID] = m
	}
	old := p.podsWhere(func(m member.Member) bool { return !m.Updated && !m.PreparingDelete() })
	var preparing, others []member.Member
	for _, candidate := range pod.UpdateOrder(old) {
		if m := members[candidate.UID]; m.PreparingUpdate() {
			preparing = append(preparing, m)
		} else {
			others = append(others, m)
		}
	}
	return slices.Concat(preparing, others)
}

// callOff lets pods go back into service that prepare for an update which is not asked for any more, or not now.
func (p *pass) callOff(candidates []member.Member) {
	for _, m := range candidates {
		p.take(m.Pod, p.asked.CallOff(m))
	}
}
