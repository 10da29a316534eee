// SPDX-License-Identifier: Apache-2.0

package project

import (
	"time"

	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// Options say what the world does not.
type Options struct {
	// Nodes are where new pods may go: always to the one with the fewest pods of the set. Without any, each new pod
	// gets a node of its own.
	Nodes []string
	// Passes is how many passes are told at most; 0 is as many as can be told in little time.
	Passes int
}

// Of tells what the controller would do in a world from the given time on, until nothing is left to do. It always
// ends. The world is not changed.
func Of(world plan.World, now time.Time, o Options) story.Story {
	told, _ := Play(world, now, o)
	return told
}

// Play is Of, with the scene that the story ends with: another one can go on from there.
func Play(world plan.World, now time.Time, o Options) (story.Story, story.Scene) {
	world.Set = world.Set.DeepCopy()
	spec := &world.Set.Spec
	told := story.Set{
		Next: func(s *story.Scene) story.Pass { return next(world, s) }, Report: func(p story.Pass) { report(world.Set, p) },
		Trim: func(s step.TrimPodsToDelete) { spec.ScaleStrategy.PodsToDelete = s.Keep },
		Live: world.Live, MinReadySeconds: spec.MinReadySeconds, ResizeOff: world.ResizeOff,
		Hooks: lifecycle.HooksOf(spec.Lifecycle), HookOwners: "lifecycle hooks",
		Strategy: string(spec.UpdateStrategy.Type), PartitionField: "updateStrategy.partition",
	}
	if spec.UpdateStrategy.Type == kruisev1alpha1.ReCreateCloneSetUpdateStrategyType {
		told.Instead = "updateStrategy.type is ReCreate"
	}
	scene := story.Scene{Now: now, Pods: world.Pods, Revisions: world.Revisions, Orphans: world.Orphans, Claims: world.Claims, Taken: world.Taken}
	return story.Play(told, scene, o.Nodes, o.Passes)
}

// next plans a pass over a scene.
func next(world plan.World, s *story.Scene) story.Pass {
	n := plan.Next(at(world, s), s.Now)
	return story.Pass{
		Steps: n.Steps, LookAgain: n.LookAgain, UpdateRevision: n.UpdateRevision, CurrentRevision: n.CurrentRevision, CollisionCount: n.CollisionCount,
		Limits: n.Limits, Members: n.Members, Invalid: n.Invalid, Refused: n.Refused, Held: n.Held,
	}
}

// report keeps the parts of the status that the planner reads, as the controller does after each pass.
func report(set *kruisev1alpha1.CloneSet, p story.Pass) {
	status := &set.Status
	status.UpdateRevision, status.CurrentRevision = p.UpdateRevision, p.CurrentRevision
	if updated := p.Updated(); updated == p.Limits.Replicas && len(p.Members) == updated {
		status.CurrentRevision = p.UpdateRevision
	}
	if p.CollisionCount != ptr.Deref(status.CollisionCount, 0) {
		status.CollisionCount = &p.CollisionCount
	}
}
