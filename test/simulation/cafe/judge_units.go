// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"fmt"
	"slices"
	"time"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// asks judges a write to a pod set: what the controller asks of it.
func (m *moment) asks(w api.Write) error {
	set := setOf(w.After)
	listed := slices.Contains(unitsOf(m.spec), set.unit)
	switch {
	case w.Verb == api.Create:
		return m.creates(set, listed)
	case w.Verb == api.Mark || w.Verb == api.Remove:
		return m.deletes(setOf(w.Before), listed)
	}
	before := setOf(w.Before)
	if before.release != set.release && m.spec.Spec.Strategy.Pause {
		return fmt.Errorf("a pod set is given a template in a pause")
	}
	if set.kept < 0 || set.kept > max(set.replicas, before.kept) {
		return fmt.Errorf("%d of %d pods are kept", set.kept, set.replicas)
	}
	if before.release == set.release && !set.ordinals() && set.kept > before.kept && set.replicas <= before.replicas {
		return fmt.Errorf("%d pods are kept, and %d were: what was let go cannot be called back", set.kept, before.kept)
	}
	if set.replicas > before.replicas && set.kind != api.ReplicaSets { // one of several sets may grow in the place of another
		if err := m.tries(set.unit); err != nil {
			return err
		}
	}
	if letsGo(set, before) {
		if err := m.grows(set.unit); err != nil {
			return err
		}
	}
	if set.replicas < before.replicas {
		return m.shrinks(set, before, listed)
	}
	return nil
}

// letsGo tells whether a write lets any pod go to the release that the one before did not. A set that only gets smaller may still have more
// on the release than its group takes now: quota moves away from pods that were let go, and they stay until others have theirs.
func letsGo(set, before podSet) bool {
	switch {
	case set.release != before.release:
		return set.released() > 0
	case set.ordinals(): // places, and not how many
		return set.kept < min(before.kept, set.replicas) || set.replicas > max(before.replicas, set.kept)
	}
	return set.released() > before.released()
}

// creates: a set for a unit that is wanted and has none, tied to it.
func (m *moment) creates(set podSet, listed bool) error {
	if !listed {
		return fmt.Errorf("a pod set is created for unit %s, which is not wanted", set.unit)
	}
	for _, other := range m.truth().setsOf(m.spec.UID) {
		if other.unit == set.unit && other.object.GetUID() != set.object.GetUID() && (set.kind != api.ReplicaSets || other.release == set.release) {
			return fmt.Errorf("unit %s has the pod set %s already", set.unit, other.object.GetName())
		}
	}
	if set.podUnit != set.unit {
		return fmt.Errorf("the pods of unit %s are labelled with unit %q", set.unit, set.podUnit)
	}
	if !sameRelease(m.judge, m.stored.Status.UpdateRevision, m.spec) && set.release != wanted(m.spec) {
		return fmt.Errorf("a pod set is created with the release %q", set.release)
	}
	if set.kind != api.ReplicaSets {
		if err := m.tries(set.unit); err != nil {
			return err
		}
	}
	return m.grows(set.unit)
}

// deletes: only sets without pods go, of units that are not wanted any more or of older versions.
func (m *moment) deletes(set podSet, listed bool) error {
	update, _ := m.released(m.stored.Status.UpdateRevision)
	switch {
	case listed && (set.kind != api.ReplicaSets || set.release == update):
		return fmt.Errorf("the pod set of unit %s is deleted, which is wanted", set.unit)
	case set.replicas > 0:
		return fmt.Errorf("a pod set is deleted that is asked for %d pods", set.replicas)
	case len(m.truth().podsOf(set.object.GetUID())) > 0:
		return fmt.Errorf("a pod set is deleted that has pods")
	}
	return nil
}

// grows: no unit lets more pods go than its running group takes, and what was moved to it.
func (m *moment) grows(unit string) error {
	if m.behind {
		return nil
	}
	s := &m.stored.Status
	update, _ := m.released(s.UpdateRevision)
	c := m.count(m.truth(), m.spec.UID, update)[unit]
	quota, moved := quotas(s)[unit], 0
	if s.CurrentGroup == 0 && len(s.Groups) > 0 { // what is moved in a release comes in its groups
		moved = max(0, m.book.moved[unit]-m.book.movedThen[unit])
	}
	if grown := c.released - m.book.baseline[unit]; grown > quota+moved {
		return fmt.Errorf("unit %s lets %d pods more go to the release, its group takes %d, and %d were moved to it", unit, grown, quota, moved)
	}
	return nil
}

// shrinks: a unit keeps its number, and what it has beyond that as long as others lack as much.
func (m *moment) shrinks(set, before podSet, listed bool) error {
	if m.behind {
		return nil
	}
	s := &m.stored.Status
	update, _ := m.released(s.UpdateRevision)
	truth, view := m.count(m.truth(), m.spec.UID, update), m.count(m.view.All, m.spec.UID, update)
	less := before.replicas - set.replicas
	asked, desired := truth[set.unit].asked, desiredOf(s)
	if now := desired[set.unit] - coming(s, s.CurrentGroup)[set.unit]; listed && asked < min(asked+less, now) {
		return fmt.Errorf("unit %s is asked for %d pods, and is to have %d by now", set.unit, asked, now)
	}
	available := 0
	for _, pod := range m.truth().podsOf(set.object.GetUID()) {
		if world.Available(pod, set.minReady, m.Clock.Now()) {
			available++
		}
	}
	if set.kind == api.ReplicaSets && available <= set.replicas { // those that are not available go first
		return nil
	}
	if set.kind == api.ReplicaSets && listed {
		return m.shifts(set, less, truth[set.unit], view[set.unit])
	}
	later := coming(s, s.CurrentGroup-1)
	stay, could, need := 0, 0, 0
	for _, unit := range unitsOf(m.spec) {
		need += desired[unit]
	}
	for unit, c := range truth {
		final, wants := desired[unit], slices.Contains(unitsOf(m.spec), unit)
		if !wants {
			final = 0
		}
		worth := func(asked, lost int) int {
			if !m.spec.Spec.Topology.AutoReschedule.Enable && !set.ordinals() { // then nobody looks at pods
				return asked
			}
			return asked - min(max(0, asked-final+coming(s, s.CurrentGroup)[unit]), max(0, lost))
		}
		if wants && (c.asked < final || later[unit] > 0) { // it grows, and what it has asked for is not there yet
			sure := min(worth(c.asked, view[unit].unschedulable), final) // what counts for nothing can neither stay nor be missed
			need += max(0, sure-max(c.available, view[unit].available, view[unit].believed))
		}
		gone := 0
		if unit == set.unit {
			gone = less // those without a node go first
		}
		stay += worth(c.asked, view[unit].unschedulable-gone)
		could += worth(c.asked+gone, view[unit].unschedulable)
	}
	if stay < min(could, need) {
		return fmt.Errorf("%d pods of unit %s are given up: %d stay, and %d must until others have theirs", less, set.unit, stay, need)
	}
	return nil
}

// shifts: an older ReplicaSet loses pods for those of the newest that are available, or that the unit is not to have any more.
func (m *moment) shifts(set podSet, less int, truth, view unitCount) error {
	s := &m.stored.Status
	update, _ := m.released(s.UpdateRevision)
	if set.release == update {
		return nil
	}
	floor := desiredOf(s)[set.unit] - coming(s, s.CurrentGroup-1)[set.unit]
	renewed := max(truth.newAvailable, view.newAvailable, view.believedNew)
	if stay := truth.older + renewed; stay < min(floor, stay+less) {
		return fmt.Errorf("an older version of unit %s loses %d pods: %d stay, %d are available on the release, and the unit is to have %d", set.unit, less, truth.older, renewed, floor)
	}
	return nil
}

// rest is how long quota stays where it came to, and how long a unit that gave some up gets none.
const rest = 300 * time.Second

// tries: what a group brings up goes to no unit that gave quota up less than 300 seconds ago, as long as another one can take it.
func (m *moment) tries(unit string) error {
	s := &m.stored.Status
	left, gave := m.book.left[unit]
	since := m.Clock.Now().Sub(left)
	running := s.CurrentGroup > 0 && s.Groups[s.CurrentGroup-1].Kind != cafev1alpha1.BetaGroup && !s.Groups[s.CurrentGroup-1].Done
	if m.behind || !gave || since >= rest || m.book.moved[unit] >= 0 || !running || !m.spec.Spec.Topology.AutoReschedule.Enable || m.spec.Spec.Strategy.Pause {
		return nil
	}
	update, _ := m.released(s.UpdateRevision)
	truth, view := m.count(m.truth(), m.spec.UID, update), m.count(m.view.All, m.spec.UID, update)
	if truth[unit].asked <= m.book.tried[unit] {
		return nil // it gets back what it had
	}
	for _, other := range s.Units {
		_, fixed := m.spec.Spec.Topology.UnitReplicas[other.Name]
		full := view[other.Name].unschedulable > 0 || truth[other.Name].unschedulable > 0 || other.Short > 0 || other.ShortUntil != nil
		if other.Name != unit && slices.Contains(unitsOf(m.spec), other.Name) && !fixed && !full {
			return fmt.Errorf("unit %s is tried again: it gave quota up %s ago, and unit %s can take what the group brings up", unit, since, other.Name)
		}
	}
	return nil
}

// moves judges rescheduling.
func (m *moment) moves(before, after *status) error {
	was, is := movesOf(before), movesOf(after)
	sum := 0
	for _, n := range is {
		sum += n
	}
	if sum != 0 {
		return fmt.Errorf("%+d pods have been moved from nowhere", sum)
	}
	if before.RescheduledFor != "" && after.RescheduledFor != before.RescheduledFor && m.book.purpose != purposeOf(m.spec) {
		was = map[string]int{} // it goes home
	}
	update, _ := m.released(before.UpdateRevision)
	view := m.count(m.view.All, m.spec.UID, update)
	for unit := range union(was, is) {
		if err := m.move(unit, is[unit]-was[unit], view[unit], before); err != nil {
			return err
		}
	}
	if len(is) > 0 && (before.RescheduledFor == "" || after.RescheduledFor != before.RescheduledFor) {
		m.book.purpose = purposeOf(m.spec)
	}
	return nil
}

// move judges what was moved to a unit, or away from it.
func (m *moment) move(unit string, delta int, c unitCount, before *status) error {
	now := m.Clock.Now()
	_, fixed := m.spec.Spec.Topology.UnitReplicas[unit]
	switch {
	case delta == 0:
		return nil
	case !m.spec.Spec.Topology.AutoReschedule.Enable:
		return fmt.Errorf("quota is moved, and autoReschedule is off")
	case fixed:
		return fmt.Errorf("unit %s has a number of its own, and %+d pods are moved", unit, delta)
	case delta > 0 && c.unschedulable > 0:
		return fmt.Errorf("unit %s has %d pods without a node, and gets %d more", unit, c.unschedulable, delta)
	case delta > 0 && now.Sub(m.book.left[unit]) < rest:
		return fmt.Errorf("unit %s gets %d pods, and gave some up %s ago", unit, delta, now.Sub(m.book.left[unit]))
	case delta > 0:
		return nil
	}
	fresh := 0
	for _, a := range m.book.arrivals[unit] {
		if now.Sub(a.at) < rest {
			fresh += a.pods
		}
	}
	short := c.late - max(0, c.has-desiredOf(before)[unit])
	resting := slices.ContainsFunc(before.Units, func(u cafev1alpha1.UnitStatus) bool {
		return u.Name == unit && u.ShortUntil != nil && now.Before(u.ShortUntil.Time)
	})
	if _, gave := m.book.left[unit]; gave && (resting || c.late > 0) { // what the group has not tried there yet need not be
		short += coming(before, before.CurrentGroup-1)[unit] - coming(before, before.CurrentGroup)[unit]
	}
	if fresh > 0 && -delta > max(0, short-fresh) {
		return fmt.Errorf("unit %s gives %d pods up, %d are short, and %d came less than %s ago", unit, -delta, short, fresh, rest)
	}
	if -delta > max(0, short, c.late) {
		return fmt.Errorf("unit %s gives %d pods up, and %d are short", unit, -delta, short)
	}
	return nil
}
