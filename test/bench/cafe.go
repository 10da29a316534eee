// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// podSetTypes are the kinds of pod sets that a CafeDeployment can have.
var podSetTypes = []cafev1alpha1.PodSetType{
	cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType,
	cafev1alpha1.CloneSetPodSetType, cafev1alpha1.AdvancedStatefulSetPodSetType,
}

// cafeDeployment is one application in several units, which comes in groups.
type cafeDeployment struct {
	sets  cafev1alpha1.PodSetType
	units []string
	// batch is how many pods are in a group.
	batch int
}

// cells are the names of so many units.
func cells(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("cell-%d", i+1)
	}
	return names
}

func (cafeDeployment) name() string            { return cafev1alpha1.CafeDeploymentKind }
func (cafeDeployment) controller() string      { return "cafedeployment" }
func (cafeDeployment) list() client.ObjectList { return &cafev1alpha1.CafeDeploymentList{} }

// way is how a new image reaches the pods: these two kinds are asked to keep them, and the others replace them.
func (c cafeDeployment) way() way {
	if slices.Contains([]cafev1alpha1.PodSetType{cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.CloneSetPodSetType}, c.sets) {
		return inPlace
	}
	return recreate
}

func (c cafeDeployment) fresh(key client.ObjectKey, replicas int) client.Object {
	return &cafev1alpha1.CafeDeployment{
		ObjectMeta: objectMeta(key),
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: ptr.To(int32(replicas)), Selector: selector(key.Name), Template: template(key.Name), PodSetType: c.sets,
			Strategy: cafev1alpha1.CafeDeploymentStrategy{UpgradeType: cafev1alpha1.BetaUpgradeType, BatchSize: ptr.To(int32(c.batch))},
			Topology: cafev1alpha1.Topology{Values: c.units},
		},
	}
}

func (cafeDeployment) scale(o client.Object, replicas int) {
	o.(*cafev1alpha1.CafeDeployment).Spec.Replicas = ptr.To(int32(replicas))
}

// release has as many pods in a group as may be unavailable. The kind of the pod sets decides how they get the image.
func (cafeDeployment) release(o client.Object, image string, _ way, unavailable intstr.IntOrString) {
	spec := &o.(*cafev1alpha1.CafeDeployment).Spec
	spec.Template.Spec.Containers[0].Image = image
	spec.Strategy.BatchSize = &unavailable.IntVal
}

func (cafeDeployment) settled(o client.Object) bool {
	d := o.(*cafev1alpha1.CafeDeployment)
	want, s := ptr.Deref(d.Spec.Replicas, 1), d.Status
	return s.ObservedGeneration >= d.Generation && s.Phase == cafev1alpha1.StablePhase && s.Replicas == want && s.UpdatedReplicas == want &&
		s.ReadyReplicas == want && s.AvailableReplicas == want && s.UpdatedAvailableReplicas == want
}
