// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/step"
)

// rest is how long a unit that was short gets nothing, and how long quota that was moved stays where it is.
const rest = 300 * time.Second

// reschedule has units that are short of resources give quota up to others.
func (p *pass) reschedule() (decided bool) {
	if !p.spec.Topology.AutoReschedule.Enable || p.spec.Strategy.Pause {
		return false
	}
	for _, u := range p.units {
		decided = p.watch(u) || decided
	}
	for _, from := range p.units {
		decided = p.spare(from) || decided
		if from.short == 0 || !from.listed {
			continue
		}
		if from.fixed {
			p.plan.Full = append(p.plan.Full, p.full(from, from.short, "unitReplicas fixes its number"))
			continue
		}
		if from.stuck > 0 {
			p.plan.Full = append(p.plan.Full, p.full(from, from.stuck, "would lose others that have nodes"))
		}
		left, resting := p.movable(from)
		for ; left > 0; left-- {
			to := p.taker(from)
			if to == nil {
				p.plan.Full = append(p.plan.Full, p.full(from, left, "no other unit can take them"))
				break
			}
			p.move(from, to)
			decided = true
			p.movedFor = p.purpose()
			p.tell("Rescheduled", "%s gives the quota of 1 pod up to %s: the pod has found no node for %s", named(from.name), named(to.name), p.delay())
		}
		if resting > 0 {
			p.wait("%s, moved there less than %s ago, in %s", step.Counted(resting, "pod that finds no node", "pods that find no node"), rest, named(from.name))
			p.lookAgainIn(from.movedAt.Add(rest).Sub(p.now))
		}
	}
	return decided
}

// spare hands on what a group that has just begun would bring up in a unit that gave quota up in the last 300 seconds: it would
// find no node either. What nobody can take is tried.
func (p *pass) spare(from *unit) (decided bool) {
	if !from.listed || from.fixed || from.moved >= 0 || !p.now.Before(from.shortUntil) || !p.running() || p.done[p.current] || p.groups[p.current].Beta {
		return false
	}
	untried := 0
	for _, w := range p.groups[p.current].Units {
		if w.Unit == from.name {
			untried = min(w.Create, p.granted(from)-from.asked)
		}
	}
	for ; untried > 0; untried-- {
		to := p.taker(from)
		if to == nil {
			break
		}
		p.move(from, to)
		decided = true
		p.movedFor = p.purpose()
		p.tell("Rescheduled", "%s gives the quota of 1 pod up to %s: it was short of resources less than %s ago", named(from.name), named(to.name), rest)
	}
	return decided
}

// move gives the quota of one pod to another unit. While groups run, what comes up on their version comes in groups: in the
// place of a pod that the running group has not brought up yet, or else later. No unit gets a second Beta pod.
func (p *pass) move(from, to *unit) {
	open := p.running() && !p.done[p.current] && !p.groups[p.current].Beta && from.UpdatedAvailable < p.due(from)
	if !p.now.Before(to.movedAt.Add(rest)) {
		to.came = max(0, to.moved)
	}
	from.moved--
	to.moved, to.came, to.movedAt = to.moved+1, to.came+1, p.now
	switch {
	case !p.running():
	case open && p.groups[p.current].hand(from.name, to.name):
		p.divide()
	default:
		if from.tail.Update > 0 && !ordinal(p.spec.PodSetType) { // what is gone needs no update
			from.tail.Update--
		}
		to.tail.Create++
		p.regroup(p.tails())
	}
}

// watch finds out how many pods of a unit are short, and until when the unit counts as short. Only that it begins and that
// it ends is written, so that a shortage that lasts causes no writes.
func (p *pass) watch(u *unit) (decided bool) {
	late := p.late(u.unschedulable)
	excess := max(0, max(u.Has, u.there)-p.granted(u)) // what the unit is to lose is no quota any more, whoever still sees it
	u.short = max(0, late+p.late(u.below)-excess)
	u.stuck = u.short - max(0, late-excess)
	switch {
	case (u.short > 0) != (u.wasShort > 0):
		u.shortUntil = ceil(p.now.Add(rest))
		return true
	case u.short == 0 && !u.shortUntil.IsZero() && !p.now.Before(u.shortUntil):
		u.shortUntil = time.Time{}
		return true
	case u.short == 0 && !u.shortUntil.IsZero():
		p.lookAgainIn(u.shortUntil.Sub(p.now))
	}
	return false
}

// late is how many pods have found no node for too long.
func (p *pass) late(unschedulable []time.Time) (late int) {
	for _, since := range unschedulable {
		if wait := since.Add(p.delay()).Sub(p.now); wait > 0 {
			p.lookAgainIn(wait)
			continue
		}
		late++
	}
	return late
}

// movable is how much quota a unit can give up now, and how much has come too lately.
func (p *pass) movable(u *unit) (left, resting int) {
	left = min(u.short-u.stuck, p.granted(u))
	if p.now.Before(u.movedAt.Add(rest)) {
		resting = min(left, u.came)
	}
	return left - resting, resting
}

// taker is the unit that has got least so far, of those that may get anything.
func (p *pass) taker(from *unit) *unit {
	var may []*unit
	for _, u := range p.units {
		if u != from && u.listed && !u.fixed && u.short == 0 && len(u.unschedulable)+len(u.below) == 0 && !p.now.Before(u.shortUntil) {
			may = append(may, u)
		}
	}
	if len(may) == 0 {
		return nil
	}
	return slices.MinFunc(may, func(a, b *unit) int { return cmp.Compare(a.moved, b.moved) })
}

func (p *pass) full(u *unit, n int, why string) string {
	return named(u.name) + " has no room for " + step.Counted(n, "pod", "pods") + ", and " + why
}

func (p *pass) delay() time.Duration {
	seconds := ptr.Deref(p.spec.Topology.AutoReschedule.InitialDelaySeconds, cafev1alpha1.DefaultInitialDelaySeconds)
	return time.Duration(seconds) * time.Second
}

// ceil is the next whole second: the API stores no parts of one, and a wait must not become shorter by being written.
func ceil(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); !whole.Equal(t) {
		return whole.Add(time.Second)
	}
	return t
}

// named is a unit in a sentence.
func named(unit string) string {
	if unit == "" {
		return "the only unit"
	}
	return "unit " + unit
}
