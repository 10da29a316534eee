// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"slices"
	"strings"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// unit is one unit with its pod sets.
type unit struct {
	name string
	sets []*set
}

// set is a pod set. Its pods are counted by the revision that they have.
type set struct {
	plan.Set
	pods map[string]int
	// available is how many of its pods are available, until it has settled.
	available int
}

func unitsOf(world plan.World) []*unit {
	var units []*unit
	for _, seen := range world.Units {
		u := &unit{name: seen.Name}
		for _, s := range seen.Sets {
			older := world.Deployment.Status.CurrentRevision
			if older == s.Revision {
				older = ""
			}
			u.sets = append(u.sets, &set{Set: s, available: s.Available, pods: map[string]int{s.Revision: s.Updated, older: s.Has - s.Updated}})
		}
		units = append(units, u)
	}
	return units
}

func (s *set) has() (n int) {
	for _, pods := range s.pods {
		n += pods
	}
	return n
}

// settle has the set do all that it is asked for, and returns whether there was anything.
func (s *set) settle() bool {
	before := s.pods[s.Revision]
	total := s.has()
	changed := !s.Seen || total != s.Asked || s.available != s.Asked
	s.Seen = true
	s.pods[s.Revision] += max(0, s.Asked-total)
	for over := total - s.Asked; over > 0; over-- {
		s.pods[s.oldest()]--
	}
	for s.Asked-s.pods[s.Revision] > s.Partition {
		s.pods[s.oldest()]--
		s.pods[s.Revision]++
	}
	s.available = s.Asked
	return changed || s.pods[s.Revision] != before
}

// oldest is a revision that some pod has, another one than that of the set when there is any, the first by name.
func (s *set) oldest() string {
	var names []string
	for name, n := range s.pods {
		if n > 0 && name != s.Revision {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return s.Revision
	}
	return slices.Min(names)
}

// shown is the set as its status counts it.
func (s *set) shown() plan.Set {
	shown := s.Set
	updated := s.pods[s.Revision]
	shown.Older = nil
	for at := range max(0, s.Asked-updated) { // places are updated from above
		shown.Older = append(shown.Older, at)
	}
	shown.Counts = plan.Counts{Has: s.has(), Ready: s.available, Available: s.available, Updated: updated, UpdatedAvailable: min(updated, s.available)}
	return shown
}

func (u *unit) settle() (changed bool) {
	for _, s := range u.sets {
		changed = s.settle() || changed
	}
	return changed
}

// seen is the world as the controller sees it.
func (p *play) seen() plan.World {
	world := p.world
	world.Units = nil
	for _, u := range p.units {
		seen := plan.Unit{Name: u.name}
		for _, s := range u.sets {
			seen.Sets = append(seen.Sets, s.shown())
			seen.Pods += s.has()
		}
		world.Units = append(world.Units, seen)
	}
	return world
}

func (p *play) count() (c story.Count) {
	for _, u := range p.units {
		for _, s := range u.sets {
			c.Available += s.available
			c.Total += s.has()
		}
	}
	return c
}

// ask does with a pod set what it is asked for, tells of it, and returns how many pods are out of service at once meanwhile.
func (p *play) ask(a plan.Ask) (actions []story.Action, down int) {
	u := p.unit(a.Unit)
	if a.Deletes {
		u.sets = slices.DeleteFunc(u.sets, func(s *set) bool { return s.Name == a.Set })
		return []story.Action{{Object: "pod set " + a.Set, Verb: story.Delete, Why: a.Why}}, 0
	}
	s := p.set(u, a)
	before := s.Asked
	if a.GivesTemplate && a.Set != "" {
		actions = append(actions, story.Action{Object: place(a.Unit), Verb: story.Give, To: revision.HashOf(a.Revision), Why: a.Why})
	}
	s.Revision, s.Asked, s.Partition, s.UnitAsked, s.Differs = a.Revision, a.Replicas, a.Partition, a.UnitReplicas, ""
	gone := max(0, before-a.Replicas)
	update := max(0, min(before, a.Replicas)-s.pods[a.Revision]-a.Partition)
	for _, each := range []struct {
		verb story.Verb
		pods int
		to   string
	}{{p.updates(), update, a.Revision}, {story.Create, max(0, a.Replicas-before), a.Revision}, {story.Delete, gone, ""}} {
		if each.pods == 0 {
			continue
		}
		actions = append(actions, story.Action{
			Order: p.order + 1, Pods: each.pods, Object: fmt.Sprintf("%d in %s", each.pods, place(a.Unit)), Verb: each.verb, To: revision.HashOf(each.to), Why: a.Why,
		})
		p.order += each.pods
	}
	for range min(gone, s.has()) {
		s.pods[s.oldest()]--
	}
	s.available = min(s.available, s.has())
	return actions, min(update, p.o.Unavailable(a.Replicas), s.available)
}

// updates is how pods get to the newest revision: all the same way, or some this way and some that.
func (p *play) updates() story.Verb {
	inPlace := 0
	for _, c := range p.story.Changes {
		if c.InPlace && c.Instead == "" {
			inPlace++
		}
	}
	switch inPlace {
	case 0:
		return story.Recreate
	case len(p.story.Changes):
		return story.InPlace
	}
	return story.Update
}

func (p *play) unit(name string) *unit {
	for _, u := range p.units {
		if u.name == name {
			return u
		}
	}
	p.units = append(p.units, &unit{name: name})
	return p.units[len(p.units)-1]
}

// set is the one that is asked, which may be a new one.
func (p *play) set(u *unit, a plan.Ask) *set {
	for _, s := range u.sets {
		if a.Set != "" && s.Name == a.Set {
			return s
		}
	}
	p.serial++
	s := &set{Set: plan.Set{Name: fmt.Sprintf("the pod set of %s, %d", place(a.Unit), p.serial)}, pods: map[string]int{}}
	u.sets = append(u.sets, s)
	return s
}

func place(unit string) string {
	if unit == "" {
		return "the only unit"
	}
	return "unit " + unit
}

// title is a group in a sentence.
func title(groups []cafev1alpha1.ReleaseGroup, i int) string {
	kind := "group"
	if groups[i].Kind == cafev1alpha1.BetaGroup {
		kind = "Beta group"
	}
	return fmt.Sprintf("%s %d of %d", kind, i+1, len(groups))
}

// contents tells what a group does.
func contents(g cafev1alpha1.ReleaseGroup) string {
	var words []string
	for _, q := range g.Units {
		word := step.Counted(int(q.Pods), "pod", "pods") + " in " + place(q.Name)
		switch {
		case q.New == q.Pods:
			word += " (new)"
		case q.New > 0:
			word += fmt.Sprintf(" (%d new)", q.New)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
