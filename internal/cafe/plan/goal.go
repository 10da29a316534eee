// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"

	"k8s.io/utils/ptr"
)

// goal compares what the spec wants with what the groups in writing were made for.
//
// A new template starts over. A new split keeps the groups that have begun, so that no quota is taken back from pods that
// are on their way, and cuts the rest anew.
func (p *pass) goal() (decided bool) {
	if p.spec.Strategy.Pause {
		p.aimed = p.sameSplit() && p.d.Status.UpdateRevision == p.update
		for _, u := range p.units { // a new split waits, and what is on its way ends by the one in writing
			u.split = u.was
		}
		return false
	}
	p.aimed = true
	if p.movedFor != "" && p.movedFor != p.purpose() {
		decided = true
		p.movedFor = ""
		p.tell("QuotaReturned", "replicas, topology or template have changed: the units get their split again")
	}
	before := p.before()
	if decided {
		for _, u := range p.units {
			u.moved, u.came = 0, 0
		}
	}
	switch {
	case p.d.Status.UpdateRevision != p.update:
		p.void()
		return true
	case !p.sameSplit() && p.running():
		p.regroup(p.goOn(before))
		return true
	case !p.sameSplit():
		p.void()
		return true
	case p.running():
		return p.regroup(p.tails()) || decided
	}
	return decided
}

// purpose is a hash of what quota is moved for.
func (p *pass) purpose() string {
	topology := &p.spec.Topology
	sum := fnv.New64a()
	fmt.Fprint(sum, ptr.Deref(p.spec.Replicas, 1), topology.UnitType, topology.Values, p.update)
	for _, unit := range slices.Sorted(maps.Keys(topology.UnitReplicas)) {
		number := topology.UnitReplicas[unit]
		fmt.Fprint(sum, unit, number.String())
	}
	return fmt.Sprintf("%x", sum.Sum64())
}

func (p *pass) sameSplit() bool {
	for _, u := range p.units {
		if u.listed && !u.known || u.was != u.split {
			return false
		}
	}
	return true
}

func (p *pass) void() {
	p.groups, p.done, p.current = nil, nil, none
	p.divide()
}

// before is how many pods each unit was granted by what stands in writing.
func (p *pass) before() map[*unit]int {
	granted := map[*unit]int{}
	for _, u := range p.units {
		if granted[u] = u.was - u.tail.Create + u.moved; !u.known {
			granted[u] = u.asked
		}
	}
	return granted
}

// goOn is what is left to do for the new split after the groups that have begun.
func (p *pass) goOn(granted map[*unit]int) []Work {
	var left []Work
	for _, u := range p.units {
		if !u.listed {
			continue
		}
		w := Work{Unit: u.name, Update: u.tail.Update, Create: max(0, u.split-granted[u])}
		if !u.known {
			w.Update = u.held
		}
		if !ordinal(p.spec.PodSetType) { // pods that go with the unit's excess need no update
			w.Update = max(0, min(w.Update, u.split-(granted[u]-w.Update)))
		}
		left = append(left, w)
	}
	return left
}

// tails are what stands in writing as left to do.
func (p *pass) tails() []Work {
	var left []Work
	for _, u := range p.units {
		if !u.listed {
			continue
		}
		w := u.tail
		if ordinal(p.spec.PodSetType) && p.unprepared(u) == "" {
			w.Update = p.placesLeft(u)
		}
		left = append(left, w)
	}
	return left
}

// regroup cuts what is left into groups behind the current one, and tells whether they are others than before.
func (p *pass) regroup(left []Work) bool {
	groups, rest := p.cut(left, false)
	if p.partitioned() && len(groups) > 0 {
		p.letGo(groups, rest)
		return true
	}
	tail := slices.Concat(groups, rest)
	begun := p.current + 1
	if len(tail) == 0 && begun == len(p.groups) || reflect.DeepEqual(tail, p.groups[begun:]) {
		return false
	}
	p.groups = append(slices.Clone(p.groups[:begun]), tail...)
	p.done = append(slices.Clone(p.done[:begun]), make([]bool, len(tail))...)
	p.divide()
	return true
}

// placesLeft is how many places of a unit later groups still have to update. Those that have gone with the highest need none. When with
// them all went that the running group had let go, it takes others in their place: else it would end with nothing done.
func (p *pass) placesLeft(u *unit) int {
	left := u.olderBelow(u.held)
	for _, w := range p.groups[p.current].Units {
		if w.Unit == u.name && !p.done[p.current] {
			left -= max(0, w.Update-(u.asked-u.held))
		}
	}
	if u.final() == 0 {
		left = 0
	}
	return max(0, min(left, u.tail.Update))
}

func (p *pass) batch() int { return int(ptr.Deref(p.spec.Strategy.BatchSize, 0)) }
