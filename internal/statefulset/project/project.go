// SPDX-License-Identifier: Apache-2.0

package project

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/claim"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/story"
)

// Of tells what the controller would do with a set among other objects from the given time on, until nothing is left to
// do. It always ends. Nothing that it is given is changed.
func Of(set *kruisev1beta1.StatefulSet, o story.Objects, now time.Time) story.Story {
	told, _ := Play(set, o, now)
	return told
}

// Play is Of, with the scene that the story ends with: another one can go on from there.
func Play(set *kruisev1beta1.StatefulSet, o story.Objects, now time.Time) (story.Story, story.Scene) {
	set = set.DeepCopy()
	scene := o.SceneOf(set, set.Spec.Selector)
	scene.Now = now
	rolling := ptr.Deref(set.Spec.UpdateStrategy.RollingUpdate, kruisev1beta1.RollingUpdateStatefulSetStrategy{})
	world := plan.World{Set: set, Live: revision.FromTemplate(&set.Spec.Template), ResizeOff: o.ResizeOff}
	told := story.Set{
		Next: func(s *story.Scene) story.Pass { return next(world, s) }, Report: func(p story.Pass) { report(set, p) },
		Live: world.Live, MinReadySeconds: ptr.Deref(rolling.MinReadySeconds, 0), ResizeOff: o.ResizeOff,
		Hooks: lifecycle.HooksOf(set.Spec.Lifecycle), HookOwners: "lifecycle hooks",
		Strategy: strategy(set, rolling), PartitionField: "updateStrategy.rollingUpdate.partition",
	}
	if told.Strategy == string(kruisev1beta1.RecreatePodUpdateStrategyType) {
		told.Instead = "updateStrategy.rollingUpdate.podUpdatePolicy is " + told.Strategy
	}
	if grows(set, scene.Claims) {
		told.Assumed = []string{"storage classes let volumes grow, and they do at once"}
	}
	return story.Play(told, scene, o.Nodes, 0)
}

// strategy is OnDelete, or how pods are updated.
func strategy(set *kruisev1beta1.StatefulSet, rolling kruisev1beta1.RollingUpdateStatefulSetStrategy) string {
	switch {
	case set.Spec.UpdateStrategy.Type == kruisev1beta1.OnDeleteStatefulSetStrategyType:
		return string(set.Spec.UpdateStrategy.Type)
	case rolling.PodUpdatePolicy == "":
		return string(kruisev1beta1.RecreatePodUpdateStrategyType)
	}
	return string(rolling.PodUpdatePolicy)
}

// grows tells whether a claim is smaller than its template.
func grows(set *kruisev1beta1.StatefulSet, claims []*corev1.PersistentVolumeClaim) bool {
	if set.Spec.VolumeClaimUpdateStrategy.Type != kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType {
		return false
	}
	return slices.ContainsFunc(claims, func(c *corev1.PersistentVolumeClaim) bool {
		t := templateOf(set, c.Name)
		return t != nil && claim.TooSmall(c, t)
	})
}

// templateOf is the claim template that a name comes from, if any.
func templateOf(set *kruisev1beta1.StatefulSet, name string) *corev1.PersistentVolumeClaim {
	for _, t := range claim.Templates(set.Spec.VolumeClaimTemplates) {
		prefix := claim.Name(t.Name, "")
		if len(name) <= len(prefix) || name[:len(prefix)] != prefix {
			continue
		}
		if _, member := ordinal.Of(set.Name, name[len(prefix):]); member {
			return t
		}
	}
	return nil
}

// next plans a pass over a scene.
func next(world plan.World, s *story.Scene) story.Pass {
	world.Pods, world.Strays, world.Revisions, world.Orphans = s.Pods, s.Strays, s.Revisions, s.Orphans
	world.Taken = maps.Clone(s.Taken)
	for _, stray := range s.Strays { // their names are not lost yet
		delete(world.Taken, stray.Name)
	}
	world.Claims = map[string]*corev1.PersistentVolumeClaim{}
	for _, c := range s.Claims {
		if templateOf(world.Set, c.Name) != nil {
			world.Claims[c.Name] = c
		}
	}
	n := plan.Next(world, s.Now)
	pass := story.Pass{
		Steps: n.Steps, LookAgain: n.LookAgain, UpdateRevision: n.UpdateRevision, CurrentRevision: n.CurrentRevision, CollisionCount: n.CollisionCount,
		Limits: n.Limits, Members: []member.Member{}, Invalid: n.Invalid, Refused: slices.Concat(n.Refused, n.RefusedClaims), Held: n.Held,
	}
	for _, m := range n.Members {
		if pod.IsActive(m.Pod) {
			pass.Members = append(pass.Members, m.Member)
		}
	}
	if n.Blocked != "" {
		pass.Refused = append(pass.Refused, n.Blocked)
	}
	return pass
}

// report keeps the parts of the status that the planner reads, as the controller does after each pass.
func report(set *kruisev1beta1.StatefulSet, p story.Pass) {
	status := &set.Status
	status.UpdateRevision, status.CurrentRevision = p.UpdateRevision, p.CurrentRevision
	ready := 0
	for _, m := range p.Members {
		if m.Ready {
			ready++
		}
	}
	wanted := p.Limits.Replicas
	if set.Spec.UpdateStrategy.Type != kruisev1beta1.OnDeleteStatefulSetStrategyType && len(p.Members) == wanted && ready == wanted && p.Updated() == wanted {
		status.CurrentRevision = p.UpdateRevision
	}
	if p.CollisionCount != ptr.Deref(status.CollisionCount, 0) {
		status.CollisionCount = &p.CollisionCount
	}
}
