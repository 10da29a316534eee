// SPDX-License-Identifier: Apache-2.0

package project

import (
	"time"

	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/internal/traffic"
	"slipway.dev/slipway/internal/unit"
)

// Of tells what the controller would do with a set among other objects from the given time on, until nothing is left to
// do. It always ends. Nothing that it is given is changed.
func Of(set *cafev1alpha1.InPlaceSet, o story.Objects, now time.Time) story.Story {
	told, _ := Play(set, o, now)
	return told
}

// Play is Of, with the scene that the story ends with: another one can go on from there.
func Play(set *cafev1alpha1.InPlaceSet, o story.Objects, now time.Time) (story.Story, story.Scene) {
	set = set.DeepCopy()
	scene := o.SceneOf(set, set.Spec.Selector)
	scene.Now = now
	world := plan.World{
		Set: set, Live: revision.FromTemplate(unit.Within(&set.Spec.Template, set.Spec.UnitType, set.Spec.DeployUnit)), NodeLabels: o.NodeLabels,
	}
	told := story.Set{
		Next: func(s *story.Scene) story.Pass { return next(world, s) }, Report: func(p story.Pass) { report(set, p) },
		Live: world.Live, MinReadySeconds: set.Spec.MinReadySeconds, ResizeOff: true,
		HookOwners: "components that route traffic",
		Strategy:   "InPlaceIfPossible", PartitionField: "strategy.partition",
	}
	if components, err := traffic.Components(set.Annotations); err == nil { // the planner says what is wrong with them
		told.Hooks = traffic.Hooks(components)
	}
	return story.Play(told, scene, o.Nodes, 0)
}

// next plans a pass over a scene.
func next(world plan.World, s *story.Scene) story.Pass {
	world.Pods, world.Revisions, world.Orphans, world.Taken = s.Pods, s.Revisions, s.Orphans, s.Taken
	n := plan.Next(world, s.Now)
	return story.Pass{
		Steps: n.Steps, LookAgain: n.LookAgain, UpdateRevision: n.UpdateRevision, CurrentRevision: n.CurrentRevision, CollisionCount: n.CollisionCount,
		Limits: n.Limits, Members: n.Members, Invalid: n.Invalid, Refused: n.Refused, Held: n.Held,
	}
}

// report keeps the parts of the status that the planner reads, as the controller does after each pass.
func report(set *cafev1alpha1.InPlaceSet, p story.Pass) {
	status := &set.Status
	status.UpdateRevision, status.CurrentRevision = p.UpdateRevision, p.CurrentRevision
	if updated := p.Updated(); updated == p.Limits.Replicas && len(p.Members) == updated {
		status.CurrentRevision = p.UpdateRevision
	}
	if p.CollisionCount != ptr.Deref(status.CollisionCount, 0) {
		status.CollisionCount = &p.CollisionCount
	}
}
