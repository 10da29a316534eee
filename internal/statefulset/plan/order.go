// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/pod"
)

// order finds the pods that the partition wants on the update revision, in the order of their updates: the highest
// positions, from the top; or, unordered, as many as there are beyond the partition, whichever they are.
func (p *pass) order() {
	if !updates(p.world.Set) {
		return
	}
	var live []*Member
	for _, m := range p.members {
		if !m.condemned() {
			live = append(live, m)
		}
	}
	if p.unordered() {
		p.eligible = p.whichever(live)
	} else {
		p.eligible = slices.DeleteFunc(live, func(m *Member) bool { return m.Position < p.plan.Limits.Partition })
	}
	for _, m := range p.eligible {
		m.Eligible = true
	}
}

// unordered tells whether pods are updated by their labels instead of by their ordinals.
func (p *pass) unordered() bool { return rolling(p.world.Set).UnorderedUpdate != nil && !p.ordered }

// whichever are the pods to update when ordinals do not matter. Those that are updated already, are about to be, or
// are on their way out count first; the others follow in the order that the user asks for.
func (p *pass) whichever(live []*Member) []*Member {
	var first, others []*Member
	byName, pods := map[string]*Member{}, []*corev1.Pod{}
	for _, m := range live {
		if m.newWhenScaling() || pod.IsTerminating(m.Pod) {
			first = append(first, m)
			continue
		}
		byName[m.Pod.Name], pods = m, append(pods, m.Pod)
	}
	sorted, err := pod.ByPriority(pods, rolling(p.world.Set).UnorderedUpdate.PriorityStrategy)
	if err != nil {
		return nil // read has refused it
	}
	for _, candidate := range sorted {
		others = append(others, byName[candidate.Name])
	}
	all := slices.Concat(first, others)
	// Of the others only what is there beyond the partition: a missing pod may come back on the current revision, and the one
	// that was updated in its stead as well, for ever. What has begun is not called off for a missing pod.
	wanted := p.plan.Limits.Replicas - p.plan.Limits.Partition
	missing := max(0, p.plan.Limits.Replicas-len(all))
	return all[:max(0, wanted-missing, min(wanted, len(first)))]
}

// trim takes those out of the pods to update whose place was taken by pods that this pass creates on the update revision,
// where it does not matter which pods are updated.
func (p *pass) trim() {
	if !p.unordered() {
		return
	}
	wanted := max(0, p.plan.Limits.Replicas-p.plan.Limits.Partition-p.createdNew)
	for wanted < len(p.eligible) {
		last := len(p.eligible) - 1
		p.eligible[last].Eligible = false
		p.eligible = p.eligible[:last]
	}
}

// newWhenScaling: a pod that prepares for its update counts as updated, because it will be.
func (m *Member) newWhenScaling() bool { return m.Updated || m.PreparingUpdate() }
