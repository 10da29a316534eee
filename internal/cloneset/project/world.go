// SPDX-License-Identifier: Apache-2.0

package project

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// Objects are what a world is made of. Those that do not belong to the set are left out by World.
type Objects struct {
	Set       *kruisev1alpha1.CloneSet
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	Claims    []*corev1.PersistentVolumeClaim
	// NodeLabels are the labels of nodes by node name. They are needed only for topology spread constraints.
	NodeLabels map[string]map[string]string
	// ResizeOff: the server cannot change the resources of living pods.
	ResizeOff bool
}

// World is what the planner would see of the objects. They are shared with it, not copied.
func (o Objects) World() plan.World {
	set := o.Set
	world := plan.World{
		Set: set, Live: revision.FromTemplate(&set.Spec.Template), Taken: map[string]bool{}, NodeLabels: o.NodeLabels, ResizeOff: o.ResizeOff,
	}
	for _, p := range o.Pods {
		switch {
		case p.Namespace != set.Namespace:
		case pod.IsControlledBy(p, set.UID):
			world.Pods = append(world.Pods, p)
		case !pod.IsTerminating(p):
			world.Taken[p.Name] = true
		}
	}
	sortPods(world.Pods)
	for _, c := range o.Claims {
		if c.Namespace == set.Namespace && pod.IsControlledBy(c, set.UID) {
			world.Claims = append(world.Claims, c)
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	for _, r := range o.Revisions {
		switch {
		case r.Namespace != set.Namespace:
		case pod.IsControlledBy(r, set.UID):
			world.Revisions = append(world.Revisions, revision.Decode(r))
		case err == nil && !selector.Empty() && pod.ControllerOf(r) == "" && r.DeletionTimestamp == nil && selector.Matches(labels.Set(r.Labels)):
			world.Orphans = append(world.Orphans, revision.Decode(r))
		}
	}
	revision.Sort(world.Revisions)
	revision.Sort(world.Orphans)
	return world
}

func sortPods(pods []*corev1.Pod) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
}
