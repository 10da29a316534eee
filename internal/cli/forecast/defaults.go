// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

// absent fills a field in that is not there.
func absent[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func defaultCloneSet(set *kruisev1alpha1.CloneSet) {
	spec, strategy := &set.Spec, &set.Spec.UpdateStrategy
	absent(&spec.Replicas, 1)
	absent(&spec.RevisionHistoryLimit, 10)
	strategy.Type = cmp.Or(strategy.Type, kruisev1alpha1.ReCreateCloneSetUpdateStrategyType)
	absent(&strategy.Partition, intstr.FromInt32(0))
	absent(&strategy.MaxSurge, intstr.FromInt32(0))
	absent(&strategy.MaxUnavailable, intstr.FromString("20%"))
}

func defaultAdvancedStatefulSet(set *kruisev1beta1.StatefulSet) {
	spec, strategy := &set.Spec, &set.Spec.UpdateStrategy
	absent(&spec.Replicas, 1)
	absent(&spec.RevisionHistoryLimit, 10)
	spec.PodManagementPolicy = cmp.Or(spec.PodManagementPolicy, kruisev1beta1.OrderedReadyPodManagement)
	spec.VolumeClaimUpdateStrategy.Type = cmp.Or(spec.VolumeClaimUpdateStrategy.Type, kruisev1beta1.OnPVCDeleteVolumeClaimUpdateStrategyType)
	if keeps := spec.PersistentVolumeClaimRetentionPolicy; keeps != nil {
		keeps.WhenDeleted = cmp.Or(keeps.WhenDeleted, kruisev1beta1.RetainPersistentVolumeClaimRetentionPolicyType)
		keeps.WhenScaled = cmp.Or(keeps.WhenScaled, kruisev1beta1.RetainPersistentVolumeClaimRetentionPolicyType)
	}
	strategy.Type = cmp.Or(strategy.Type, kruisev1beta1.RollingUpdateStatefulSetStrategyType)
	absent(&strategy.RollingUpdate, kruisev1beta1.RollingUpdateStatefulSetStrategy{})
	rolling := strategy.RollingUpdate
	absent(&rolling.Partition, 0)
	absent(&rolling.MaxUnavailable, intstr.FromInt32(1))
	absent(&rolling.MinReadySeconds, 0)
	rolling.PodUpdatePolicy = cmp.Or(rolling.PodUpdatePolicy, kruisev1beta1.RecreatePodUpdateStrategyType)
}

func defaultInPlaceSet(set *cafev1alpha1.InPlaceSet) {
	spec, strategy := &set.Spec, &set.Spec.Strategy
	absent(&spec.Replicas, 1)
	absent(&spec.RevisionHistoryLimit, 10)
	spec.UnitType = cmp.Or(spec.UnitType, cafev1alpha1.CellUnitType)
	absent(&strategy.Partition, intstr.FromInt32(0))
	absent(&strategy.MaxUnavailable, intstr.FromString(cafev1alpha1.DefaultInPlaceSetMaxUnavailable))
}

func defaultCafeDeployment(d *cafev1alpha1.CafeDeployment) {
	spec, topology := &d.Spec, &d.Spec.Topology
	absent(&spec.Replicas, 1)
	absent(&spec.HistoryLimit, 20)
	spec.PodSetType = cmp.Or(spec.PodSetType, cafev1alpha1.InPlaceSetPodSetType)
	spec.Strategy.UpgradeType = cmp.Or(spec.Strategy.UpgradeType, cafev1alpha1.BatchUpgradeType)
	topology.UnitType = cmp.Or(topology.UnitType, cafev1alpha1.CellUnitType)
	absent(&topology.AutoReschedule.InitialDelaySeconds, cafev1alpha1.DefaultInitialDelaySeconds)
}

func defaultDeployment(d *appsv1.Deployment) {
	spec, strategy := &d.Spec, &d.Spec.Strategy
	absent(&spec.Replicas, 1)
	absent(&spec.RevisionHistoryLimit, 10)
	absent(&spec.ProgressDeadlineSeconds, 600)
	strategy.Type = cmp.Or(strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	absent(&strategy.RollingUpdate, appsv1.RollingUpdateDeployment{}) // for other types it means nothing
	absent(&strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	absent(&strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
}

func defaultStatefulSet(s *appsv1.StatefulSet) {
	spec, strategy := &s.Spec, &s.Spec.UpdateStrategy
	absent(&spec.Replicas, 1)
	absent(&spec.RevisionHistoryLimit, 10)
	spec.PodManagementPolicy = cmp.Or(spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	absent(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	keeps := spec.PersistentVolumeClaimRetentionPolicy
	keeps.WhenDeleted = cmp.Or(keeps.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	keeps.WhenScaled = cmp.Or(keeps.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	strategy.Type = cmp.Or(strategy.Type, appsv1.RollingUpdateStatefulSetStrategyType)
	absent(&strategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	absent(&strategy.RollingUpdate.Partition, 0)
	absent(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1)) // only servers that know the field store it
	for i := range spec.VolumeClaimTemplates {
		c := &spec.VolumeClaimTemplates[i]
		c.TypeMeta, c.Status = metav1.TypeMeta{}, corev1.PersistentVolumeClaimStatus{}
		absent(&c.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	}
}

func defaultDaemonSet(s *appsv1.DaemonSet) {
	spec, strategy := &s.Spec, &s.Spec.UpdateStrategy
	absent(&spec.RevisionHistoryLimit, 10)
	strategy.Type = cmp.Or(strategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	absent(&strategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
	absent(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	absent(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
}
