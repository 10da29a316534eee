// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawLimits(t *rapid.T) Limits {
	r := rapid.IntRange(0, 8).Draw(t, "replicas")
	l := Limits{
		Replicas:    r,
		Partition:   rapid.IntRange(0, r).Draw(t, "partition"),
		Surge:       rapid.IntRange(0, 3).Draw(t, "surge"),
		Unavailable: rapid.IntRange(0, 3).Draw(t, "unavailable"),
	}
	if rapid.Bool().Draw(t, "creation is limited") {
		n := rapid.IntRange(0, 4).Draw(t, "creation limit")
		l.CreateUnavailable = &n
	}
	return l
}

func drawClass(t *rapid.T, name string) Class {
	var c Class
	for range rapid.IntRange(0, 8).Draw(t, name) {
		c.Add(Member{
			PreparingDelete: rapid.IntRange(0, 5).Draw(t, "preparing delete") == 0,
			Chosen:          rapid.IntRange(0, 5).Draw(t, "chosen") == 0,
			Available:       rapid.Bool().Draw(t, "available"),
		})
	}
	return c
}

func drawOptions(t *rapid.T) Options {
	return Options{
		ExcludePreparingDelete: rapid.Bool().Draw(t, "exclude preparing delete"),
		PartitionRollback:      rapid.Bool().Draw(t, "partition rollback"),
		SameRevision:           rapid.Bool().Draw(t, "same revision"),
	}
}

func drawModel(t *rapid.T) model {
	return model{
		limits:   drawLimits(t),
		options:  drawOptions(t),
		paused:   rapid.Bool().Draw(t, "paused"),
		hookHeld: rapid.Bool().Draw(t, "hook held"),
		recreate: rapid.Bool().Draw(t, "recreate"),
	}
}

func drawModelPods(t *rapid.T) []modelPod {
	pod := rapid.Custom(func(t *rapid.T) modelPod {
		return modelPod{
			new:    rapid.Bool().Draw(t, "new"),
			health: rapid.SampledFrom([]byte("AAAur")).Draw(t, "health"),
			state:  rapid.SampledFrom([]string{"", "", "", "", "PD", "U", "PU"}).Draw(t, "state"),
			chosen: rapid.IntRange(0, 4).Draw(t, "chosen") == 0,
		}
	})
	return rapid.SliceOfN(pod, 0, 12).Draw(t, "pods")
}

func TestQuantitiesAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, o := drawLimits(t), drawOptions(t)
		c := Counts{Old: drawClass(t, "old"), New: drawClass(t, "new")}
		s := Scale(l, c, o)
		check := func(ok bool, claim string) {
			if !ok {
				t.Errorf("%s: %+v %+v %+v", claim, l, c, s)
			}
		}

		for claim, n := range map[string]int{
			"revocations": s.Revoke, "need": s.Need, "old need": s.NeedOld, "created old": s.Create.Old, "created new": s.Create.New,
			"over": s.Over, "old over": s.OverOld, "budget": s.DeleteBudget, "old surge": s.SurgeOld,
		} {
			check(n >= 0, claim+" is not negative")
		}
		check(s.SurgeOld <= s.Surge && s.Surge <= l.Surge, "the surge is within its limit, and its old part within it")
		check(s.Create.Total() <= s.Need, "no more is created than needed")
		check(s.Limited == (s.Create.Total() < s.Need), "limited means fewer than needed")
		check(s.Need == 0 || s.Over == 0, "there are not too few and too many pods at once")

		counted := c.Active()
		if o.ExcludePreparingDelete {
			counted -= c.PreparingDelete()
		}
		check(s.Create.Total() == 0 || counted+s.Create.Total() <= l.Replicas+l.Surge, "creation ends at replicas and surge")
		if l.CreateUnavailable != nil {
			check(s.Create.Total() == 0 || s.Create.Total()+c.missing() <= *l.CreateUnavailable, "creation ends at its limit")
		}

		victims := s.Victims()
		check(victims.Total() == s.Over, "as many victims as pods too many")
		check(victims.Old >= 0 && victims.Old <= c.Old.All-c.Old.Chosen, "old victims exist")
		check(victims.New >= 0 && victims.New <= c.New.All-c.New.Chosen, "new victims exist")
		check(victims.Old == 0 || c.Old.All-c.Old.Chosen-victims.Old >= l.Partition, "scale-in leaves the old share")

		check(s.Wish <= max(c.Old.All-l.Partition, 0), "an update leaves the old share")
		check(-s.Wish <= max(c.New.All-(l.Replicas-l.Partition), 0), "a rollback leaves the new share")
		check(o.PartitionRollback && !o.SameRevision || s.Wish >= 0, "nothing goes back unless asked to")
	})
}

func TestDeletionsSpendNoMoreThanTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.IntRange(0, 5).Draw(t, "budget")
		deletions := NewDeletions(Scaling{DeleteBudget: budget})
		spent := 0
		for i, available := range rapid.SliceOf(rapid.Bool()).Draw(t, "pods") {
			granted := deletions.Spend(available)
			switch {
			case !available && !granted:
				t.Errorf("pod %d is not available, and was not granted", i)
			case available && granted:
				spent++
			case available && spent < budget:
				t.Errorf("pod %d was not granted, %d of %d spent", i, spent, budget)
			}
		}
		if spent > budget {
			t.Errorf("spent %d of %d", spent, budget)
		}
	})
}

func TestAllowanceKeepsItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Scaling{Wish: rapid.IntRange(-6, 6).Draw(t, "wish"), Cap: rapid.IntRange(-2, 6).Draw(t, "cap")}
		unavailable := rapid.IntRange(0, 6).Draw(t, "unavailable")
		onTarget := rapid.IntRange(0, unavailable).Draw(t, "on target")
		allowance := NewAllowance(s, unavailable, onTarget)

		granted, given := 0, 0
		ended := false
		for i, available := range rapid.SliceOf(rapid.Bool()).Draw(t, "candidates") {
			stop := allowance.Refuses(available)
			if ended && (stop == NotStopped || stop == StoppedByUnavailable) {
				t.Fatalf("candidate %d was not refused for good after an end", i)
			}
			switch stop {
			case NotStopped:
				allowance.Spend(available)
				granted++
				if available {
					given++
				}
			case StoppedByUnavailable:
				if !available {
					t.Fatalf("candidate %d is unavailable already and was refused for it", i)
				}
			case StoppedByWish, StoppedByTarget:
				ended = true
			}
		}
		if granted > abs(s.Wish) {
			t.Errorf("granted %d of %d wanted", granted, abs(s.Wish))
		}
		if granted > 0 && onTarget+granted > s.Cap {
			t.Errorf("%d pods may be unavailable on the target, cap %d", onTarget+granted, s.Cap)
		}
		if given > 0 && unavailable+given > s.Cap {
			t.Errorf("%d pods unavailable after giving up %d, cap %d", unavailable+given, given, s.Cap)
		}
	})
}

func TestAllowanceSaysWhyItStops(t *testing.T) {
	for name, test := range map[string]struct {
		wish, limit, heldBack, unavailable, onTarget int
		candidates                                   []bool // available?
		granted                                      int
		want                                         Stop
	}{
		"nothing was refused":                     {wish: 2, limit: 2, candidates: []bool{true, true}, granted: 2, want: NotStopped},
		"nothing is wanted":                       {wish: 0, limit: 2, candidates: []bool{true}, want: StoppedByWish},
		"as many as wanted":                       {wish: 1, limit: 2, candidates: []bool{true, true}, granted: 1, want: StoppedByWish},
		"the new version does not start":          {wish: 3, limit: 2, unavailable: 2, onTarget: 2, candidates: []bool{false}, want: StoppedByTarget},
		"old pods are broken":                     {wish: 3, limit: 2, unavailable: 2, candidates: []bool{true}, want: StoppedByUnavailable},
		"old pods are broken and go first":        {wish: 3, limit: 2, unavailable: 2, candidates: []bool{false, true}, granted: 1, want: StoppedByUnavailable},
		"a rollback is limited in the same way":   {wish: -3, limit: 1, candidates: []bool{true, true}, granted: 1, want: StoppedByTarget},
		"there are too few pods to update at all": {wish: 3, limit: -1, candidates: []bool{false}, want: StoppedByTarget},
		"the missing pods wait for the broken ones": {
			wish: 3, limit: 0, heldBack: 2, unavailable: 3, candidates: []bool{false, false, false}, granted: 2, want: StoppedByTarget,
		},
		"a broken pod behind an available one is repaired": {wish: 3, limit: 2, unavailable: 2, candidates: []bool{true, false}, granted: 1, want: NotStopped},
		"however many available ones stand before it":      {wish: 1, limit: 2, unavailable: 2, candidates: []bool{true, true, false}, granted: 1, want: NotStopped},
		"missing pods free no available ones":              {wish: 3, limit: 0, heldBack: 2, candidates: []bool{true}, want: StoppedByUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			allowance := NewAllowance(Scaling{Wish: test.wish, Cap: test.limit, HeldBack: test.heldBack}, test.unavailable, test.onTarget)
			granted, last := spendAll(allowance, test.candidates)
			if granted != test.granted || last != test.want {
				t.Errorf("granted %d, stopped: %v; want %d, %v", granted, last, test.granted, test.want)
			}
		})
	}
}

// spendAll offers candidates as a planner does. It returns how many were granted and what was said last.
func spendAll(allowance *Allowance, candidates []bool) (granted int, last Stop) {
	for _, available := range candidates {
		switch last = allowance.Refuses(available); last {
		case NotStopped:
			allowance.Spend(available)
			granted++
		case StoppedByUnavailable:
		case StoppedByWish, StoppedByTarget:
			return granted, last
		}
	}
	return granted, last
}

// The rules that a whole pass keeps, whatever it finds.
func TestPassIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, pods := drawModel(t), drawModelPods(t)
		for range 12 {
			action, after := m.pass(pods)
			fail := func(claim string) {
				t.Errorf("%s: %+v\n%s\n%s\n%s", claim, m, show(pods), action, show(after))
			}
			available := func(p modelPod) bool { return p.available() }
			before, left := countOf(pods, available), countOf(after, available)
			if left < before && left < m.limits.Replicas-m.limits.Unavailable {
				fail("available pods were taken below replicas less unavailable")
			}
			if strings.HasPrefix(action, "update") || strings.Contains(action, "scale-in") {
				// A pod that prepares for its update is old for an update and new for scaling.
				scaling := strings.Contains(action, "scale-in")
				old := func(p modelPod) bool { return !p.new && p.state != "PD" && !(scaling && p.state == "PU") }
				if n := countOf(after, old); n < countOf(pods, old) && n < m.limits.Partition {
					fail("fewer old pods than the partition")
				}
			}
			if m.paused && countOf(after, func(p modelPod) bool { return p.state == "U" }) > countOf(pods, func(p modelPod) bool { return p.state == "U" }) {
				fail("an update while paused")
			}
			if rapid.Bool().Draw(t, "pods become available") {
				after = heal(after)
			}
			pods = after
		}
	})
}

// Once pods become available, a workload reaches what it asks for, and stops.
func TestPassesConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, pods := drawModel(t), drawModelPods(t)
		m.hookHeld, m.paused = false, false
		if m.limits.Surge == 0 {
			m.limits.Unavailable = max(m.limits.Unavailable, 1)
		}
		if m.limits.CreateUnavailable != nil {
			*m.limits.CreateUnavailable = max(*m.limits.CreateUnavailable, 1)
		}
		story := fmt.Sprintf("%+v", m)
		for range 200 {
			pods = heal(pods)
			action, after := m.pass(pods)
			story += "\n" + show(pods) + "\n  " + action
			if slices.Equal(after, pods) && action == "nothing" {
				break
			}
			pods = after
		}
		if len(pods) != m.limits.Replicas {
			t.Fatalf("%d pods, want %d: %s", len(pods), m.limits.Replicas, story)
		}
		if n := countOf(pods, func(p modelPod) bool { return !p.new }); n > m.limits.Partition {
			t.Fatalf("%d old pods, want at most %d: %s", n, m.limits.Partition, story)
		}
		if countOf(pods, func(p modelPod) bool { return p.chosen || p.state == "PD" }) > 0 {
			t.Fatalf("chosen pods are left: %s", story)
		}
	})
}
