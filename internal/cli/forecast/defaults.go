// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"

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
