// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
)

// lose takes the nodes of some pods of a unit away, for good: of the set that has most.
func (c *cells) lose(unit string, pods int) {
	var most *set
	c.room[unit] = -pods
	for _, s := range c.sets {
		if s.unit != unit {
			continue
		}
		c.room[unit] += len(s.pods)
		if most == nil || len(s.pods) > len(most.pods) {
			most = s
		}
	}
	for i := range pods {
		lost := &most.pods[len(most.pods)-1-i]
		*lost = pod{version: lost.version, waiting: c.now}
	}
}

// goOn lets some seconds pass, and calls seen after each pass.
func (c *cells) goOn(seconds int, seen func()) {
	for range seconds {
		c.look(crash{asks: -1})
		seen()
		c.act()
		c.now = c.now.Add(time.Second)
	}
}

// Pods whose nodes are lost move to other units, where they come up on the new version, which nobody has confirmed yet.
func TestWhatMovesDuringAReleaseComesInItsGroups(t *testing.T) {
	for sentence, before := range map[string]int{"before its groups are cut": 1, "while its Beta group waits for a confirmation": 30} {
		for _, k := range []cafev1alpha1.PodSetType{cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.StatefulSetPodSetType, cafev1alpha1.ReplicaSetPodSetType} {
			t.Run(sentence+" of "+string(k), func(t *testing.T) {
				c := newCells(8, []string{"A", "B"}, beta(2), rescheduling, kind(k))
				c.settle(t)
				c.edit("releases v2", image("v2"), confirmed, func(d *cafev1alpha1.CafeDeployment) {
					d.Spec.Topology.AutoReschedule.InitialDelaySeconds = ptr.To[int32](0)
				})
				c.goOn(before, func() {})
				c.lose("A", 2)
				oneEach := func() {
					for name, s := range c.sets {
						if n := s.asked - s.partition; c.imageOf(s.revision) == "v2" && n > 1 {
							t.Fatalf("%s lets %d pods go to v2 in the Beta group", name, n)
						}
					}
				}
				c.goOn(3, oneEach)
				if c.versioned() {
					c.room["A"]++ // for pods that come up before older ones go
				}
				c.goOn(60, oneEach)
				if got := moved(&c.d.Status); got != "A-2 B+2" {
					t.Errorf("moved %q", got)
				}
				if c.d.Status.Phase != cafev1alpha1.WaitingForConfirmPhase {
					t.Errorf("the phase is %s", c.d.Status.Phase)
				}
			})
		}
	}
}

// A pod that the running group cannot bring up in one unit is brought up in another one by the same group, so a release that finds no room
// anywhere does not grow.
func TestAGroupThatMovesStaysOneGroup(t *testing.T) {
	c := newCells(6, []string{"A", "B"}, rescheduling)
	c.settle(t)
	c.room["A"], c.room["B"] = 3, 4
	c.edit("wants 8", replicas(8))
	c.goOn(2000, func() {
		if n := len(c.d.Status.Groups); n > 1 {
			t.Fatalf("%d groups", n)
		}
	})
	if c.d.Status.CurrentGroup != 1 || c.d.Status.Phase == cafev1alpha1.StablePhase {
		t.Errorf("in phase %s, group %d, and a pod has no node", c.d.Status.Phase, c.d.Status.CurrentGroup)
	}
}

// A unit that is closed keeps its pods until others have theirs. What a third unit has beyond its group is needed there.
func TestWhatAUnitHasBeyondItsGroupReplacesNoPodElsewhere(t *testing.T) {
	c := newCells(4, []string{"D", "C"})
	c.settle(t)
	c.d.Spec.Replicas = ptr.To[int32](5)
	c.d.Status.Groups = []cafev1alpha1.ReleaseGroup{
		{Index: 1, Kind: cafev1alpha1.BatchGroup, Units: []cafev1alpha1.GroupQuota{{Name: "C", Pods: 1, New: 1}}},
		{Index: 2, Kind: cafev1alpha1.BatchGroup, Units: []cafev1alpha1.GroupQuota{{Name: "D", Pods: 2, New: 2}}},
	}
	c.d.Spec.Strategy.BatchSize = ptr.To[int32](2)
	c.d.Status.CurrentGroup = 1
	c.d.Status.Units = []cafev1alpha1.UnitStatus{{Name: "D", Desired: 3}, {Name: "C", Desired: 2}, {Name: "B"}}
	c.sets["web-c"].pods[1].ready = false
	closed := *c.sets["web-d"]
	closed.name, closed.unit, closed.pods = "web-b", "B", slices.Clone(closed.pods)
	c.sets["web-b"] = &closed
	for _, a := range plan.Next(c.world(), c.now).Asks {
		if a.Set == "web-b" {
			t.Errorf("B is asked for %d pods: 2 and 2 of the other 5 exist, and one of them is not available", a.Replicas)
		}
	}
}

// A unit has a pod that only a later group would bring up, because its number was another one. It is not available, so it takes no other
// unit's place; and it is not taken away to come back.
func TestWhatALaterGroupWouldBringUpReplacesNobody(t *testing.T) {
	c := newCells(5, []string{"A", "D"})
	c.settle(t)
	c.d.Spec.Replicas, c.d.Spec.Topology.UnitReplicas = ptr.To[int32](3), cafev1alpha1.UnitReplicas{"D": intOf(1)}
	c.d.Spec.Strategy.BatchSize = ptr.To[int32](1)
	one := []cafev1alpha1.GroupQuota{{Name: "A", Pods: 1, New: 1}}
	c.d.Status.Groups = []cafev1alpha1.ReleaseGroup{{Index: 1, Kind: cafev1alpha1.BatchGroup, Units: one}, {Index: 2, Kind: cafev1alpha1.BatchGroup, Units: one}}
	c.d.Status.CurrentGroup = 1
	c.d.Status.Units = []cafev1alpha1.UnitStatus{{Name: "A", Desired: 2}, {Name: "D", Desired: 1}}
	a, d := c.sets["web-a"], c.sets["web-d"]
	a.asked, d.asked = 2, 3
	c.act()
	a.pods[0].ready, a.pods[1].ready = false, false
	if asks := plan.Next(c.world(), c.now).Asks; len(asks) > 0 {
		t.Errorf("asked: %+v", asks)
	}
	c.goOn(20, func() {
		if a.asked != 2 {
			t.Errorf("A is asked for %d pods", a.asked)
		}
	})
	if a.asked != 2 || d.asked != 1 || c.d.Status.Phase != cafev1alpha1.StablePhase {
		t.Errorf("in phase %s, A has %d pods and D has %d", c.d.Status.Phase, a.asked, d.asked)
	}
}

// A ReplicaSet without pods is not told new numbers, so what it says of its unit may be old.
func TestAnEmptyReplicaSetDoesNotCount(t *testing.T) {
	c := newCells(5, []string{"A"}, kind(cafev1alpha1.ReplicaSetPodSetType))
	c.settle(t)
	for _, s := range c.sets { // one pod was moved away, and comes home with the next release
		s.asked, s.unitAsked, s.pods = 4, 4, s.pods[:4]
	}
	c.sets["web-a-old"] = &set{unit: "A", name: "web-a-old", revision: "old", unitAsked: 5, seen: true}
	c.edit("releases v2", image("v2"), by(3))
	pods := int32(0)
	for n := 0; (c.imageOf(c.d.Status.UpdateRevision) != "v2" || len(c.d.Status.Groups) == 0) && n < 10; n++ {
		c.look(crash{asks: -1})
	}
	for _, g := range c.d.Status.Groups {
		pods += g.Units[0].Pods
	}
	if pods != 5 {
		t.Errorf("the groups bring up %d pods, want 5", pods)
	}
}

func TestAUnitOfReplicaSetsKeepsItsPodsUntilOthersHaveTheirs(t *testing.T) {
	c := newCells(6, []string{"B", "C"}, kind(cafev1alpha1.ReplicaSetPodSetType), by(2))
	c.settle(t)
	c.edit("wants none in C", fixing("C", 0))
	c.goOn(40, func() {
		asked := 0
		for _, s := range c.sets {
			asked += s.asked
		}
		if asked < 6 {
			t.Fatalf("all units together are asked for %d pods of 6", asked)
		}
	})
	if c.d.Status.Phase != cafev1alpha1.StablePhase {
		t.Errorf("the phase is %s", c.d.Status.Phase)
	}
}

// A unit has got a pod's quota, and two of its pods have no node: it gives one up, and not the one that has just come, in any later pass.
func TestWhatHasJustComeStaysInLaterPasses(t *testing.T) {
	c := newCells(9, []string{"A", "B", "C"}, rescheduling)
	c.settle(t)
	c.d.Status.Units[0].RescheduledOut, c.d.Status.Units[0].Desired = 1, 2
	c.d.Status.Units[0].ShortUntil = ptr.To(metav1.NewTime(c.now.Add(time.Hour)))
	c.d.Status.Units[1].RescheduledIn, c.d.Status.Units[1].Desired = 1, 4
	c.d.Status.Units[1].RescheduledAt = ptr.To(metav1.NewTime(c.now.Add(-10 * time.Second)))
	c.d.Status.RescheduledFor = purposeOf(c)
	c.sets["web-a"].asked, c.sets["web-b"].asked = 2, 4
	c.act()
	c.lose("B", 2)
	c.now = c.now.Add(10 * time.Second)
	c.goOn(60, func() {})
	if got := moved(&c.d.Status); got != "A-1 C+1" {
		t.Errorf("moved %q", got)
	}
}

// A scale-up goes in groups, and one of its cells is full: it is found out once, and later groups bring its pods up elsewhere at once, until
// the cell may have room again.
func TestAFullCellIsNotTriedAgainInEachGroup(t *testing.T) {
	c := newCells(4, []string{"A", "B"}, by(2), rescheduling)
	c.settle(t)
	c.room["A"] = 2
	c.edit("wants 12", replicas(12))
	tries, last := 0, c.sets["web-a"].asked
	c.goOn(120, func() {
		if n := c.sets["web-a"].asked; n > last {
			tries++
		}
		last = c.sets["web-a"].asked
	})
	if tries != 1 {
		t.Errorf("A was asked for more %d times, want once", tries)
	}
	if got := moved(&c.d.Status); got != "A-4 B+4" || c.d.Status.Phase != cafev1alpha1.StablePhase {
		t.Errorf("moved %q, in phase %s", got, c.d.Status.Phase)
	}
	delete(c.room, "A")
	c.now = c.now.Add(300 * time.Second)
	c.edit("wants 14", replicas(14))
	c.settle(t)
	if got := c.sets["web-a"].asked; got != 7 {
		t.Errorf("A has %d pods in the end, want 7", got)
	}
}
