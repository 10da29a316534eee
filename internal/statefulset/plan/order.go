// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/pod"
)

// order finds the pods that the partition wants on the update revision, in the order of their updates: the highest
// positions, from the top; or, unordered, all but as many as the partition keeps, whichever they are.
func (p *pass) order() {
	if !updates(p.world.Set) {
		return
	}
	var live []*Member
	for _, m := range p.members {
		if m.Eligible, m.waits = false, false; !m.condemned() {
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

// whichever are the pods to update when ordinals do not matter: all that are there but as many as the partition keeps, so
// that no update leaves fewer. A missing pod is not counted on, since it may come back on either revision. First come
// those that are updated already, then those that prepare for it, those on their way out, and the others in the order
// that the user asks for: a pod that goes anyway comes back updated, and no other has to go instead.
//
// Where pods went missing, one that has prepared waits for those that this pass creates. Beyond that its update is called
// off, and it serves again: what it would wait for may never come, or be held back because this very pod does not serve.
func (p *pass) whichever(live []*Member) []*Member {
	var updated, prepared, leaving, others []*Member
	byName, pods := map[string]*Member{}, []*corev1.Pod{}
	for _, m := range live {
		switch {
		case m.Updated:
			updated = append(updated, m)
		case m.leaving():
			leaving = append(leaving, m)
		case m.PreparingUpdate():
			prepared = append(prepared, m)
		default:
			byName[m.Pod.Name], pods = m, append(pods, m.Pod)
		}
	}
	sorted, err := pod.ByPriority(pods, rolling(p.world.Set).UnorderedUpdate.PriorityStrategy)
	if err != nil {
		return nil // read has refused it
	}
	for _, candidate := range sorted {
		others = append(others, byName[candidate.Name])
	}
	all := slices.Concat(updated, prepared, leaving, others)
	now := max(0, len(all)-p.plan.Limits.Partition)
	later := min(len(updated)+len(prepared), len(all)+p.creatable()-p.plan.Limits.Partition)
	for i := now; i < later; i++ {
		all[i].waits = !all[i].Updated
	}
	return all[:max(now, later)]
}

// creatable is how many of the missing pods this pass can create.
func (p *pass) creatable() (n int) {
	for i := range p.slots {
		if s := &p.slots[i]; s.member == nil && s.inTheWay == "" {
			n++
		}
	}
	if allowed := p.allowedCreations(); allowed >= 0 {
		n = min(n, allowed)
	}
	return n
}

// leaving tells whether the pod is on its way out, whatever its revision.
func (m *Member) leaving() bool {
	return !pod.IsActive(m.Pod) || m.Chosen && m.PreparingDelete() || m.deleted
}

// newWhenScaling: a pod that prepares for its update counts as updated, because it will be.
func (m *Member) newWhenScaling() bool { return m.Updated || m.PreparingUpdate() }
