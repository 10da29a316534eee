// SPDX-License-Identifier: Apache-2.0

package plan

import "fmt"

// granted is how many pods a unit may have now, by what stands in writing.
func (p *pass) granted(u *unit) int {
	if !u.listed {
		return 0
	}
	if p.groups == nil && u.asked < u.final() {
		return u.asked // more come in groups
	}
	return max(0, u.split-u.tail.Create+u.moved)
}

// final is how many pods a unit is to have in the end.
func (u *unit) final() int { return max(0, u.split+u.moved) }

// ask compares what each unit is asked for with what stands in writing.
func (p *pass) ask() {
	if p.spec.Strategy.Pause && (p.groups == nil || !p.aimed) {
		p.wait("strategy.pause: nothing new begins")
		return
	}
	p.keep()
	for _, u := range p.units {
		if beyond := u.kept - u.early; beyond > 0 {
			p.wait("%s keeps %d more than its number until other units have theirs", named(u.name), beyond)
		}
		switch {
		case versioned(p.spec.PodSetType):
			p.shift(u)
		case len(u.sets) == 0:
			if n := p.granted(u); n > 0 {
				p.plan.Asks = append(p.plan.Asks, Ask{Why: p.why(u, n, 0), Unit: u.name, Revision: p.update, GivesTemplate: true, Replicas: n, UnitReplicas: n})
			}
		case !u.listed:
			p.dismiss(u)
		default:
			p.resize(u)
		}
	}
}

// keep leaves units that have more pods than their number some of them, as many as others still lack: pods are taken away
// when those that replace them are there. What finds no node is no pod that is worth keeping. What a unit has of its number before a group
// brings it up replaces nobody else, and stays.
func (p *pass) keep() {
	excess, lack := 0, 0
	for _, u := range p.units {
		lost := max(0, len(u.unschedulable)-max(0, u.there-u.total)) // some of them may be on their way out
		has, granted := u.asked-lost, p.granted(u)
		if !u.listed { // what has come up there to take the place of others is as good as they are
			has = min(u.asked, u.total-lost)
		}
		u.early = 0
		if u.listed {
			u.early = max(0, min(has, u.final())-granted)
			lack += max(0, u.final()-p.secured(u))
		}
		u.kept = max(0, has-granted)
		excess += u.kept - u.early
	}
	for ; excess > lack; excess-- {
		p.fullest().kept--
	}
}

// fullest is the unit that gives the next pod up: one that is on its way out, else the one that has most beyond its number,
// the last of several.
func (p *pass) fullest() *unit {
	var found *unit
	for _, u := range p.units {
		if beyond := u.kept - u.early; beyond > 0 && (found == nil || found.listed && !u.listed || found.listed == u.listed && beyond >= found.kept-found.early) {
			found = u
		}
	}
	return found
}

// secured is how many of its pods a unit can be counted on for. Of one that grows, those that are available.
func (p *pass) secured(u *unit) int {
	sure := max(0, min(u.asked, u.final())-len(u.below)) // what is kept beyond is for others
	if u.head.Create+u.tail.Create > 0 && p.running() || u.asked < u.final() {
		sure = min(sure, u.Available)
	}
	return sure
}

// partition is how many of n pods must be left as they are. It never rises while a template is released: what was let go
// cannot be called back.
func (p *pass) partition(u *unit, n int) int {
	held := min(u.held, n)
	if ordinal(p.spec.PodSetType) { // places count, and not what is on them
		held = n
		for _, s := range u.sets {
			if s.Revision == p.update {
				held = min(s.Partition, n)
			}
		}
	}
	if p.groups == nil && !p.idle {
		if n < u.asked && !ordinal(p.spec.PodSetType) && p.unprepared(u) == "" {
			return max(0, min(held, n-u.Updated)) // those that go are older ones
		}
		return held
	}
	if !ordinal(p.spec.PodSetType) {
		return min(u.tail.Update+u.kept, held)
	}
	switch keeps := u.tail.Update; {
	case p.granted(u) == 0:
		return held
	case keeps == 0:
		return 0
	case keeps <= len(u.older):
		return min(u.older[keeps-1]+1, held)
	}
	return held
}

// resize asks the one pod set of a unit for its numbers, and gives it the template.
func (p *pass) resize(u *unit) {
	s := u.sets[0]
	n := p.granted(u) + u.kept
	if s.Revision != p.update && !ordinal(p.spec.PodSetType) {
		n = max(n, s.Asked) // which pods may go is known when the set has looked which of them are on the release
	}
	a := Ask{Unit: u.name, Set: s.Name, Revision: p.update, GivesTemplate: s.Revision != p.update, Replicas: n, UnitReplicas: n, Partition: p.partition(u, n)}
	switch {
	case a.GivesTemplate:
		a.Why = fmt.Sprintf("it has the template of revision %s, and revision %s is released", s.Revision, p.update)
	case a.Replicas != s.Asked || a.Partition != s.Partition:
		a.Why = p.why(u, n, a.Partition)
	case s.Differs != "":
		a.Why = s.Differs + " of the CafeDeployment has changed"
	default:
		return
	}
	p.plan.Asks = append(p.plan.Asks, a)
}

// dismiss takes the pods of a unit away that the topology does not name any more, and then its pod set.
func (p *pass) dismiss(u *unit) {
	s := u.sets[0]
	switch {
	case u.kept == 0 && s.Asked == 0 && s.Seen && s.Has == 0:
		p.plan.Asks = append(p.plan.Asks, Ask{Why: "the topology does not name its unit any more, and its pods are gone", Unit: u.name, Set: s.Name, Deletes: true})
	case u.kept < s.Asked:
		why := fmt.Sprintf("the topology does not name its unit any more: %d of its pods are not needed", s.Asked-u.kept)
		p.plan.Asks = append(p.plan.Asks, Ask{
			Why: why, Unit: u.name, Set: s.Name, Revision: s.Revision,
			Replicas: u.kept, UnitReplicas: u.kept, Partition: min(s.Partition, u.kept),
		})
	}
}

// why says in one sentence why a unit is asked for its numbers.
func (p *pass) why(u *unit, n, keeps int) string {
	switch {
	case p.running() && n < u.asked:
		return fmt.Sprintf("%s has %d more than its number", named(u.name), u.asked-n)
	case p.running() && keeps > 0:
		return fmt.Sprintf("%s: %s keeps %d on older versions", p.title(p.current), named(u.name), keeps)
	case p.running():
		return p.title(p.current) + " has all of " + named(u.name) + " on revision " + p.update
	case n < u.asked:
		return fmt.Sprintf("%s is to have %d of all pods", named(u.name), n)
	}
	return fmt.Sprintf("%s is to have %d of all pods on revision %s", named(u.name), n, p.update)
}
