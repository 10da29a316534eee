// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// taken is what all groups in writing take of a unit.
func taken(s *cafev1alpha1.CafeDeploymentStatus, unit string) (pods int32) {
	for _, g := range s.Groups {
		for _, q := range g.Units {
			if q.Name == unit {
				pods += q.Pods
			}
		}
	}
	return pods
}

// untilCut lets passes go by, without a pod that moves, until groups are cut.
func (c *cells) untilCut(t *testing.T) {
	t.Helper()
	for range 20 {
		if c.look(crash{asks: -1}); c.d.Status.CurrentGroup > 0 {
			return
		}
		for _, s := range c.sets {
			s.seen = true
		}
	}
	t.Fatal("no groups are cut")
}

// A pod whose quota has moved away goes, and no group waits for its update: a group that takes more of a unit than the unit has would end
// with nothing done.
func TestGroupsTakeNothingOfAUnitThatHasMovedAway(t *testing.T) {
	for _, k := range []cafev1alpha1.PodSetType{cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType} {
		t.Run(string(k), func(t *testing.T) {
			c := newCells(4, []string{"A", "B"}, by(1), rescheduling, kind(k))
			c.settle(t)
			c.edit("releases v2", image("v2"), func(d *cafev1alpha1.CafeDeployment) {
				d.Spec.Topology.AutoReschedule.InitialDelaySeconds = ptr.To[int32](0)
			})
			c.look(crash{asks: -1})
			c.lose("A", 1)
			c.untilCut(t)
			if got := moved(&c.d.Status); got != "A-1 B+1" {
				t.Fatalf("moved %q", got)
			}
			if a, b := taken(&c.d.Status, "A"), taken(&c.d.Status, "B"); a != 1 || b != 3 {
				t.Errorf("the groups take %d pods of A and %d of B, want 1 and 3", a, b)
			}
		})
	}
}

// Back in the middle, with fewer pods: which of them are on the release is known when the sets have looked, and those that are not go.
func TestPodsThatGoAreOnOlderVersions(t *testing.T) {
	c := newCells(8, []string{"A", "B"}, by(2), confirmed)
	c.settle(t)
	c.confirm()
	c.settle(t)
	c.confirm()
	c.settle(t)
	c.confirm()
	c.settle(t)
	c.edit("releases v2", image("v2"))
	c.settle(t) // one of four in each unit
	c.edit("goes back, and wants 6", image("v1"), replicas(6))
	for range 20 {
		for _, a := range c.look(crash{asks: -1}).Asks {
			switch {
			case a.GivesTemplate && a.Replicas != 4:
				t.Errorf("%s gets the template and %d pods: nobody knows yet which of its 4 are on it", a.Set, a.Replicas)
			case !a.GivesTemplate && a.Replicas == 3 && a.Partition > 0:
				t.Errorf("%s is asked for 3 pods and keeps %d: 3 of 4 are on the release, and the other one goes", a.Set, a.Partition)
			}
		}
		for _, s := range c.sets {
			s.seen = true
		}
	}
	if got := c.sets["web-a"].asked; got != 3 {
		t.Errorf("A is asked for %d pods", got)
	}
}

// The partition says how many of the pods stay, and a set that gets smaller gives up those beyond.
func TestWhileAPartitionKeepsPodsAnOlderOneGoesFirst(t *testing.T) {
	c := newCells(8, []string{"A", "B"}, kept(8))
	c.settle(t)
	c.edit("releases v2, and lets 4 go", image("v2"), kept(4))
	c.settle(t)
	c.edit("keeps all, back on v1", image("v1"), kept(8))
	c.settle(t)
	c.edit("wants 6", replicas(6))
	c.look(crash{asks: -1})
	c.look(crash{asks: -1})
	if a := c.sets["web-a"]; a.asked != 3 || a.partition != 1 {
		t.Errorf("A is asked for %d pods and keeps %d: 2 of 4 are on the release, and one of the others goes", a.asked, a.partition)
	}
}

// What is on its way ends by the numbers that it began with: those of the spec wait for the end of the pause.
func TestAGroupEndsInAPauseByTheNumbersInWriting(t *testing.T) {
	c := newCells(3, []string{"A", "B", "C"})
	c.untilCut(t)
	c.look(crash{asks: -1})
	for _, s := range c.sets {
		s.seen = true
	}
	c.edit("pauses, and wants none", replicas(0), func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = true })
	c.look(crash{asks: -1})
	if c.d.Status.CurrentGroup != 1 || c.d.Status.Groups[0].Done {
		t.Errorf("group %d runs, %+v: no pod has come up", c.d.Status.CurrentGroup, c.d.Status.Groups)
	}
}

// A set with ordinals loses its highest first. One of those that stay has no node, so another unit that is closed keeps a pod in its place.
func TestAPodBelowOthersThatFindsNoNodeIsNotCountedOn(t *testing.T) {
	c := newCells(6, []string{"A", "B", "C"}, kind(cafev1alpha1.StatefulSetPodSetType))
	c.settle(t)
	c.edit("closes A, and wants 4 in C", units("B", "C"), fixing("B", 2))
	c.room["B"] = 1
	c.sets["web-b"].pods[0] = pod{version: c.sets["web-b"].pods[0].version, waiting: c.now}
	c.goOn(30, func() {})
	if a := c.sets["web-a"]; a == nil || a.asked != 1 {
		t.Errorf("A is asked for %+v, want 1 pod: B serves 1 and C 4, and 6 are wanted", a)
	}
}

// The pod that was on the release already is the highest, so the others are updated from the next one down.
func TestPlacesThatAreOnTheReleaseAreLeft(t *testing.T) {
	c := newCells(4, []string{"A"}, kind(cafev1alpha1.StatefulSetPodSetType), by(1))
	c.settle(t)
	c.edit("releases v2, and asks to be asked", image("v2"), confirmed)
	c.settle(t) // the highest of four
	c.edit("goes back, and changes the mind", image("v1"))
	for c.sets["web-a"].revision != c.d.Status.UpdateRevision || c.sets["web-a"].partition != 4 {
		c.look(crash{asks: -1})
	}
	c.edit("releases v2", image("v2"))
	for n := range 3 {
		c.settle(t)
		if got := newOnes(c, "v2"); got != n+2 {
			t.Fatalf("%d pods are on v2 after %d groups of 1, and one was before", got, n+1)
		}
		c.confirm()
	}
	c.settle(t)
	if c.d.Status.Phase != cafev1alpha1.StablePhase {
		t.Errorf("the phase is %s", c.d.Status.Phase)
	}
}

// What a unit keeps for others is its highest ordinals, which are updated first: that is counted, and a group whose pods have gone with them
// takes others in their place.
func TestOrdinalsThatAreKeptForOthersAreUpdatedWithinTheGroups(t *testing.T) {
	c := newCells(8, []string{"A", "B"}, kind(cafev1alpha1.StatefulSetPodSetType), beta(2))
	c.settle(t)
	c.edit("releases v2, and asks to be asked", image("v2"), confirmed)
	c.untilCut(t)
	c.look(crash{asks: -1})
	c.edit("wants 4 while the highest ones are let go", replicas(4))
	for range 5 { // nothing moves yet
		c.look(crash{asks: -1})
		for _, s := range c.sets {
			s.seen = true
		}
	}
	c.settle(t)
	for name, s := range c.sets {
		if s.asked != 2 || s.partition != 1 || s.pods[1].version != s.revision {
			t.Errorf("%s has %+v and keeps %d: its highest that stays is its Beta pod", name, s.pods, s.partition)
		}
	}
	if c.d.Status.Phase != cafev1alpha1.WaitingForConfirmPhase {
		t.Errorf("the phase is %s", c.d.Status.Phase)
	}
}

// The pods of a unit of ReplicaSets are more than its number while new ones come up, and of those that find no node none is kept.
func TestAUnitOfReplicaSetsKeepsThePodsThatHaveNodes(t *testing.T) {
	c := newCells(8, []string{"A", "B"}, kind(cafev1alpha1.ReplicaSetPodSetType), by(2))
	c.settle(t)
	c.edit("releases v2", image("v2"))
	c.untilCut(t)
	c.look(crash{asks: -1}) // A has 4 of v1, and 1 of v2 besides
	c.act()
	c.lose("A", 2)
	c.edit("closes A", units("B"))
	for range 10 {
		c.look(crash{asks: -1})
		asked := 0
		for _, s := range c.sets {
			if s.unit == "A" {
				asked += s.asked
			}
		}
		if asked < 3 {
			t.Fatalf("A is asked for %d pods: 3 of its 5 have nodes, and B lacks 4", asked)
		}
	}
}
