// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// story is what happens to a rollout, and how it ends.
type story struct {
	name string
	// broken: the version that is released never becomes ready.
	broken bool
	// takes: pods that serve are taken away by somebody else.
	takes bool
	plan  func(*rolloutv1alpha1.RolloutPlan)
	moves []move
	end   func(*cell) ending
}

// move is something that a person, or another program, does in the middle.
type move struct {
	when func(*cell) bool
	do   func(*cell)
}

// ending is how things are at last.
type ending struct {
	// state of the rollout; empty when it is gone. failure is the reason.
	state   rolloutv1alpha1.RollingState
	failure string
	// template is the version of the target. target and source are how many pods they are asked for, -1 for any.
	template       string
	target, source int
	noTarget       bool
	// opened: nothing holds back pods of a workload with two versions.
	opened bool
	// pods is how many there are of each version. For a broken one it is the most.
	pods map[string]int
}

func (s story) version() string {
	if s.broken {
		return "broken"
	}
	return "v2"
}

const deadline = 10

// stories are all of them, by name.
func stories() map[string]story {
	toPartition := func(p *rolloutv1alpha1.RolloutPlan) { p.BatchPartition = ptr.To[int32](0) }
	policy := func(f rolloutv1alpha1.FailurePolicy) func(*rolloutv1alpha1.RolloutPlan) {
		return func(p *rolloutv1alpha1.RolloutPlan) {
			p.FailurePolicy, p.ProgressDeadlineSeconds = f, ptr.To[int32](deadline)
		}
	}
	all := []story{
		{name: "succeeds", end: succeeded},
		{name: "partition", plan: toPartition, end: succeeded, moves: []move{
			{atPartition(0), func(c *cell) { c.change(partition(1)) }},
			{atPartition(1), func(c *cell) { c.change(noPartition) }},
		}},
		{name: "paused", plan: toPartition, end: succeeded, moves: []move{
			{atPartition(0), func(c *cell) {
				c.change(func(t *rolloutv1alpha1.RolloutTrait) { noPartition(t); t.Spec.RolloutPlan.Paused = true })
			}},
			{waitsFor(rolloutv1alpha1.WaitingForUnpause), unpause},
		}},
		{name: "superseded", plan: toPartition, moves: []move{{atPartition(0), supersede}}, end: supersededEnd},
		{name: "fails", broken: true, plan: policy(rolloutv1alpha1.FailOnFailure), end: func(c *cell) ending {
			e := leftInTheMiddle(c, "broken")
			e.state, e.failure = rolloutv1alpha1.RolloutFailedState, "DeadlineMissed"
			if c.mode == rolloutv1alpha1.TwoObjectsMode { // no old pod goes before a new one serves
				e.source, e.pods["v1"] = c.size, c.size
			}
			return e
		}},
		{name: "fixed", broken: true, plan: policy(rolloutv1alpha1.PauseOnFailure), end: thirdVersion, moves: []move{
			{waitsFor(rolloutv1alpha1.WaitingForPerson), func(c *cell) { c.edited(c.name, withImage("v3")) }},
		}},
		{name: "reverts", broken: true, plan: policy(rolloutv1alpha1.RevertOnFailure), end: func(c *cell) ending {
			e := asBefore(c, "broken")
			e.state, e.failure = rolloutv1alpha1.RolloutFailedState, "DeadlineMissed"
			return e
		}},
		{name: "deleted", plan: toPartition, moves: []move{{atPartition(0), deleteRollout}},
			end: func(c *cell) ending { return leftInTheMiddle(c, "v2") }},
		{name: "deleted-back", end: func(c *cell) ending { return asBefore(c, "v2") }, moves: []move{{atPartition(0), deleteRollout}},
			plan: func(p *rolloutv1alpha1.RolloutPlan) { toPartition(p); p.RevertOnDelete = true }},
		{name: "gone", takes: true, plan: toPartition, moves: []move{{atPartition(0), deleteTarget}}, end: func(c *cell) ending {
			e := leftInTheMiddle(c, "v2")
			e.state, e.failure, e.noTarget = rolloutv1alpha1.RolloutFailedState, "WorkloadGone", true
			e.pods = map[string]int{"v1": max(e.source, 0)}
			return e
		}},
		{name: "resized", plan: toPartition, moves: []move{{atPartition(0), resize}}, end: succeeded},
	}
	byName := map[string]story{}
	for _, s := range all {
		byName[s.name] = s
	}
	return byName
}

func waitsFor(what rolloutv1alpha1.WaitingFor) func(*cell) bool {
	return func(c *cell) bool {
		t := c.seen.trait
		return t != nil && t.Status.WaitingFor == what && t.Status.ObservedGeneration == t.Generation
	}
}

func atPartition(batch int32) func(*cell) bool {
	waits := waitsFor(rolloutv1alpha1.WaitingAtPartition)
	return func(c *cell) bool { return waits(c) && c.seen.trait.Status.CurrentBatch == batch }
}

func partition(batch int32) func(*rolloutv1alpha1.RolloutTrait) {
	return func(t *rolloutv1alpha1.RolloutTrait) { t.Spec.RolloutPlan.BatchPartition = ptr.To(batch) }
}

func noPartition(t *rolloutv1alpha1.RolloutTrait) { t.Spec.RolloutPlan.BatchPartition = nil }

// unpause notes that nothing went on meanwhile.
func unpause(c *cell) {
	c.change(func(t *rolloutv1alpha1.RolloutTrait) { t.Spec.RolloutPlan.Paused = false })
	c.caps = append(c.caps, allowedUntil{versionOf(get(c.seen.trait)), c.goals()[0]})
}

// supersede asks for something newer: a template, another size, or of two objects the way back.
func supersede(c *cell) {
	if c.mode == rolloutv1alpha1.InPlaceMode {
		c.edited(c.name, withImage("v3"))
	}
	c.change(func(t *rolloutv1alpha1.RolloutTrait) {
		noPartition(t)
		switch c.mode {
		case rolloutv1alpha1.TwoObjectsMode:
			t.Spec.TargetRef, t.Spec.SourceRef = c.ref(c.sourceName()), []rolloutv1alpha1.WorkloadReference{c.ref(c.targetName())}
		case rolloutv1alpha1.ScaleMode:
			t.Spec.RolloutPlan.TargetSize = ptr.To(int32(c.to + 1))
		case rolloutv1alpha1.InPlaceMode:
		}
	})
}

func deleteRollout(c *cell) {
	Expect(cluster.Delete(testCtx, c.seen.trait)).To(Succeed())
	c.caps = append(c.caps, allowedUntil{0, c.goals()[0]})
}

func deleteTarget(c *cell) {
	Expect(cluster.Delete(testCtx, c.seen.target, client.PropagationPolicy("Background"))).To(Succeed())
	c.caps = append(c.caps, allowedUntil{0, c.goals()[0]})
}

// resize is what an autoscaler does: of two objects it knows the older one.
func resize(c *cell) {
	name, n := c.name, c.size+2
	if c.mode == rolloutv1alpha1.TwoObjectsMode {
		name, n = c.sourceName(), sizeOf(c.seen.source)+2
	}
	c.edited(name, withSize(n))
	c.change(noPartition)
	c.size += 2
}

func succeeded(c *cell) ending {
	e := ending{state: rolloutv1alpha1.RolloutSucceedState, template: "v2", target: c.size, opened: true, pods: map[string]int{"v2": c.size}}
	switch {
	case c.mode == rolloutv1alpha1.ScaleMode:
		e.template, e.target, e.pods = "v1", c.to, map[string]int{"v1": c.to}
	case c.id.Kind == "DaemonSet":
		e.target = -1
	}
	return e
}

// thirdVersion is how it ends when a third version was released in the middle.
func thirdVersion(c *cell) ending {
	e := succeeded(c)
	e.template, e.pods = "v3", map[string]int{"v3": c.size}
	return e
}

func supersededEnd(c *cell) ending {
	switch c.mode {
	case rolloutv1alpha1.TwoObjectsMode: // what is called the target here is the source by now
		return ending{state: rolloutv1alpha1.RolloutSucceedState, template: "v2", source: c.size, pods: map[string]int{"v1": c.size}}
	case rolloutv1alpha1.ScaleMode:
		e := succeeded(c)
		e.target, e.pods = c.to+1, map[string]int{"v1": c.to + 1}
		return e
	case rolloutv1alpha1.InPlaceMode:
	}
	return thirdVersion(c)
}

// leftInTheMiddle is what the first batch leaves.
func leftInTheMiddle(c *cell, version string) ending {
	e := ending{template: version, target: c.size, pods: map[string]int{"v1": c.size - 1, version: 1}}
	switch {
	case c.mode == rolloutv1alpha1.TwoObjectsMode:
		e.target, e.source = 1, c.size-1
	case c.mode == rolloutv1alpha1.ScaleMode && c.to > c.size:
		e.template, e.target, e.pods = "v1", c.size+1, map[string]int{"v1": c.size + 1}
	case c.mode == rolloutv1alpha1.ScaleMode:
		e.template, e.target, e.pods = "v1", c.size-1, map[string]int{"v1": c.size - 1}
	case c.id.Kind == "DaemonSet":
		e.target = -1
	}
	return e
}

// asBefore is how it ends when it was reverted.
func asBefore(c *cell, version string) ending {
	e := ending{template: "v1", target: c.size, opened: true, pods: map[string]int{"v1": c.size}}
	switch {
	case c.mode == rolloutv1alpha1.TwoObjectsMode:
		e.template, e.target, e.source = version, 0, c.size
	case c.id.Kind == "DaemonSet":
		e.target = -1
	}
	return e
}

// versionOf is the version of the cluster at which an object was stored.
func versionOf(o client.Object) uint64 {
	version, err := parseVersion(o.GetResourceVersion())
	Expect(err).NotTo(HaveOccurred())
	return version
}
