// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"fmt"
	"reflect"
	"slices"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/world"
)

// moment is the one before a write, for one version of the spec that the manager may have acted on.
type moment struct {
	*judge
	book *book
	// spec is what the manager saw, and stored how the deployment is in truth.
	spec, stored *cafev1alpha1.CafeDeployment
	// behind: the manager's view is older than its own former life.
	behind bool
}

type status = cafev1alpha1.CafeDeploymentStatus

// reports judges a status: groups and moves are decided in it.
func (m *moment) reports(before, after *status) error {
	for _, rule := range []func(before, after *status) error{m.pauses, m.cuts, m.begins, m.moves} {
		if err := rule(before, after); err != nil {
			return err
		}
	}
	return nil
}

// pauses: nothing is decided in a pause; what is on its way may end.
func (m *moment) pauses(before, after *status) error {
	if !m.spec.Spec.Strategy.Pause {
		return nil
	}
	switch {
	case after.UpdateRevision != before.UpdateRevision:
		return fmt.Errorf("a new template is taken on in a pause")
	case after.CurrentGroup > before.CurrentGroup:
		return fmt.Errorf("group %d begins in a pause", after.CurrentGroup)
	case !reflect.DeepEqual(movesOf(before), movesOf(after)):
		return fmt.Errorf("quota is moved in a pause")
	case len(after.Groups) != len(before.Groups):
		return fmt.Errorf("groups are cut in a pause")
	}
	return nil
}

// cuts judges how groups are cut: by batchSize, each in proportion to what is left, one pod of each unit first with Beta.
func (m *moment) cuts(before, after *status) error {
	fresh := len(before.Groups) == 0 && len(after.Groups) > 0
	if !fresh && reflect.DeepEqual(contents(before), contents(after)) || len(after.Groups) == 0 {
		return nil
	}
	left := map[string]int{}
	for _, g := range after.Groups {
		for _, q := range g.Units {
			if q.Pods < 1 || q.New < 0 || q.New > q.Pods {
				return fmt.Errorf("group %d takes %d pods of unit %s, %d of them new", g.Index, q.Pods, q.Name, q.New)
			}
			if g.Kind == cafev1alpha1.BetaGroup && q.Pods > 1 {
				return fmt.Errorf("the Beta group takes %d pods of unit %s", q.Pods, q.Name)
			}
			left[q.Name] += int(q.Pods)
		}
	}
	if fresh {
		if err := m.work(left); err != nil {
			return err
		}
	}
	for i, g := range after.Groups {
		begun := !fresh && i < int(after.CurrentGroup)
		if err := m.cut(g, left, fresh && i == 0, begun); err != nil {
			return err
		}
		for _, q := range g.Units {
			left[q.Name] -= int(q.Pods)
		}
	}
	return nil
}

// contents are the groups without how far they are.
func contents(s *status) []cafev1alpha1.ReleaseGroup {
	var all []cafev1alpha1.ReleaseGroup
	for _, g := range s.Groups {
		g.Done = false
		all = append(all, g)
	}
	return all
}

// cut judges one group, with what was left to do before it.
func (m *moment) cut(g cafev1alpha1.ReleaseGroup, left map[string]int, first, begun bool) error {
	parts, size, total, units := map[string]int{}, 0, 0, 0
	for _, q := range g.Units {
		parts[q.Name] += int(q.Pods)
		size += int(q.Pods)
	}
	for _, n := range left {
		total += n
		units += min(1, n)
	}
	isBeta := m.spec.Spec.Strategy.UpgradeType == cafev1alpha1.BetaUpgradeType
	switch {
	case begun:
		return nil // it was judged when it was cut
	case first && isBeta != (g.Kind == cafev1alpha1.BetaGroup):
		return fmt.Errorf("the first group is of kind %s, and upgradeType is %q", g.Kind, m.spec.Spec.Strategy.UpgradeType)
	case first && isBeta && (size != units || len(parts) != units):
		return fmt.Errorf("the Beta group takes %v, and %d units have something to do", parts, units)
	case first && isBeta:
		return nil
	case g.Kind == cafev1alpha1.BetaGroup:
		return fmt.Errorf("group %d is a Beta group, and not the first", g.Index)
	}
	batch := total
	if b := m.spec.Spec.Strategy.BatchSize; b != nil {
		batch = min(total, int(*b))
	}
	if size != batch {
		return fmt.Errorf("group %d takes %d pods, with %d to do and batchSize %v", g.Index, size, total, m.spec.Spec.Strategy.BatchSize)
	}
	for unit, n := range left {
		if off := parts[unit]*total - size*n; off >= total || -off >= total {
			return fmt.Errorf("group %d takes %d pods of unit %s, which has %d of the %d to do, and %d in all", g.Index, parts[unit], unit, n, total, size)
		}
	}
	return nil
}

// work judges what the groups do together: all that is missing or older, where nothing was moved.
func (m *moment) work(taken map[string]int) error {
	given, adds := shares(m.spec)
	if !adds || len(m.book.moved) > 0 || m.spec.Spec.PodSetType == cafev1alpha1.ReplicaSetPodSetType {
		return nil
	}
	update := wanted(m.spec)
	on, beyond := map[string]int{}, map[string]int{}
	for _, set := range reader(m.view.All).setsOf(m.spec.UID) {
		if !slices.Contains(unitsOf(m.spec), set.unit) {
			continue
		}
		if set.release != update || !set.looked {
			return fmt.Errorf("groups are cut before unit %s has looked at the template", set.unit)
		}
		if set.ordinals() {
			if on[set.unit] = m.updatedPlaces(set, update); given[set.unit] > 0 {
				beyond[set.unit] = max(0, set.replicas-given[set.unit])
			}
			continue
		}
		on[set.unit] += max(min(set.updated, set.replicas), set.released()) // what it has beyond its number is on its way out
	}
	for unit, n := range given {
		if want := max(0, n+beyond[unit]-on[unit]); taken[unit] != want {
			return fmt.Errorf("the groups do %d pods of unit %s: it is to have %d, and %d are on the release", taken[unit], unit, n, on[unit])
		}
	}
	return nil
}

// updatedPlaces is how many places of a set with ordinals need no update. What the set has beyond its unit's number is kept for others
// until they have theirs, and updated before all that is below it: groups that did not count these places would let more go than they say.
func (m *moment) updatedPlaces(set podSet, update world.Release) int {
	n := max(0, set.replicas-set.kept) // let go already
	for _, pod := range reader(m.view.All).podsOf(set.object.GetUID()) {
		if kube.Ordinal(pod) < min(set.kept, set.replicas) && world.Running(pod) == update {
			n++
		}
	}
	return n
}

// begins judges the end of a group, and the begin of the next one.
func (m *moment) begins(before, after *status) error {
	if voids(before, after) {
		if after.CurrentGroup != 0 || len(after.Groups) > 0 {
			return fmt.Errorf("groups begin together with a new release")
		}
		return nil
	}
	size := func(s *status) (pods int) {
		for _, n := range quotas(s) {
			pods += n
		}
		return pods
	}
	if after.CurrentGroup == before.CurrentGroup {
		if size(after) > size(before) {
			return fmt.Errorf("group %d had %d pods, and has %d", after.CurrentGroup, size(before), size(after))
		}
		return nil
	}
	if after.CurrentGroup > 0 {
		size := size(after)
		g := after.Groups[after.CurrentGroup-1]
		if b := m.spec.Spec.Strategy.BatchSize; b != nil && size > int(*b) && g.Kind != cafev1alpha1.BetaGroup {
			return fmt.Errorf("group %d begins with %d pods, and batchSize is %d", after.CurrentGroup, size, *b)
		}
	}
	switch {
	case before.CurrentGroup == 0 && after.CurrentGroup == 1:
		return nil
	case after.CurrentGroup == 0:
		if int(before.CurrentGroup) < len(after.Groups) {
			return fmt.Errorf("the release ends with group %d of %d", before.CurrentGroup, len(after.Groups))
		}
		return m.ended(before)
	case after.CurrentGroup != before.CurrentGroup+1:
		return fmt.Errorf("from group %d to %d", before.CurrentGroup, after.CurrentGroup)
	}
	if err := m.ended(before); err != nil {
		return err
	}
	if m.spec.Spec.Strategy.NeedWaitingForConfirm && !m.book.answered && !m.book.taken {
		return fmt.Errorf("group %d begins, and nobody has confirmed", after.CurrentGroup)
	}
	return nil
}

// ended: all pods of the running group are available, in every unit that is still wanted.
func (m *moment) ended(before *status) error {
	if m.behind {
		return nil
	}
	update, _ := m.released(before.UpdateRevision)
	truth := m.count(m.truth(), m.spec.UID, update)
	taken := quotas(before)
	view, desired, later := m.count(m.view.All, m.spec.UID, update), desiredOf(before), coming(before, before.CurrentGroup)
	for _, unit := range unitsOf(m.spec) {
		c := truth[unit]
		number := max(0, desired[unit]-later[unit]) // it may have more, which go
		if ordinalKind(m.spec) && number > 0 {
			number = max(number, c.asked) // but first, so those below are not there because these are
		}
		due := min(c.released, number)
		ready := max(c.newAvailable, view[unit].newAvailable, view[unit].believedNew)
		if !m.book.reached[unit] && taken[unit] > 0 && ready < due {
			return fmt.Errorf("group %d ends, and unit %s has had %d of %d pods available on the release", before.CurrentGroup, unit, c.newAvailable, c.released)
		}
		given, takes := c.released, taken[unit]
		if ordinalKind(m.spec) {
			given = max(given, m.book.letGo[unit]) // what the unit has beyond its number is let go first, and goes when others have theirs
			if c.asked >= desired[unit]-later[unit] {
				takes -= coming(before, before.CurrentGroup-1)[unit] - later[unit] // the new ones are there, or were kept and are its own now
			}
		}
		if want := min(m.book.baseline[unit]+taken[unit], desired[unit]-later[unit]) - max(0, -m.book.moved[unit]); given < min(want, takes) {
			return fmt.Errorf("group %d ends, and unit %s was given %d of %d pods", before.CurrentGroup, unit, given, want)
		}
	}
	return nil
}

// annotates judges questions: only the end of a group is one, and no answer is lost.
func (m *moment) annotates(before, after *cafev1alpha1.CafeDeployment) error {
	s := &m.stored.Status
	was, is := before.Annotations[confirmed], after.Annotations[confirmed]
	switch {
	case is == "true" && was != "true":
		return fmt.Errorf("the manager confirms by itself")
	case is != "false" || was == "false":
		return nil
	case m.book.answered && was == "true":
		return fmt.Errorf("a confirmation is lost: the question is asked again")
	case s.CurrentGroup == 0 || !s.Groups[s.CurrentGroup-1].Done || int(s.CurrentGroup) == len(s.Groups):
		return fmt.Errorf("a person is asked, and no group waits")
	case !m.spec.Spec.Strategy.NeedWaitingForConfirm:
		return fmt.Errorf("a person is asked, and needWaitingForConfirm is off")
	}
	return nil
}
