// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/cafe/plan"
)

type cloneSets struct{}

func (cloneSets) New() client.Object      { return &kruisev1alpha1.CloneSet{} }
func (cloneSets) List() client.ObjectList { return &kruisev1alpha1.CloneSetList{} }
func (cloneSets) CountsPods() bool        { return false }

func (cloneSets) Show(object client.Object, _ []*corev1.Pod, _ time.Time) plan.Set {
	set := object.(*kruisev1alpha1.CloneSet)
	asked := int(ptr.Deref(set.Spec.Replicas, 1))
	keeps, _ := budget.Resolve(set.Spec.UpdateStrategy.Partition, asked, budget.Up, "spec.updateStrategy.partition") // the schema has checked it
	s := &set.Status
	return plan.Set{
		Asked: asked, Partition: keeps, Seen: seen(s.ObservedGeneration, set),
		Counts: counts(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas, s.UpdatedAvailableReplicas),
	}
}

func (cloneSets) Ask(object client.Object, a Asked) {
	set := object.(*kruisev1alpha1.CloneSet)
	if set.ResourceVersion == "" {
		set.Spec.Selector = Selector(a.Deployment, a.Unit, "")
		set.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
	}
	if a.Template != nil {
		set.Spec.Template = *a.Template
	}
	set.Spec.Replicas, set.Spec.UpdateStrategy.Partition = &a.Replicas, number(a.Partition)
	set.Spec.MinReadySeconds = a.Deployment.Spec.Strategy.MinReadySeconds
}

func (cloneSets) Differs(object client.Object, d *cafev1alpha1.CafeDeployment) string {
	return minReadyDiffers(object.(*kruisev1alpha1.CloneSet).Spec.MinReadySeconds, d)
}

func number(n int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(n)) }
