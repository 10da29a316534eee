// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// notation tells groups in a few signs: "Beta A1 B1, A2 B1+1" has one pod of B brought up and one updated.
func notation(groups []Group) string {
	var told []string
	for _, g := range groups {
		var units []string
		if g.Beta {
			units = append(units, "Beta")
		}
		for _, w := range g.Units {
			one := fmt.Sprint(w.Unit, w.Update)
			if w.Create > 0 {
				one += fmt.Sprint("+", w.Create)
			}
			units = append(units, one)
		}
		told = append(told, strings.Join(units, " "))
	}
	return strings.Join(told, ", ")
}

func updates(numbers ...int) []Work {
	var todo []Work
	for i, n := range numbers {
		todo = append(todo, Work{Unit: string(rune('A' + i)), Update: n})
	}
	return todo
}

func TestGroups(t *testing.T) {
	for sentence, c := range map[string]struct {
		todo  []Work
		beta  bool
		batch int
		want  string
	}{
		"10 pods in two units, Beta, by 4":                          {updates(5, 5), true, 4, "Beta A1 B1, A2 B2, A2 B2"},
		"an uneven start: the tie goes to A, and they end together": {updates(6, 4), true, 4, "Beta A1 B1, A3 B1, A2 B2"},
		"without Beta":                          {updates(5, 5), false, 4, "A2 B2, A2 B2, A1 B1"},
		"no batchSize: all in one":              {updates(5, 5), false, 0, "A5 B5"},
		"no batchSize after Beta":               {updates(5, 5), true, 0, "Beta A1 B1, A4 B4"},
		"a unit with nothing to do is left out": {updates(3, 0, 2), true, 2, "Beta A1 C1, A1 C1, A1"},
		"Beta is all there is":                  {updates(1, 1), true, 4, "Beta A1 B1"},
		"one at a time":                         {updates(2, 1), false, 1, "A1, A1, B1"},
		"creation goes in the same groups":      {[]Work{{"A", 0, 5}, {"B", 0, 5}}, true, 4, "Beta A0+1 B0+1, A0+2 B0+2, A0+2 B0+2"},
		"updates come before creation":          {[]Work{{"A", 2, 2}, {"B", 1, 0}}, false, 2, "A2, A0+1 B1, A0+1"},
		"nothing to do":                         {updates(0, 0), true, 4, ""},
		"nobody to do it":                       {nil, true, 4, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := notation(Groups(c.todo, c.beta, c.batch)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func drawWork(t *rapid.T) []Work {
	var todo []Work
	for _, unit := range drawUnits(t) {
		todo = append(todo, Work{unit, rapid.IntRange(0, 20).Draw(t, "update "+unit), rapid.IntRange(0, 8).Draw(t, "create "+unit)})
	}
	return todo
}

func TestGroupsDoAllWorkWithinTheirSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		todo, beta, batch := drawWork(t), rapid.Bool().Draw(t, "beta"), rapid.IntRange(0, 12).Draw(t, "batch")
		groups := Groups(todo, beta, batch)
		done := map[string]Work{}
		for i, g := range groups {
			size := 0
			for _, w := range g.Units {
				size += w.Pods()
				if w.Pods() == 0 {
					t.Errorf("group %d has an empty part: %s", i, notation(groups))
				}
				if g.Beta && w.Pods() > 1 {
					t.Errorf("Beta takes more than one of %s", w.Unit)
				}
				sum := done[w.Unit]
				if w.Update > 0 && sum.Create > 0 {
					t.Errorf("%s creates before it updates: %s", w.Unit, notation(groups))
				}
				done[w.Unit] = Work{w.Unit, sum.Update + w.Update, sum.Create + w.Create}
			}
			if g.Beta != (beta && i == 0) {
				t.Errorf("group %d: Beta is %v", i, g.Beta)
			}
			if !g.Beta && batch > 0 && size > batch {
				t.Errorf("group %d has %d pods, more than %d", i, size, batch)
			}
			if last := i == len(groups)-1; !g.Beta && batch > 0 && !last && size != batch {
				t.Errorf("group %d has only %d of %d pods and is not the last", i, size, batch)
			}
		}
		for _, w := range todo {
			if got := done[w.Unit]; w.Pods() > 0 && got != w {
				t.Errorf("%s does %v of %v", w.Unit, got, w)
			}
		}
		if again := Groups(todo, beta, batch); !cmp.Equal(groups, again) {
			t.Errorf("the same work gives %s and %s", notation(groups), notation(again))
		}
	})
}

// Units with as much to do stay within one pod of each other. Where all have as much and a group has a pod for each, they
// end within one group; where some have less, the last pod of one may have to wait for those that have more.
func TestUnitsWithAsMuchToDoEndWithinOneGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		todo, batch := drawWork(t), rapid.IntRange(1, 12).Draw(t, "batch")
		even := rapid.Bool().Draw(t, "even")
		for i := range todo {
			if even {
				todo[i].Update, todo[i].Create = todo[0].Update, todo[0].Create
			}
		}
		groups := Groups(todo, rapid.Bool().Draw(t, "beta"), batch)
		left, last := map[string]int{}, map[string]int{}
		for _, w := range todo {
			left[w.Unit] = w.Pods()
		}
		for i, g := range groups {
			for _, w := range g.Units {
				left[w.Unit] -= w.Pods()
				last[w.Unit] = i
			}
			for _, a := range todo {
				for _, b := range todo {
					if a.Pods() == b.Pods() && left[a.Unit]-left[b.Unit] > 1 {
						t.Errorf("after group %d, %s has %d to do and %s %d: %s", i, a.Unit, left[a.Unit], b.Unit, left[b.Unit], notation(groups))
					}
				}
			}
		}
		for _, a := range todo {
			for _, b := range todo {
				if even && a.Pods() > 0 && batch >= len(todo) && last[a.Unit]-last[b.Unit] > 1 {
					t.Errorf("%s ends in group %d and %s in %d: %s", a.Unit, last[a.Unit], b.Unit, last[b.Unit], notation(groups))
				}
			}
		}
	})
}

func TestGoingOnFromTheMiddleGivesTheSameGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		todo, batch := drawWork(t), rapid.IntRange(0, 12).Draw(t, "batch")
		groups := Groups(todo, false, batch)
		if len(groups) == 0 {
			return
		}
		at := rapid.IntRange(0, len(groups)-1).Draw(t, "at")
		left := append([]Work(nil), todo...)
		for _, g := range groups[:at] {
			for _, w := range g.Units {
				for i := range left {
					if left[i].Unit == w.Unit {
						left[i].take(w.Pods())
					}
				}
			}
		}
		if diff := cmp.Diff(notation(groups[at:]), notation(Groups(left, false, batch))); diff != "" {
			t.Errorf("from group %d on (-want +got):\n%s", at, diff)
		}
	})
}
