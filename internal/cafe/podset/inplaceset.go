// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/cafe/plan"
)

type inPlaceSets struct{}

func (inPlaceSets) New() client.Object      { return &cafev1alpha1.InPlaceSet{} }
func (inPlaceSets) List() client.ObjectList { return &cafev1alpha1.InPlaceSetList{} }
func (inPlaceSets) CountsPods() bool        { return false }

func (inPlaceSets) Show(object client.Object, _ []*corev1.Pod, _ time.Time) plan.Set {
	set := object.(*cafev1alpha1.InPlaceSet)
	asked := int(ptr.Deref(set.Spec.Replicas, 1))
	keeps, _ := budget.Resolve(set.Spec.Strategy.Partition, asked, budget.Up, "spec.strategy.partition") // the schema has checked it
	s := &set.Status
	return plan.Set{
		Asked: asked, Partition: keeps, Seen: seen(s.ObservedGeneration, set),
		Counts: counts(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas, s.UpdatedAvailableReplicas),
	}
}

func (inPlaceSets) Ask(object client.Object, a Asked) {
	set := object.(*cafev1alpha1.InPlaceSet)
	if set.ResourceVersion == "" {
		set.Spec.Selector = Selector(a.Deployment, a.Unit, "")
		set.Spec.DeployUnit, set.Spec.UnitType = a.Unit, a.Deployment.Spec.Topology.UnitType
	}
	if a.Template != nil {
		set.Spec.Template = *a.Template
	}
	set.Spec.Replicas, set.Spec.Strategy.Partition = &a.Replicas, number(a.Partition)
	set.Spec.MinReadySeconds = a.Deployment.Spec.Strategy.MinReadySeconds
	if components, declared := a.Deployment.Annotations[cafev1alpha1.AnnotationTrafficComponents]; declared {
		set.Annotations = with(set.Annotations, cafev1alpha1.AnnotationTrafficComponents, components)
	} else {
		delete(set.Annotations, cafev1alpha1.AnnotationTrafficComponents)
	}
}

func (inPlaceSets) Differs(object client.Object, d *cafev1alpha1.CafeDeployment) string {
	set := object.(*cafev1alpha1.InPlaceSet)
	if set.Annotations[cafev1alpha1.AnnotationTrafficComponents] != d.Annotations[cafev1alpha1.AnnotationTrafficComponents] {
		return "annotation " + cafev1alpha1.AnnotationTrafficComponents
	}
	return minReadyDiffers(set.Spec.MinReadySeconds, d)
}

func counts(has, ready, available, updated, updatedAvailable int32) plan.Counts {
	return plan.Counts{Has: int(has), Ready: int(ready), Available: int(available), Updated: int(updated), UpdatedAvailable: int(updatedAvailable)}
}
