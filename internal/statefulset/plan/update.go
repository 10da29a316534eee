// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"slipway.dev/slipway/internal/pod"
)

// update brings eligible pods to the update revision and their claims to their templates. Pods at positions that are
// unavailable already come first and cost nothing; then as many others as may be unavailable besides. A pod that cannot
// be updated costs the others nothing either.
func (p *pass) update() (end bool) {
	// Once more: what was chosen for deletion goes since.
	p.order()
	behind := slices.DeleteFunc(p.behind(), func(m *Member) bool { return m.Chosen && p.slots[m.Position].unavailable }) // chosen deletes it
	if !p.updating() {
		p.suspended(behind)
		return false
	}
	for _, m := range behind {
		if p.slots[m.Position].unavailable {
			p.bring(m)
		}
	}
	for _, m := range behind {
		s := &p.slots[m.Position]
		if s.unavailable {
			continue
		}
		if p.down >= p.plan.Limits.Unavailable {
			p.hold("the update waits: " + p.spent())
			return false
		}
		if p.bring(m) {
			p.spend(s)
		}
	}
	return false
}

// behind are the live pods of which something is not as the spec says, in the order of updates. One that waits for its turn
// or prepares for its deletion is not among them, and one that has finished is replaced anyway. A resize that the node cannot make is also
// repaired where the partition would keep the pod.
func (p *pass) behind() (behind []*Member) {
	for _, m := range p.eligible {
		if pod.IsActive(m.Pod) && !m.PreparingDelete() && !m.waits && (!m.Updated || p.claimsBehind(m) || p.repairable(m)) {
			behind = append(behind, m)
		}
	}
	for _, m := range p.members {
		if !m.condemned() && !m.Eligible && pod.IsActive(m.Pod) && !m.PreparingDelete() && p.repairable(m) {
			behind = append(behind, m)
		}
	}
	return behind
}

// repairable tells whether a pod of the update revision has not the resources of it, and can get them.
func (p *pass) repairable(m *Member) bool {
	if !m.Updated {
		return false
	}
	v := p.asked.Repair(m.Member)
	if v.Step == nil {
		p.take(m, v) // it says why it cannot get them
	}
	return v.Step != nil
}

// suspended says what would be done if updates were.
func (p *pass) suspended(behind []*Member) {
	count := len(behind)
	why := "paused with %d pods to update"
	if !updates(p.world.Set) {
		why = "%d pods are updated when somebody deletes them (updateStrategy.type is OnDelete)"
		for i := range p.slots {
			if m := p.slots[i].member; m != nil && !m.Updated {
				count++
			}
		}
	}
	if count > 0 {
		p.hold(fmt.Sprintf(why, count))
	}
}
