// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/pod"
)

// statefulSets are the built-in ones. Their pods are made side by side: a group is brought up at once, and with ordered
// pods a broken one would keep the next template from all others.
type statefulSets struct{}

func (statefulSets) New() client.Object      { return &appsv1.StatefulSet{} }
func (statefulSets) List() client.ObjectList { return &appsv1.StatefulSetList{} }

// CountsPods: their partition counts ordinals, and their status says neither which of them are updated nor how many of those are available.
func (statefulSets) CountsPods() bool { return true }

func (statefulSets) Show(object client.Object, pods []*corev1.Pod, now time.Time) plan.Set {
	set := object.(*appsv1.StatefulSet)
	s := &set.Status
	var keeps, both int32
	if roll := set.Spec.UpdateStrategy.RollingUpdate; roll != nil {
		keeps = ptr.Deref(roll.Partition, 0)
	}
	for _, p := range pods {
		if pod.IsActive(p) && pod.HasRevision(p, s.UpdateRevision) && pod.IsAvailable(p, set.Spec.MinReadySeconds, now) {
			both++
		}
	}
	return plan.Set{
		Asked: int(ptr.Deref(set.Spec.Replicas, 1)), Partition: int(keeps), Seen: seen(s.ObservedGeneration, set),
		Older: older(set.Name, ptr.Deref(set.Spec.Replicas, 1), s.UpdateRevision, pods),
		// Their controller may have seen a pod become available that is not yet by our clock, or go that is still here for us.
		Counts: counts(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas,
			max(min(both, s.UpdatedReplicas, s.AvailableReplicas), s.UpdatedReplicas+s.AvailableReplicas-s.Replicas)),
	}
}

func (statefulSets) Ask(object client.Object, a Asked) {
	set := object.(*appsv1.StatefulSet)
	if set.ResourceVersion == "" {
		set.Spec.Selector = Selector(a.Deployment, a.Unit, "")
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		set.Spec.ServiceName = a.Deployment.Spec.ServiceName
		for i := range a.Deployment.Spec.VolumeClaimTemplates {
			set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, *a.Deployment.Spec.VolumeClaimTemplates[i].DeepCopy())
		}
	}
	if a.Template != nil {
		set.Spec.Template = *a.Template
	}
	set.Spec.Replicas = &a.Replicas
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
		Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &a.Partition},
	}
	set.Spec.MinReadySeconds = a.Deployment.Spec.Strategy.MinReadySeconds
}

func (statefulSets) Differs(object client.Object, d *cafev1alpha1.CafeDeployment) string {
	return minReadyDiffers(object.(*appsv1.StatefulSet).Spec.MinReadySeconds, d)
}
