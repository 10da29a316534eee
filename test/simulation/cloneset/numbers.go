// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/world"
)

// numbers are what a spec asks for. They are computed here a second time, in other words than the planner's, so that a mistake
// in one of the two is seen.
type numbers struct {
	Replicas, Partition, Surge, Unavailable int
}

func numbersOf(set *kruisev1alpha1.CloneSet) numbers {
	n := numbers{Replicas: int(ptr.Deref(set.Spec.Replicas, 1))}
	u := &set.Spec.UpdateStrategy
	if !u.Paused {
		n.Surge = world.Share(u.MaxSurge, n.Replicas, true, 0)
	}
	twentyPercent := intstr.FromString("20%")
	unavailable := u.MaxUnavailable
	if unavailable == nil {
		unavailable = &twentyPercent
	}
	n.Unavailable = world.Share(unavailable, n.Replicas, n.Surge == 0, 0)
	n.Partition = min(world.Share(u.Partition, n.Replicas, true, 0), n.Replicas)
	if p := u.Partition; p != nil && p.Type == intstr.String && p.StrVal != "100%" && n.Replicas > 1 && n.Partition == n.Replicas {
		n.Partition--
	}
	return n
}
