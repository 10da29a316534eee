// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// stale brings pods to the update revision that are broken on another one. It is what keeps ordered pods from waiting for
// ever: a pod that never becomes ready blocks the walk, and a corrected template would never reach it. So it waits for no
// other pod, in particular not for those on the update revision, which may need this one; only one pod goes at a time,
// the highest first. A pod that is broken on the update revision is left alone.
//
// Where pods are parallel, update does the same: what is unavailable already costs nothing there.
func (p *pass) stale() (end bool) {
	if !p.ordered || !p.updating() {
		return false
	}
	leaving, some := p.terminating()
	for _, m := range p.brokenOnOlder() {
		if some {
			p.hold(fmt.Sprintf("pod %s is broken on an older revision and is replaced when pod %s is gone", m.Pod.Name, leaving.Name))
			return false
		}
		if pod.IsFinished(m.Pod) {
			p.remove(m, step.CleanUp, "it has finished")
			return true
		}
		if p.bring(m) {
			return true
		}
	}
	return false
}

// brokenOnOlder are the pods that are not healthy and that an update would reach, the highest first. A finished one is among
// them: the walk that replaces it otherwise could end below it.
func (p *pass) brokenOnOlder() []*Member {
	broken := slices.DeleteFunc(p.behind(), func(m *Member) bool { return m.healthy() || m.Updated && !p.repairable(m) })
	for _, m := range p.eligible {
		if pod.IsFinished(m.Pod) && !pod.IsTerminating(m.Pod) && !m.Updated && !m.PreparingDelete() {
			broken = append(broken, m)
		}
	}
	slices.SortStableFunc(broken, func(a, b *Member) int { return cmp.Compare(b.Ordinal, a.Ordinal) })
	return broken
}

// updating tells whether pods are updated by the set, and not paused.
func (p *pass) updating() bool { return updates(p.world.Set) && !rolling(p.world.Set).Paused }

// bring takes a pod one step closer to what the spec says: first its claims grow, then it gets the update revision. It
// returns false when there is nothing to be done now, or nothing that can be done.
func (p *pass) bring(m *Member) bool {
	if m.Eligible {
		if grown, settled := p.grow(m); grown || !settled {
			return grown
		}
	}
	if m.Updated {
		return p.take(m, p.asked.Repair(m.Member))
	}
	return p.take(m, p.asked.UpdateOf(m.Member))
}
