// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/cafe/plan"
)

type advancedStatefulSets struct{}

func (advancedStatefulSets) New() client.Object      { return &kruisev1beta1.StatefulSet{} }
func (advancedStatefulSets) List() client.ObjectList { return &kruisev1beta1.StatefulSetList{} }

// CountsPods: their partition counts ordinals, and their status does not say which of them are updated.
func (advancedStatefulSets) CountsPods() bool { return true }

func (advancedStatefulSets) Show(object client.Object, pods []*corev1.Pod, _ time.Time) plan.Set {
	set := object.(*kruisev1beta1.StatefulSet)
	s := &set.Status
	var keeps int32
	if roll := set.Spec.UpdateStrategy.RollingUpdate; roll != nil {
		keeps = ptr.Deref(roll.Partition, 0)
	}
	return plan.Set{
		Asked: int(ptr.Deref(set.Spec.Replicas, 1)), Partition: int(keeps), Seen: seen(s.ObservedGeneration, set),
		Older:  older(set.Name, ptr.Deref(set.Spec.Replicas, 1), s.UpdateRevision, pods),
		Counts: counts(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas, s.UpdatedAvailableReplicas),
	}
}

func (advancedStatefulSets) Ask(object client.Object, a Asked) {
	set := object.(*kruisev1beta1.StatefulSet)
	if set.ResourceVersion == "" {
		set.Spec.Selector = Selector(a.Deployment, a.Unit, "")
		set.Spec.PodManagementPolicy = kruisev1beta1.ParallelPodManagement
		set.Spec.ServiceName = a.Deployment.Spec.ServiceName
		set.Spec.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{
			PodUpdatePolicy: kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType,
		}
	}
	if a.Template != nil {
		set.Spec.Template = *a.Template
		set.Spec.VolumeClaimTemplates = nil
		for i := range a.Deployment.Spec.VolumeClaimTemplates {
			set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, *a.Deployment.Spec.VolumeClaimTemplates[i].DeepCopy())
		}
	}
	set.Spec.Replicas = &a.Replicas
	if set.Spec.UpdateStrategy.RollingUpdate == nil {
		set.Spec.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{}
	}
	set.Spec.UpdateStrategy.RollingUpdate.Partition = &a.Partition
	set.Spec.UpdateStrategy.RollingUpdate.MinReadySeconds = ptr.To(a.Deployment.Spec.Strategy.MinReadySeconds)
}

func (advancedStatefulSets) Differs(object client.Object, d *cafev1alpha1.CafeDeployment) string {
	roll := object.(*kruisev1beta1.StatefulSet).Spec.UpdateStrategy.RollingUpdate
	if roll == nil {
		return minReadyDiffers(0, d)
	}
	return minReadyDiffers(ptr.Deref(roll.MinReadySeconds, 0), d)
}
