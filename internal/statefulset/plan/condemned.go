// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// scaleIn deletes pods whose ordinal is not live. First their claims are made to go with them where that is asked for.
//
// Where pods are ordered, it is only reached when all live pods are available. The highest ordinal goes first and alone,
// and one that does not serve goes only when no lower one is broken: that one may hold what this one needs.
func (p *pass) scaleIn() (end bool) {
	var condemned []*Member
	for _, m := range p.members {
		if m.condemned() {
			condemned = append(condemned, m)
		}
	}
	for _, m := range condemned {
		if !pod.IsTerminating(m.Pod) {
			p.own(m.Pod.Name, m)
		}
	}
	if !p.ordered {
		for _, m := range condemned {
			if !pod.IsTerminating(m.Pod) {
				p.remove(m, step.ScaleIn, notLive(m))
			}
		}
		return false
	}
	if len(condemned) == 0 {
		return false
	}
	m, lowest := condemned[0], lowestBroken(condemned)
	switch {
	case pod.IsTerminating(m.Pod):
		p.hold(fmt.Sprintf("scaling in waits until pod %s is gone", m.Pod.Name))
	case m.serves(), pod.IsFinished(m.Pod), m == lowest:
		p.remove(m, step.ScaleIn, notLive(m))
	case lowest != nil && lowest != m && !m.healthy():
		p.plan.Blocked = fmt.Sprintf("scaling in waits: pod %s is not available, and neither is pod %s below it, which it may need; it goes on when one of them is available or somebody deletes it",
			m.Pod.Name, lowest.Pod.Name)
		p.hold(p.plan.Blocked)
	default:
		p.hold("scaling in waits: " + m.waiting())
	}
	return true
}

func notLive(m *Member) string { return fmt.Sprintf("ordinal %d is not wanted any more", m.Ordinal) }

// lowestBroken is the one with the lowest ordinal that is not healthy; nil when all are.
func lowestBroken(highestFirst []*Member) (lowest *Member) {
	for _, m := range highestFirst {
		if !m.healthy() {
			lowest = m
		}
	}
	return lowest
}
