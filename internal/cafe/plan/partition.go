// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"k8s.io/utils/ptr"

	"slipway.dev/slipway/internal/step"
)

// partitioned tells whether a partition takes the place of the strategy's groups. Somebody else then says from outside how
// far a release goes.
func (p *pass) partitioned() bool { return p.spec.Strategy.Partition != nil }

// cut cuts work into groups that may begin by themselves, and the rest, which stays back until the partition is lowered. With a
// partition the first ones are a single group: of all that is to be created, and of as many updates as the partition leaves.
func (p *pass) cut(todo []Work, beta bool) (groups, rest []Group) {
	if !p.partitioned() {
		return Groups(todo, beta, p.batch()), nil
	}
	weights, total := make([]int, len(todo)), 0
	for i := range todo {
		weights[i] = todo[i].Update
		total += weights[i]
	}
	parts := proportional(max(0, total-int(ptr.Deref(p.spec.Strategy.Partition, 0))), weights)
	left := slices.Clone(todo)
	for i := range parts {
		left[i].Create = 0
		left[i].Update -= parts[i]
		parts[i] += todo[i].Create
	}
	now := slices.Clone(todo)
	for i := range now {
		now[i].Update -= left[i].Update
	}
	groups = appendGroup(nil, now, parts, false)
	for i := range left {
		parts[i] = left[i].Update
	}
	return groups, appendGroup(nil, left, parts, false)
}

// letGo begins at once what a partition leaves, behind the groups that have begun: whether they have ended is judged from
// outside.
func (p *pass) letGo(groups, rest []Group) {
	p.current++
	p.groups = slices.Concat(p.groups[:p.current], groups, rest)
	p.done = append(slices.Clone(p.done[:p.current]), make([]bool, len(groups)+len(rest))...)
	p.divide()
	p.tell("GroupStarted", "%s begins: %s", p.title(p.current), p.contents(p.current))
}

// stay notes that the partition keeps pods from their update.
func (p *pass) stay() {
	n := 0
	for _, u := range p.units {
		if n += u.tail.Update; !p.running() {
			n += p.todo(u).Update
		}
	}
	p.stays = true
	p.wait("strategy.partition keeps %s on older versions", step.Counted(n, "pod", "pods"))
}
