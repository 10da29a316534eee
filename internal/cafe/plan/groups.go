// SPDX-License-Identifier: Apache-2.0

package plan

import "slices"

// Work is what a unit still has to do, or what a group takes of it.
type Work struct {
	Unit string
	// Update is how many pods are on older versions, and Create how many are missing. Updates come first: what is
	// broken is repaired before there is more of it.
	Update, Create int
}

// Pods is all of the work.
func (w Work) Pods() int { return w.Update + w.Create }

// take splits n pods off the work.
func (w *Work) take(n int) Work {
	part := Work{Unit: w.Unit, Update: min(n, w.Update)}
	part.Create = n - part.Update
	w.Update, w.Create = w.Update-part.Update, w.Create-part.Create
	return part
}

// Group is what is done at once.
type Group struct {
	Beta  bool
	Units []Work
}

// hand gives one pod of a unit's part to another unit, which brings it up. It returns false when the unit has no part.
func (g *Group) hand(from, to string) bool {
	at := slices.IndexFunc(g.Units, func(w Work) bool { return w.Unit == from })
	if at < 0 {
		return false
	}
	if part := &g.Units[at]; part.Create > 0 {
		part.Create--
	} else {
		part.Update--
	}
	g.Units = slices.DeleteFunc(g.Units, func(w Work) bool { return w.Pods() == 0 })
	if at = slices.IndexFunc(g.Units, func(w Work) bool { return w.Unit == to }); at < 0 {
		at, g.Units = len(g.Units), append(g.Units, Work{Unit: to})
	}
	g.Units[at].Create++
	return true
}

// Groups cut the work of the units into groups: one of a single pod in each unit that has work when beta is set, then
// groups of up to batch pods over all units, or a single one when batch is 0. Each is shared in proportion to what the
// units still have to do, so that they end together. To go on from the middle with what is left gives the same groups.
func Groups(todo []Work, beta bool, batch int) []Group {
	left := append([]Work(nil), todo...)
	var groups []Group
	if beta {
		ones := make([]int, len(left))
		for i := range left {
			ones[i] = min(1, left[i].Pods())
		}
		groups = appendGroup(groups, left, ones, true)
	}
	for {
		weights, total := make([]int, len(left)), 0
		for i := range left {
			weights[i] = left[i].Pods()
			total += weights[i]
		}
		if total == 0 {
			return groups
		}
		size := total
		if batch > 0 {
			size = min(batch, total)
		}
		groups = appendGroup(groups, left, proportional(size, weights), false)
	}
}

// appendGroup takes its parts from what is left. Units with none are left out, and a group without any is none.
func appendGroup(groups []Group, left []Work, parts []int, beta bool) []Group {
	g := Group{Beta: beta}
	for i, n := range parts {
		if n > 0 {
			g.Units = append(g.Units, left[i].take(n))
		}
	}
	if len(g.Units) == 0 {
		return groups
	}
	return append(groups, g)
}
