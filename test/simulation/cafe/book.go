// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/world"
)

// book is what the judge has written down of one deployment. Units are its keys.
type book struct {
	// baseline is how many pods were on the release, or let go to it, when the running group began, and movedThen what had been moved by then.
	baseline, movedThen map[string]int
	// first is how many were let go then, and home are places below the partition of sets with ordinals that have been on the release since.
	first map[string]int
	home  map[string]map[int]bool
	// letGo is how many were let go at most since then.
	letGo map[string]int
	// reached: all that was let go was available once, since the running group began.
	reached map[string]bool
	// moved is what was moved to a unit, or away from it.
	moved map[string]int
	// arrivals are when quota came, and left when some went last.
	arrivals map[string][]arrival
	left     map[string]time.Time
	// tried is how many pods a unit was asked for at most since it gave quota up last.
	tried map[string]int
	// purpose is what quota was moved for.
	purpose string
	// open: a question stands. answered: a person has said yes to it. taken: the controller has taken that answer.
	open, answered, taken bool
	// water is how many pods a unit had available for good, and debt what a group that was given up may still lack.
	water, debt, asked map[string]int
	shrinks            map[string]bool
}

type arrival struct {
	at   time.Time
	pods int
}

func newBook() *book {
	return &book{
		baseline: map[string]int{}, first: map[string]int{}, home: map[string]map[int]bool{}, movedThen: map[string]int{}, letGo: map[string]int{}, reached: map[string]bool{}, moved: map[string]int{},
		arrivals: map[string][]arrival{}, tried: map[string]int{}, left: map[string]time.Time{}, water: map[string]int{}, debt: map[string]int{}, asked: map[string]int{}, shrinks: map[string]bool{},
	}
}

// answers enters what a person has done to the annotations.
func (b *book) answers(before, after map[string]string) {
	if before[confirmed] == "false" && after[confirmed] == "true" && b.open {
		b.answered = true
	}
}

// asked enters what the manager has done to the annotations.
func (b *book) writes(before, after map[string]string) {
	if b.answered && before[confirmed] == "true" && after[confirmed] == "" {
		b.taken = true
	}
	b.answered = false
	b.open = after[confirmed] == "false"
}

// starts tells whether the groups that stood in writing are void.
func voids(before, after *cafev1alpha1.CafeDeploymentStatus) bool {
	return before.UpdateRevision != after.UpdateRevision || len(before.Groups) > 0 && len(after.Groups) == 0
}

// enter writes a status down, after it was judged.
func (b *book) enter(j *judge, before, after *cafev1alpha1.CafeDeployment) {
	was, is := &before.Status, &after.Status
	b.enterMoves(j, after.UID, was, is)
	if voids(was, is) {
		b.answered, b.taken = false, false
		for unit := range quotas(was) {
			if !b.reached[unit] {
				b.debt[unit] = max(b.debt[unit], quotas(was)[unit])
			}
		}
	}
	if voids(was, is) || is.CurrentGroup != was.CurrentGroup {
		b.answered, b.taken = false, false
		update, _ := j.released(is.UpdateRevision)
		clear(b.baseline)
		clear(b.first)
		clear(b.home)
		for unit, c := range j.count(j.truth(), after.UID, update) {
			b.baseline[unit], b.first[unit] = max(c.released, c.onRelease), c.released
		}
		for _, set := range reader(j.view.All).setsOf(after.UID) { // what was counted may have gone since
			if set.release == update && set.looked {
				b.baseline[set.unit] = max(b.baseline[set.unit], min(set.updated, set.replicas))
			}
		}
		b.movedThen = maps.Clone(b.moved)
		clear(b.reached)
		clear(b.letGo)
	}
	if is.CurrentGroup == 0 && len(is.Groups) > 0 && was.CurrentGroup > 0 {
		clear(b.debt)
	}
}

// comesHome notes pods that are on the release although their set keeps them: it has made them anew from what it keeps, and that is the
// release again. To let them go changes nothing about them.
func (b *book) comesHome(read reader, set podSet) {
	if b.home[set.unit] == nil {
		b.home[set.unit] = map[int]bool{}
	}
	for _, pod := range read.podsOf(set.object.GetUID()) {
		if n := kube.Ordinal(pod); n < min(set.kept, set.replicas) && world.Running(pod) == set.release {
			b.home[set.unit][n] = true
		}
	}
	b.baseline[set.unit] = max(b.baseline[set.unit], b.first[set.unit]+len(b.home[set.unit]))
}

func (b *book) enterMoves(j *judge, uid types.UID, was, is *cafev1alpha1.CafeDeploymentStatus) {
	now := j.Clock.Now()
	home := was.RescheduledFor != "" && is.RescheduledFor != was.RescheduledFor && len(j.saw[uid]) > 0 && b.purpose != purposeOf(j.saw[uid][0])
	if home {
		clear(b.tried)
		clear(b.arrivals)
		clear(b.left)
	}
	moves := movesOf(is)
	for unit := range union(b.moved, moves) {
		switch delta := moves[unit] - b.moved[unit]; {
		case home:
		case delta > 0:
			b.arrivals[unit] = append(b.arrivals[unit], arrival{at: now, pods: delta})
		case delta < 0:
			b.left[unit] = now
		}
	}
	b.moved = moves
}

func movesOf(s *cafev1alpha1.CafeDeploymentStatus) map[string]int {
	moves := map[string]int{}
	for _, u := range s.Units {
		if n := int(u.RescheduledIn - u.RescheduledOut); n != 0 {
			moves[u.Name] = n
		}
	}
	return moves
}

func desiredOf(s *cafev1alpha1.CafeDeploymentStatus) map[string]int {
	desired := map[string]int{}
	for _, u := range s.Units {
		desired[u.Name] = int(u.Desired)
	}
	return desired
}

// quotas are what the running group takes in each unit.
func quotas(s *cafev1alpha1.CafeDeploymentStatus) map[string]int {
	taken := map[string]int{}
	if s.CurrentGroup > 0 && int(s.CurrentGroup) <= len(s.Groups) {
		for _, q := range s.Groups[s.CurrentGroup-1].Units {
			taken[q.Name] += int(q.Pods)
		}
	}
	return taken
}

// coming is how many new pods each unit gets in the groups after so many, while a release goes on.
func coming(s *cafev1alpha1.CafeDeploymentStatus, after int32) map[string]int {
	pods := map[string]int{}
	for i, g := range s.Groups {
		for _, q := range g.Units {
			if s.CurrentGroup > 0 && i >= int(after) {
				pods[q.Name] += int(q.New)
			}
		}
	}
	return pods
}

func union(maps ...map[string]int) map[string]bool {
	all := map[string]bool{}
	for _, m := range maps {
		for key := range m {
			all[key] = true
		}
	}
	return all
}

// float judges the floor of a unit: what it had available for good it keeps, but for the pods of its group. It holds where nobody but the
// manager takes pods out of service.
func (b *book) float(unit string, c unitCount, d *cafev1alpha1.CafeDeployment) error {
	available, number := c.ready, min(c.asked, desiredOf(&d.Status)[unit]-coming(&d.Status, d.Status.CurrentGroup)[unit])
	debt := max(quotas(&d.Status)[unit], b.debt[unit])
	if ordinalKind(d) {
		debt = quotas(&d.Status)[unit] + b.debt[unit] // a pod that is down is not updated before others
		b.shrinks[unit] = (b.shrinks[unit] || c.asked < b.asked[unit]) && (c.has > c.asked || c.newAvailable < c.asked)
		if b.shrinks[unit] {
			b.water[unit] = 0 // the pods that go are those that were updated first, so those below may still have to
			return nil
		}
	}
	b.asked[unit] = c.asked
	b.water[unit] = min(number, max(b.water[unit], available))
	if floor := b.water[unit] - debt; available < floor {
		return fmt.Errorf("unit %s has %d available pods, and had %d; its group has %d", unit, available, b.water[unit], quotas(&d.Status)[unit])
	}
	return nil
}

func ordinalKind(d *cafev1alpha1.CafeDeployment) bool {
	return d.Spec.PodSetType == cafev1alpha1.AdvancedStatefulSetPodSetType || d.Spec.PodSetType == cafev1alpha1.StatefulSetPodSetType
}

// purposeOf is what quota is moved for: while it is the same, what was moved stays.
func purposeOf(d *cafev1alpha1.CafeDeployment) string {
	text := fmt.Sprint(replicasOf(d), d.Spec.Topology.UnitType, d.Spec.Topology.Values, wanted(d))
	var fixed []string
	for unit, n := range d.Spec.Topology.UnitReplicas {
		fixed = append(fixed, unit+"="+n.String())
	}
	slices.Sort(fixed)
	return text + strings.Join(fixed, " ")
}

// sameRelease tells whether a revision that stands in writing is the template of a spec.
func sameRelease(j *judge, name string, d *cafev1alpha1.CafeDeployment) bool {
	r, known := j.released(name)
	return known && r == world.ReleaseOf(d.Spec.Template.Labels, &d.Spec.Template.Spec)
}
