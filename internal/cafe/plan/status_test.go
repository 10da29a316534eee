// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
)

// inGroup is a deployment in the middle of a release, whose group of that number is on its way.
func inGroup(t *testing.T, group int32) *cells {
	t.Helper()
	w := newCells(10, []string{"A", "B"}, beta(4))
	w.settle(t)
	w.edit("releases v2", image("v2"))
	for range 50 {
		if w.d.Status.CurrentGroup == group && len(w.d.Status.Groups) == 3 && !w.d.Status.Groups[2].Done {
			w.look(crash{asks: -1}) // its pod sets are asked
			return w
		}
		w.look(crash{asks: -1})
		w.act()
	}
	t.Fatalf("group %d never begins", group)
	return nil
}

func TestTheStatusTellsWhatWasSeen(t *testing.T) {
	w := inGroup(t, 2)
	world := w.world()
	world.Units[0].Sets[0].Seen, world.Units[1].Sets[0].Seen = true, true
	for i := range world.Units {
		world.Units[i].Sets[0].Counts = map[string]plan.Counts{
			"A": {Has: 5, Ready: 4, Available: 3, Updated: 3, UpdatedAvailable: 1}, "B": {Has: 6, Ready: 6, Available: 5, Updated: 3, UpdatedAvailable: 2},
		}[world.Units[i].Name]
	}
	quota := []cafev1alpha1.GroupQuota{{Name: "A", Pods: 2}, {Name: "B", Pods: 2}}
	want := cafev1alpha1.CafeDeploymentStatus{
		ObservedGeneration: 2, Replicas: 11, ReadyReplicas: 10, AvailableReplicas: 8, UpdatedReplicas: 6, UpdatedAvailableReplicas: 3,
		CurrentRevision: w.revisions[0].Name, UpdateRevision: w.revisions[1].Name, LabelSelector: "app=web",
		Phase: cafev1alpha1.ProgressingPhase, CurrentGroup: 2,
		Groups: []cafev1alpha1.ReleaseGroup{
			{Index: 1, Kind: cafev1alpha1.BetaGroup, Units: []cafev1alpha1.GroupQuota{{Name: "A", Pods: 1}, {Name: "B", Pods: 1}}, Done: true},
			{Index: 2, Kind: cafev1alpha1.BatchGroup, Units: quota}, {Index: 3, Kind: cafev1alpha1.BatchGroup, Units: quota},
		},
		Units: []cafev1alpha1.UnitStatus{
			{Name: "A", Desired: 5, Replicas: 5, Ready: 4, Available: 3, Updated: 3, UpdatedAvailable: 1, Partition: 2, PodSet: "web-a"},
			{Name: "B", Desired: 5, Replicas: 6, Ready: 6, Available: 5, Updated: 3, UpdatedAvailable: 2, Partition: 2, PodSet: "web-b"},
		},
	}
	if diff := cmp.Diff(want, plan.Next(world, w.now).Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// A pod is done when it is available on the new version, for which it must be ready for a while.
func TestAGroupEndsWhenItsPodsAreAvailable(t *testing.T) {
	for sentence, c := range map[string]struct {
		counts plan.Counts
		want   bool
	}{
		"all are available":                           {plan.Counts{Has: 5, Ready: 5, Available: 5, Updated: 3, UpdatedAvailable: 3}, true},
		"one is only ready":                           {plan.Counts{Has: 5, Ready: 5, Available: 4, Updated: 3, UpdatedAvailable: 2}, false},
		"one is not updated":                          {plan.Counts{Has: 5, Ready: 5, Available: 5, Updated: 2, UpdatedAvailable: 2}, false},
		"a pod on the older version is not available": {plan.Counts{Has: 5, Ready: 4, Available: 4, Updated: 3, UpdatedAvailable: 3}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := inGroup(t, 2)
			w.act()
			world := w.world()
			for i := range world.Units {
				if world.Units[i].Name == "A" {
					world.Units[i].Sets[0].Counts = c.counts
				}
			}
			if got := plan.Next(world, w.now).Status.Groups[1].Done; got != c.want {
				t.Errorf("done: %v, want %v", got, c.want)
			}
		})
	}
}

func TestPhases(t *testing.T) {
	pause := func(on bool) edit {
		return func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = on }
	}
	for sentence, c := range map[string]struct {
		cells *cells
		then  func(*cells)
		want  cafev1alpha1.CafeDeploymentPhase
	}{
		"the spec is reached":                   {newCells(4, []string{"A", "B"}, by(2)), nil, cafev1alpha1.StablePhase},
		"a pod is down":                         {newCells(4, []string{"A", "B"}, by(2)), func(w *cells) { w.sets["web-a"].pods[0].ready = false }, cafev1alpha1.ProgressingPhase},
		"a pod is missing":                      {newCells(4, []string{"A", "B"}, by(2)), func(w *cells) { w.sets["web-a"].pods = w.sets["web-a"].pods[:1] }, cafev1alpha1.ProgressingPhase},
		"a group is on its way":                 {newCells(4, []string{"A", "B"}, by(2), image("v1-broken")), nil, cafev1alpha1.ProgressingPhase},
		"a group waits for a person":            {newCells(4, []string{"A", "B"}, by(2), confirmed), nil, cafev1alpha1.WaitingForConfirmPhase},
		"a pause keeps a group from beginning":  {newCells(4, []string{"A", "B"}, by(2), confirmed), func(w *cells) { pause(true)(w.d) }, cafev1alpha1.PausedPhase},
		"a pause keeps a template from its way": {newCells(4, []string{"A", "B"}, by(2)), func(w *cells) { w.edit("releases in a pause", pause(true), image("v2")) }, cafev1alpha1.PausedPhase},
		"a pause keeps nothing":                 {newCells(4, []string{"A", "B"}, by(2)), func(w *cells) { pause(true)(w.d) }, cafev1alpha1.StablePhase},
		"the split does not add up":             {newCells(4, []string{"A", "B"}, by(2)), func(w *cells) { fixing("A", 9)(w.d) }, cafev1alpha1.BlockedPhase},
		"the selector matches nothing": {newCells(4, []string{"A", "B"}, by(2)), func(w *cells) { w.d.Spec.Selector.MatchLabels["app"] = "other" },
			cafev1alpha1.BlockedPhase},
		"nobody has room": {newCells(4, []string{"A", "B"}, rescheduling), func(w *cells) {
			w.edit("wants more", replicas(6))
			w.room["A"], w.room["B"] = 2, 2
		}, cafev1alpha1.BlockedPhase},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := c.cells
			w.settle(t)
			if c.then != nil {
				if c.then(w); len(w.room) > 0 {
					w.settle(t)
				}
			}
			w.look(crash{asks: -1}) // a new template is recorded first
			if got := plan.Next(w.world(), w.now).Status.Phase; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestNoUnitFallsBelowItsFloor releases a version, broken or not, with a manager that dies at any point, and looks at the moment
// when pods have just left: a unit lacks no more pods than the group that is on its way takes there, and with ReplicaSets none.
func TestNoUnitFallsBelowItsFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []cafev1alpha1.PodSetType{
			cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType,
		}
		strategy := by(rapid.Int32Range(0, 5).Draw(t, "batch"))
		if rapid.Bool().Draw(t, "beta") {
			strategy = beta(rapid.Int32Range(0, 5).Draw(t, "batch of beta"))
		}
		of := rapid.SampledFrom(kinds).Draw(t, "kind")
		w := newCells(rapid.Int32Range(1, 14).Draw(t, "replicas"), drawUnitsOf(t), kind(of), strategy)
		for range 60 {
			w.look(crash{asks: -1})
			w.act()
		}
		if w.d.Status.Phase != cafev1alpha1.StablePhase {
			t.Fatalf("the creation ends in phase %s", w.d.Status.Phase)
		}
		w.meanwhile = func() {
			takes := map[string]int32{}
			if at := w.d.Status.CurrentGroup; at > 0 && !w.versioned() {
				for _, q := range w.d.Status.Groups[at-1].Units {
					takes[q.Name] = q.Pods
				}
			}
			ready := map[string]int32{}
			for _, s := range w.sets {
				for _, p := range s.pods {
					if p.ready {
						ready[s.unit]++
					}
				}
			}
			for _, u := range w.d.Status.Units {
				if floor := u.Desired - takes[u.Name]; ready[u.Name] < floor {
					t.Fatalf("unit %s has %d pods that are ready, and its floor is %d", u.Name, ready[u.Name], floor)
				}
			}
		}
		w.edit("releases", image(rapid.SampledFrom([]string{"v2", "v2-broken"}).Draw(t, "image")))
		for range rapid.IntRange(1, 60).Draw(t, "moments") {
			if rapid.IntRange(0, 2).Draw(t, "moment") == 0 {
				w.act()
				continue
			}
			w.look(crash{asks: rapid.IntRange(-1, 3).Draw(t, "asks"), silent: rapid.IntRange(0, 4).Draw(t, "silent") == 0})
		}
	})
}

func TestOldVersionsAreForgotten(t *testing.T) {
	for sentence, c := range map[string]struct {
		limit *int32
		want  int
	}{
		"the present one and one more": {ptr.To[int32](1), 2},
		"only the present one":         {ptr.To[int32](0), 1},
		"twenty by default":            {nil, 21},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newCells(2, []string{"A"}, func(d *cafev1alpha1.CafeDeployment) { d.Spec.HistoryLimit = c.limit })
			for n := range 24 {
				w.edit("releases", image(string(rune('a'+n))))
				w.settle(t)
			}
			if got := len(w.revisions); got != c.want {
				t.Errorf("%d versions are kept, want %d", got, c.want)
			}
		})
	}
}

// What is still there is remembered, whatever the limit: the version to go back to, and those of pod sets.
func TestAVersionThatIsUsedIsNotForgotten(t *testing.T) {
	for _, of := range []cafev1alpha1.PodSetType{cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType} {
		w := newCells(4, []string{"A", "B"}, by(2), kind(of), func(d *cafev1alpha1.CafeDeployment) { d.Spec.HistoryLimit = ptr.To[int32](0) })
		for _, tag := range []string{"v1", "v2-broken", "v3-broken"} {
			w.edit("releases", image(tag))
			w.settle(t)
		}
		kept := map[string]bool{}
		for _, r := range w.revisions {
			kept[w.imageOf(r.Name)] = true
		}
		if versioned := of == cafev1alpha1.ReplicaSetPodSetType; !kept["v1"] || !kept["v3-broken"] || kept["v2-broken"] && !versioned {
			t.Errorf("%s: %v are kept", of, kept)
		}
		for _, s := range w.sets {
			if w.imageOf(s.revision) == "?" {
				t.Errorf("%s: the version of %s is forgotten", of, s.name)
			}
		}
	}
}

func TestANameOfARevisionThatIsTakenIsCounted(t *testing.T) {
	w := newCells(4, []string{"A"}, by(2))
	world := w.world()
	first := plan.Next(world, w.now)
	name := first.Steps[0].Subject()
	world.Taken = map[string]bool{name: true}
	next := plan.Next(world, w.now)
	if first.Status.CollisionCount != nil || ptr.Deref(next.Status.CollisionCount, 0) != 1 || next.Steps[0].Subject() == name {
		t.Errorf("%s, count %v; where that is taken: %s, count %v", name, first.Status.CollisionCount, next.Steps[0].Subject(), next.Status.CollisionCount)
	}
}

// A group on its way may make as many pods unavailable as it takes; a unit that has fewer lacks some.
func TestUnitsThatLackPodsAreNamed(t *testing.T) {
	for sentence, c := range map[string]struct {
		group     int32 // that is on its way, 0 for none
		available int   // in A, which is to have 5
		want      string
	}{
		"all are there":                         {0, 5, ""},
		"one is down":                           {0, 4, "unit A has 4 of 5 pods available"},
		"as many are down as the group takes":   {2, 3, ""},
		"one more is":                           {2, 2, "unit A has 2 of 3 pods available"},
		"another group takes another number":    {1, 4, ""},
		"and so what is lacking is another one": {1, 3, "unit A has 3 of 4 pods available"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newCells(10, []string{"A", "B"}, beta(4))
			w.settle(t)
			if c.group > 0 {
				w = inGroup(t, c.group)
			}
			world := w.world()
			for i := range world.Units {
				if s := &world.Units[i].Sets[0]; world.Units[i].Name == "A" {
					s.Ready, s.Available, s.UpdatedAvailable = c.available, c.available, 0
				}
			}
			if got := strings.Join(plan.Next(world, w.now).Lacks, "; "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Before a pod set has looked at its new template, its counts say nothing about it: with what they say, pods would be left out.
func TestGroupsAreCutWhenPodSetsHaveLookedAtTheTemplate(t *testing.T) {
	w := newCells(4, []string{"A", "B"}, by(2))
	w.settle(t)
	w.edit("releases v2", image("v2"))
	for range 3 { // it is recorded, put in writing, and given to the pod sets
		w.look(crash{asks: -1})
	}
	world := w.world()
	for i := range world.Units {
		s := &world.Units[i].Sets[0]
		if s.Seen || s.Revision != w.d.Status.UpdateRevision {
			t.Fatalf("%s: seen %v, with revision %s", s.Name, s.Seen, s.Revision)
		}
		s.Updated, s.UpdatedAvailable = s.Has, s.Available // of the template before
	}
	next := plan.Next(world, w.now)
	if waits := strings.Join(next.Waits, "; "); len(next.Status.Groups) > 0 || waits != "unit A: pod set web-a has not looked at its new template yet" {
		t.Errorf("groups %v, waits for %q", next.Status.Groups, waits)
	}
}

// What is down already goes first, however few the pods are that work.
func TestOlderReplicaSetsLoseTheirBrokenPodsFirst(t *testing.T) {
	w := newCells(4, []string{"A"}, kind(cafev1alpha1.ReplicaSetPodSetType))
	w.settle(t)
	w.edit("releases a version that is broken", image("v2-broken"))
	w.settle(t)
	w.meanwhile = func() {
		if got := len(w.sets["web-a-v1"].pods); got != 4 {
			t.Errorf("%d pods that work are left, and none of the fix is ready", got)
		}
	}
	w.edit("releases the fix", image("v3"))
	for w.sets["web-a-v3"] == nil {
		w.look(crash{asks: -1})
	}
	w.act()
	if got := len(w.sets["web-a-v2-broken"].pods); got != 0 {
		t.Errorf("%d broken pods are left", got)
	}
}
