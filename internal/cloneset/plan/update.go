// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// update brings pods to the update revision, as many as the partition wants and the allowances let.
func (p *pass) update() {
	s := budget.Scale(p.plan.Limits, p.count(func(m Member) bool { return m.Updated }), budget.Options{
		SameRevision: p.currentRevision.Hash == p.asked.Update.Hash,
	})
	strategy := &p.world.Set.Spec.UpdateStrategy
	switch {
	case strategy.Paused:
		if s.Wish > 0 {
			p.hold(fmt.Sprintf("paused with %s to update", step.Counted(s.Wish, "pod", "pods")))
		}
		return
	case p.repairResizes(s.Cap):
		return
	case s.Wish <= 0:
		p.callOff(p.candidates())
		return
	case strategy.Type == kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType:
		p.callOff(p.candidates())
		p.hold(fmt.Sprintf("%s (updateStrategy.type is OnDelete)", step.Counted(s.Wish, "pod is updated when somebody deletes it", "pods are updated when somebody deletes them")))
		return
	}
	unavailable, onTarget := p.unavailable()
	allowance := budget.NewAllowance(s, unavailable, onTarget)
	candidates, planned := p.candidates(), 0
	for i, m := range candidates {
		if p.world.AtOnce > 0 && planned == p.world.AtOnce {
			return
		}
		switch stop := allowance.Refuses(m.Available); stop {
		case budget.NotStopped:
		case budget.StoppedByUnavailable:
			p.hold(stop.String())
			continue
		case budget.StoppedByTarget:
			// A pod that prepares for its update was allowed for when it began, and is unavailable already. If
			// the allowance has shrunk since, only its update brings it back.
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
		if update.Kept {
			continue // it costs the others nothing
		}
		allowance.Spend(m.Available)
		if update.Step != nil {
			planned++
			p.turns[m.Pod.UID] = 1 + i
		}
	}
}

func (p *pass) unavailable() (all, onTarget int) {
	for _, m := range p.plan.Members {
		// An updated pod that is resized while it serves uses the allowance too: a resize that no node can make
		// must not reach all pods. But one that can only be replaced does not wait for its node.
		resizing := m.Updated && m.Unreadable == nil && !m.Progress.Finished
		if !m.Available || resizing {
			all++
			if m.Updated && m.Progress.Infeasible == "" {
				onTarget++
			}
		}
	}
	return all, onTarget
}

// candidates are the pods to update, first in front: in the order that does least harm, then as the user
// asks for. Those that prepare for their update already come before all others.
func (p *pass) candidates() []Member {
	members := map[types.UID]Member{}
	var pods []*corev1.Pod
	for _, m := range p.plan.Members {
		if !m.Updated && !m.PreparingDelete() {
			members[m.Pod.UID] = m
			pods = append(pods, m.Pod)
		}
	}
	var ordered []Member
	for _, candidate := range p.order(pods) {
		ordered = append(ordered, members[candidate.UID])
	}
	slices.SortStableFunc(ordered, func(a, b Member) int {
		switch {
		case a.PreparingUpdate() == b.PreparingUpdate():
			return 0
		case a.PreparingUpdate():
			return -1
		}
		return 1
	})
	return ordered
}

// order is the order of updates. What cannot be read of it was refused before.
func (p *pass) order(pods []*corev1.Pod) []*corev1.Pod {
	strategy := &p.world.Set.Spec.UpdateStrategy
	prioritised, err := pod.ByPriority(pod.UpdateOrder(pods), strategy.PriorityStrategy)
	if err != nil {
		return nil
	}
	all := p.membersWhere(func(Member) bool { return true })
	return pod.Scatter(prioritised, all, strategy.ScatterStrategy)
}

// callOff lets pods go back that prepare for an update which is not asked for any more.
func (p *pass) callOff(candidates []Member) {
	for _, m := range candidates {
		p.take(m.Pod, p.asked.CallOff(m))
	}
}
