// SPDX-License-Identifier: Apache-2.0

package project

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/story"
)

// World is what the planner would see of a set and of the objects beside it. They are shared with it, not copied.
func World(set *kruisev1alpha1.CloneSet, o story.Objects) plan.World {
	world := plan.World{Set: set, Live: revision.FromTemplate(&set.Spec.Template), NodeLabels: o.NodeLabels, ResizeOff: o.ResizeOff}
	scene := o.SceneOf(set, set.Spec.Selector)
	return at(world, &scene)
}

// at is the world with what there is in a scene.
func at(world plan.World, s *story.Scene) plan.World {
	world.Pods, world.Revisions, world.Orphans, world.Taken = s.Pods, s.Revisions, s.Orphans, s.Taken
	world.Claims = slices.DeleteFunc(slices.Clone(s.Claims), func(c *corev1.PersistentVolumeClaim) bool { return !pod.IsControlledBy(c, world.Set.UID) })
	return world
}
