// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// unit is one unit as a pass sees it: what it shows, what stands in writing of it, and what it is to have.
type unit struct {
	name string
	sets []Set
	// listed: the topology names it. Fixed units keep their number.
	listed, fixed bool
	// split is what the unit is to have by the spec, and was what it was to have when last written; known is whether
	// anything was.
	split, was int
	known      bool
	// moved is how many pods came here (or, below 0, went away), and movedAt when some came last.
	moved   int
	movedAt time.Time
	// came is how many have come since the last one before which the unit had rest, whatever has gone since.
	came int
	// short is how many pods have found no node for too long, wasShort the same as last written, and shortUntil until when
	// nothing is moved here. stuck are those of them whose quota cannot be given up.
	short, wasShort, stuck int
	shortUntil             time.Time
	unschedulable, below   []time.Time
	// there is how many pods there were when those that find no node were looked at.
	there int
	// head is what the groups take up to the current one, and tail what the later ones do.
	head, tail Work
	// asked is how many pods the unit is asked for, and held how many of them must stay on older versions. total counts those
	// too that are there besides while others take their place.
	asked, held, total int
	// older are the places of pods on older versions, from below, where partitions count places.
	older []int
	// seen: all counts are about what was asked for.
	seen bool
	// kept is how many pods the unit keeps beyond what it was granted so far: those beyond its number until others have theirs, and the
	// early ones, which later groups would bring up.
	kept, early int
	Counts
}

// read brings together what the spec wants, what stands in writing, and what the units show.
func (p *pass) read() {
	names := p.spec.Topology.Values
	if p.spec.Topology.UnitType == cafev1alpha1.NoneUnitType {
		names = []string{""}
	}
	shares, err := Split(int(ptr.Deref(p.spec.Replicas, 1)), names, p.spec.Topology.UnitReplicas)
	if p.plan.Invalid == nil {
		p.plan.Topology = err
	}
	byName := map[string]*unit{}
	unitOf := func(name string) *unit {
		if byName[name] == nil {
			byName[name] = &unit{name: name, seen: true}
			p.units = append(p.units, byName[name])
		}
		return byName[name]
	}
	for _, s := range shares {
		u := unitOf(s.Unit)
		u.listed, u.fixed, u.split = true, s.Fixed, s.Pods
	}
	if err != nil {
		for _, name := range names {
			unitOf(name).listed = true
		}
	}
	found := slices.Clone(p.world.Units)
	slices.SortFunc(found, func(a, b Unit) int { return cmp.Compare(a.Name, b.Name) })
	for _, seen := range found {
		p.observe(unitOf(seen.Name), seen)
	}
	for i := range p.d.Status.Units {
		written := &p.d.Status.Units[i]
		if u := byName[written.Name]; u != nil {
			u.recall(written)
		}
	}
	p.movedFor = p.d.Status.RescheduledFor
	p.recallGroups()
}

// observe adds what a unit shows.
func (p *pass) observe(u *unit, seen Unit) {
	u.sets, u.unschedulable, u.below, u.there = slices.Clone(seen.Sets), slices.Clone(seen.Unschedulable), slices.Clone(seen.Below), seen.Pods
	slices.SortFunc(u.sets, func(a, b Set) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(u.unschedulable, time.Time.Compare)
	unit := 0
	for _, s := range u.sets {
		u.seen = u.seen && s.Seen
		counts := s.Counts
		if s.Revision != p.update {
			counts.Updated, counts.UpdatedAvailable = 0, 0
		}
		u.add(counts)
		switch {
		case s.Revision != p.update:
			u.held += s.Asked
		case !versioned(p.spec.PodSetType):
			u.held += min(s.Partition, s.Asked)
		default: // a ReplicaSet of the update revision holds nothing back
			u.Updated = s.Asked
		}
		if versioned(p.spec.PodSetType) {
			unit = max(unit, s.UnitAsked)
		}
		u.total += s.Asked
		if ordinal(p.spec.PodSetType) {
			u.older = placesOf(s, p.update)
		}
	}
	u.asked = u.total
	if versioned(p.spec.PodSetType) { // for a while it has more than it is asked for; a set without pods may say an old number
		u.asked = min(u.asked, unit)
	}
}

// placesOf are the places of the pods of a set that are on older versions than the released one.
func placesOf(s Set, released string) (places []int) {
	for n := range s.Asked {
		if s.Revision != released || slices.Contains(s.Older, n) || s.Doubtful && n < s.Partition {
			places = append(places, n)
		}
	}
	return places
}

// olderBelow is how many pods on older versions a unit has below a place.
func (u *unit) olderBelow(place int) int {
	return len(u.older) - len(slices.DeleteFunc(slices.Clone(u.older), func(n int) bool { return n < place }))
}

// recall reads what stands in writing.
func (u *unit) recall(written *cafev1alpha1.UnitStatus) {
	u.known = true
	u.moved = int(written.RescheduledIn - written.RescheduledOut)
	u.came = int(written.RescheduledIn)
	u.was = int(written.Desired) - u.moved
	u.wasShort = int(written.Short)
	u.movedAt, u.shortUntil = timeOf(written.RescheduledAt), timeOf(written.ShortUntil)
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// recallGroups reads the groups that stand in writing.
func (p *pass) recallGroups() {
	for i := range p.d.Status.Groups {
		written := &p.d.Status.Groups[i]
		g := Group{Beta: written.Kind == cafev1alpha1.BetaGroup}
		for _, q := range written.Units {
			g.Units = append(g.Units, Work{Unit: q.Name, Update: int(q.Pods - q.New), Create: int(q.New)})
		}
		p.groups, p.done = append(p.groups, g), append(p.done, written.Done)
	}
	if at := int(p.d.Status.CurrentGroup) - 1; at >= 0 && at < len(p.groups) {
		p.current = at
	}
	p.divide()
}

// divide finds out what each unit does in groups that have begun, and what in later ones.
func (p *pass) divide() {
	for _, u := range p.units {
		u.head, u.tail = Work{Unit: u.name}, Work{Unit: u.name}
	}
	for i, g := range p.groups {
		for _, w := range g.Units {
			u := p.unit(w.Unit)
			if u == nil {
				continue
			}
			part := &u.head
			if p.running() && i > p.current {
				part = &u.tail
			}
			part.Update, part.Create = part.Update+w.Update, part.Create+w.Create
		}
	}
}

func (p *pass) unit(name string) *unit {
	for _, u := range p.units {
		if u.name == name {
			return u
		}
	}
	return nil
}

func (p *pass) running() bool { return p.current != none }
