// SPDX-License-Identifier: Apache-2.0

package project

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// Of tells what the controller would do with a set among other objects from the given time on, until nothing is left to
// do. It always ends. Nothing that it is given is changed.
func Of(set *kruisev1alpha1.CloneSet, o story.Objects, now time.Time) story.Story {
	told, _ := Play(set, o, now)
	return told
}

// Play is Of, with the scene that the story ends with: another one can go on from there.
func Play(set *kruisev1alpha1.CloneSet, o story.Objects, now time.Time) (story.Story, story.Scene) {
	told, scene := cast(set, o, now)
	return story.Play(told, scene, o.Nodes, 0)
}

// cast is the set as it is told of, and what there is at the beginning.
func cast(set *kruisev1alpha1.CloneSet, o story.Objects, now time.Time) (story.Set, story.Scene) {
	set = set.DeepCopy()
	spec := &set.Spec
	world := plan.World{Set: set, Live: revision.FromTemplate(&spec.Template), NodeLabels: o.NodeLabels, ResizeOff: o.ResizeOff}
	scene := o.SceneOf(set, spec.Selector)
	scene.Now = now
	told := story.Set{
		Next: func(s *story.Scene) story.Pass { return next(world, s) }, Report: func(p story.Pass) { report(set, p) },
		Trim: func(s step.TrimPodsToDelete) { spec.ScaleStrategy.PodsToDelete = s.Keep },
		Live: world.Live, MinReadySeconds: spec.MinReadySeconds, ResizeOff: o.ResizeOff,
		Hooks: lifecycle.HooksOf(spec.Lifecycle), HookOwners: "lifecycle hooks",
		Strategy: string(spec.UpdateStrategy.Type), PartitionField: "updateStrategy.partition",
	}
	if spec.UpdateStrategy.Type == kruisev1alpha1.ReCreateCloneSetUpdateStrategyType {
		told.Instead = "updateStrategy.type is ReCreate"
	}
	return told, scene
}

// next plans a pass over a scene.
func next(world plan.World, s *story.Scene) story.Pass {
	world.Pods, world.Revisions, world.Orphans, world.Taken = s.Pods, s.Revisions, s.Orphans, s.Taken
	world.Claims = slices.DeleteFunc(slices.Clone(s.Claims), func(c *corev1.PersistentVolumeClaim) bool { return !pod.IsControlledBy(c, world.Set.UID) })
	n := plan.Next(world, s.Now)
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
