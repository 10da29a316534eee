// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strings"
	"testing"
	"time"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
)

// A release goes back, and two of six pods seem never to have left the old version. As long as that may be an old view, they count neither as
// done nor as to do: nothing is cut, and nothing is let go.
func TestPodsThatMayBeSeenAsTheyWereAreNotCounted(t *testing.T) {
	c := newCells(6, []string{"A"}, kind(cafev1alpha1.StatefulSetPodSetType), by(2))
	c.settle(t)
	c.edit("releases v2", image("v2"))
	for n := 0; n < 10 && !(c.imageOf(c.sets["web-a"].revision) == "v2" && c.sets["web-a"].seen); n++ {
		c.look(crash{asks: -1})
		if c.imageOf(c.sets["web-a"].revision) == "v2" {
			c.act()
		}
	}
	world := c.world()
	seen := &world.Units[0].Sets[0]
	seen.Older = []int{2, 3, 4, 5}
	if seen.Partition != 6 || !seen.Early(c.d.Spec.PodSetType) || seen.Early(cafev1alpha1.CloneSetPodSetType) {
		t.Fatalf("the set shows %+v", seen)
	}
	seen.Doubtful = true
	next := plan.Next(world, c.now)
	if len(next.Status.Groups)+len(next.Asks) > 0 || !strings.Contains(strings.Join(next.Waits, "; "), "it is not seen yet which are on the template") {
		t.Errorf("groups %v, asks %v, waits %v", next.Status.Groups, next.Asks, next.Waits)
	}
	seen.Doubtful = false
	pods := int32(0)
	for _, g := range plan.Next(world, c.now).Status.Groups {
		pods += g.Units[0].Pods
	}
	if pods != 4 {
		t.Errorf("the groups take %d pods, want 4", pods)
	}
}

// While groups run, pods that may be seen as they were take nothing from the groups to come: else the last one would let them go with its own.
func TestPodsThatMayBeSeenAsTheyWereShortenNoRelease(t *testing.T) {
	c := newCells(6, []string{"A"}, kind(cafev1alpha1.StatefulSetPodSetType), by(2), confirmed)
	c.settle(t)
	for c.d.Status.Phase == cafev1alpha1.WaitingForConfirmPhase {
		c.confirm()
		c.settle(t)
	}
	c.edit("releases v2", image("v2"))
	c.settle(t)
	for _, doubtful := range []bool{true, false} {
		world := c.world()
		world.Units[0].Sets[0].Older = []int{2, 3}
		world.Units[0].Sets[0].Doubtful = doubtful
		next := plan.Next(world, c.now)
		pods := int32(0)
		for _, g := range next.Status.Groups {
			pods += g.Units[0].Pods
		}
		if want := map[bool]int32{true: 6, false: 4}[doubtful]; pods != want || len(next.Asks) > 0 {
			t.Errorf("doubtful %v: the groups take %d pods, want %d; asks %v", doubtful, pods, want, next.Asks)
		}
	}
}

// A has three pods of v1, and is to have two. It updates the highest first, and that one is beyond its number. Its lowest does not come up.
func TestAGroupDoesNotEndByAPodBeyondTheNumberOfItsUnit(t *testing.T) {
	c := newCells(4, []string{"A", "B"}, kind(cafev1alpha1.StatefulSetPodSetType), by(1), fixing("A", 3))
	c.settle(t)
	c.edit("wants v2, and as many in A as in B", image("v2"), func(d *cafev1alpha1.CafeDeployment) { d.Spec.Topology.UnitReplicas = nil })
	a := c.sets["web-a"]
	for range 60 {
		c.look(crash{asks: -1})
		c.act()
		if a.pods[0].version == a.revision {
			a.pods[0].ready = false
		}
		c.now = c.now.Add(time.Second)
	}
	if c.imageOf(a.pods[0].version) != "v2" {
		t.Fatalf("A has not come to its lowest pod: %s", c.picture())
	}
	if len(a.pods) != 3 {
		t.Errorf("A gave a pod up that is available, and one below it is not: %s", c.picture())
	}
}
