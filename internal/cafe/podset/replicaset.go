// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/revision"
)

// replicaSets are the built-in ones: each has the pods of one unit and one version.
type replicaSets struct{}

func (replicaSets) New() client.Object      { return &appsv1.ReplicaSet{} }
func (replicaSets) List() client.ObjectList { return &appsv1.ReplicaSetList{} }
func (replicaSets) CountsPods() bool        { return false }

func (replicaSets) Show(object client.Object, _ []*corev1.Pod, _ time.Time) plan.Set {
	set := object.(*appsv1.ReplicaSet)
	s := &set.Status
	asked := int(ptr.Deref(set.Spec.Replicas, 1))
	unit, err := strconv.Atoi(set.Annotations[cafev1alpha1.AnnotationUnitReplicas])
	if err != nil { // somebody has taken it away
		unit = asked
	}
	return plan.Set{
		Asked: asked, UnitAsked: unit, Seen: seen(s.ObservedGeneration, set),
		Counts: counts(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.Replicas, s.AvailableReplicas),
	}
}

func (replicaSets) Ask(object client.Object, a Asked) {
	set := object.(*appsv1.ReplicaSet)
	if set.ResourceVersion == "" && a.Template != nil {
		set.Spec.Selector = Selector(a.Deployment, a.Unit, a.Template.Labels[cafev1alpha1.LabelRevision])
		set.Spec.Template = *a.Template
	}
	set.Spec.Replicas = &a.Replicas
	set.Spec.MinReadySeconds = a.Deployment.Spec.Strategy.MinReadySeconds
}

func (replicaSets) Differs(object client.Object, d *cafev1alpha1.CafeDeployment) string {
	return minReadyDiffers(object.(*appsv1.ReplicaSet).Spec.MinReadySeconds, d)
}

// Version is what a set of one version carries of its revision; empty for kinds whose sets change their version.
func Version(kind cafev1alpha1.PodSetType, name string) string {
	if kind == cafev1alpha1.ReplicaSetPodSetType {
		return revision.HashOf(name)
	}
	return ""
}
