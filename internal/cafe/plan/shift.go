// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// shift moves a unit that has a pod set for each version from the older ones to the newest. The newest is asked for all
// that may be updated, and older ones lose a pod for each one of the newest that is available: so the unit never has fewer
// available pods than before, and for a while it has more pods than its number, at most those of one group.
func (p *pass) shift(u *unit) {
	n := p.granted(u) + u.kept
	keeps := min(n, u.tail.Update+u.kept, u.held) // what is kept beyond its number may be on the newest version
	if p.groups == nil && !p.idle {
		keeps = min(n, u.held)
	}
	if !u.listed {
		keeps = n
	}
	p.renew(u, n, n-keeps)
	p.retire(u, n, keeps)
}

// renew asks the set of the update revision for its pods.
func (p *pass) renew(u *unit, n, wanted int) {
	at := slices.IndexFunc(u.sets, func(s Set) bool { return s.Revision == p.update })
	if at < 0 {
		if wanted > 0 {
			p.plan.Asks = append(p.plan.Asks, Ask{Why: p.why(u, n, n-wanted), Unit: u.name, Revision: p.update, GivesTemplate: true, Replicas: wanted, UnitReplicas: n})
		}
		return
	}
	if !u.listed { // it goes with the others
		return
	}
	s := u.sets[at]
	a := Ask{Unit: u.name, Set: s.Name, Revision: p.update, Replicas: wanted, UnitReplicas: n}
	switch {
	case wanted != s.Asked || n != s.UnitAsked:
		a.Why = p.why(u, n, n-wanted)
	case s.Differs != "":
		a.Why = s.Differs + " of the CafeDeployment has changed"
	default:
		return
	}
	p.plan.Asks = append(p.plan.Asks, a)
}

// retire takes pods from older sets, those first that have most pods which are not available, and deletes them at the end.
func (p *pass) retire(u *unit, n, keeps int) {
	var older []Set
	total, renewed := 0, 0
	for _, s := range u.sets {
		if s.Revision == p.update && u.listed {
			renewed = min(s.Available, s.Asked)
			continue
		}
		older = append(older, s)
		total += s.Asked
	}
	slices.SortStableFunc(older, func(a, b Set) int {
		return cmp.Or(cmp.Compare(b.Asked-b.Available, a.Asked-a.Available), cmp.Compare(a.Asked, b.Asked))
	})
	excess := total - max(keeps, n-renewed)
	for _, s := range older {
		less := min(max(0, excess), s.Asked)
		excess -= less
		wanted := s.Asked - less
		switch {
		case less > 0 || wanted > 0 && s.UnitAsked != n:
			p.plan.Asks = append(p.plan.Asks, Ask{
				Why:  fmt.Sprintf("%s has %d of %d available on revision %s", named(u.name), renewed, n, p.update),
				Unit: u.name, Set: s.Name, Revision: s.Revision, Replicas: wanted, UnitReplicas: n,
			})
		case wanted == 0 && s.Seen && s.Has == 0 && !p.running():
			p.plan.Asks = append(p.plan.Asks, Ask{Why: "no pods of its version are left", Unit: u.name, Set: s.Name, Deletes: true})
		}
	}
}
