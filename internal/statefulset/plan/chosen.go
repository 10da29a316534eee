// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// chosen deletes live pods that somebody asked to be deleted, the highest position first: those that do not serve at
// once, the others while fewer positions are unavailable than may be. Neither the partition nor a pause stops it.
func (p *pass) chosen() (end bool) {
	for i := len(p.slots) - 1; i >= 0; i-- {
		s := &p.slots[i]
		m := s.member
		if m == nil || !m.Chosen || !pod.IsActive(m.Pod) || m.PreparingDelete() {
			continue
		}
		if !p.spend(s) {
			p.hold(fmt.Sprintf("pod %s is chosen for deletion and waits: %s", m.Pod.Name, p.spent()))
			continue
		}
		p.remove(m, step.Chosen, "it was chosen for deletion")
		m.deleted = true
	}
	return false
}

// spend tells whether a position may become unavailable, and takes it into account. It costs nothing where it is
// unavailable already.
func (p *pass) spend(s *slot) bool {
	switch {
	case s.unavailable:
		return true
	case p.down >= p.plan.Limits.Unavailable:
		return false
	}
	s.unavailable = true
	p.down++
	return true
}

// spent says why spend refuses.
func (p *pass) spent() string {
	return fmt.Sprintf("%d of %d positions are unavailable, and maxUnavailable allows %d", p.down, len(p.slots), p.plan.Limits.Unavailable)
}
