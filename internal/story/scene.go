// SPDX-License-Identifier: Apache-2.0

package story

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// Objects are what was read beside a set. They may hold those of others.
type Objects struct {
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	Claims    []*corev1.PersistentVolumeClaim
	// NodeLabels are the labels of nodes by node name; nil when no node is known. They are needed only for topology spread
	// constraints.
	NodeLabels map[string]map[string]string
	// ResizeOff: the server cannot change the resources of living pods.
	ResizeOff bool
	// Nodes are where new pods may go; see Tell.
	Nodes []string
}

// Scene is what there is at one time: the pods of a set, its revisions, and claims.
type Scene struct {
	Now  time.Time
	Pods []*corev1.Pod
	// Strays are pods that match the selector and that nobody controls.
	Strays []*corev1.Pod
	// Revisions are the set's own and, in Orphans, those that match its selector and belong to nobody.
	Revisions, Orphans []revision.Revision
	// Claims are all of the namespace.
	Claims []*corev1.PersistentVolumeClaim
	// Taken are names that the set cannot use, because living pods of others have them.
	Taken map[string]bool
}

// SceneOf is what a set with a selector would see of the objects. They are shared with it, not copied.
func (o Objects) SceneOf(set metav1.Object, selector *metav1.LabelSelector) Scene {
	s := Scene{Taken: map[string]bool{}}
	matching, err := metav1.LabelSelectorAsSelector(selector)
	matches := func(other metav1.Object) bool {
		return err == nil && !matching.Empty() && pod.ControllerOf(other) == "" && other.GetDeletionTimestamp() == nil && matching.Matches(labels.Set(other.GetLabels()))
	}
	for _, p := range o.Pods {
		switch {
		case p.Namespace != set.GetNamespace():
		case pod.IsControlledBy(p, set.GetUID()):
			s.Pods = append(s.Pods, p)
		case !pod.IsTerminating(p):
			s.Taken[p.Name] = true
			if matches(p) {
				s.Strays = append(s.Strays, p)
			}
		}
	}
	sortPods(s.Pods)
	for _, c := range o.Claims {
		if c.Namespace == set.GetNamespace() {
			s.Claims = append(s.Claims, c)
		}
	}
	for _, r := range o.Revisions {
		switch {
		case r.Namespace != set.GetNamespace():
		case pod.IsControlledBy(r, set.GetUID()):
			s.Revisions = append(s.Revisions, revision.Decode(r))
		case matches(r):
			s.Orphans = append(s.Orphans, revision.Decode(r))
		}
	}
	revision.Sort(s.Revisions)
	revision.Sort(s.Orphans)
	return s
}

func sortPods(pods []*corev1.Pod) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
}
