// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

// Fields are where a workload keeps what matters to a rollout. A kind has not what is nil.
type Fields struct {
	Replicas **int32
	Template *corev1.PodTemplateSpec
	Paused   *bool
	// Number and Share are of pods that stay on older templates: of the first so many positions for sets that have Positions.
	Number    **int32
	Share     **intstr.IntOrString
	Positions bool
	// Still is the type of a strategy by which nothing is updated, when it is OnDelete.
	Still *string
	// Observed is the generation that Status is of.
	Observed int64
	Status   Counts
}

// Counts are what a status says of pods. Updated and Both are of those on the newest template.
type Counts struct{ Pods, Ready, Available, Updated, Both int32 }

// OnDelete is the type of a strategy that updates nothing.
const OnDelete = "OnDelete"

// FieldsOf finds them, and fills in what is absent on the way to them. It panics for an object that is no workload.
func FieldsOf(o client.Object) Fields {
	switch o := o.(type) {
	case *appsv1.Deployment:
		st := &o.Status
		return Fields{
			Replicas: &o.Spec.Replicas, Template: &o.Spec.Template, Paused: &o.Spec.Paused, Observed: st.ObservedGeneration,
			Status: Counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, 0, 0},
		}
	case *appsv1.StatefulSet:
		if o.Spec.UpdateStrategy.RollingUpdate == nil {
			o.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
		st := &o.Status
		return Fields{
			Replicas: &o.Spec.Replicas, Template: &o.Spec.Template, Number: &o.Spec.UpdateStrategy.RollingUpdate.Partition, Positions: true,
			Still: (*string)(&o.Spec.UpdateStrategy.Type), Observed: st.ObservedGeneration,
			Status: Counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, 0, 0},
		}
	case *appsv1.DaemonSet:
		st := &o.Status
		return Fields{
			Template: &o.Spec.Template, Still: (*string)(&o.Spec.UpdateStrategy.Type), Observed: st.ObservedGeneration,
			Status: Counts{st.CurrentNumberScheduled, st.NumberReady, st.NumberAvailable, 0, 0},
		}
	case *kruisev1alpha1.CloneSet:
		st := &o.Status
		return Fields{
			Replicas: &o.Spec.Replicas, Template: &o.Spec.Template, Paused: &o.Spec.UpdateStrategy.Paused, Share: &o.Spec.UpdateStrategy.Partition,
			Observed: st.ObservedGeneration, Status: Counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.UpdatedAvailableReplicas},
		}
	case *kruisev1beta1.StatefulSet:
		if o.Spec.UpdateStrategy.RollingUpdate == nil {
			o.Spec.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{}
		}
		roll, st := o.Spec.UpdateStrategy.RollingUpdate, &o.Status
		return Fields{
			Replicas: &o.Spec.Replicas, Template: &o.Spec.Template, Paused: &roll.Paused, Number: &roll.Partition, Positions: true,
			Still: (*string)(&o.Spec.UpdateStrategy.Type), Observed: st.ObservedGeneration,
			Status: Counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, 0, 0},
		}
	case *cafev1alpha1.InPlaceSet:
		st := &o.Status
		return Fields{
			Replicas: &o.Spec.Replicas, Template: &o.Spec.Template, Paused: &o.Spec.Strategy.Paused, Share: &o.Spec.Strategy.Partition,
			Observed: st.ObservedGeneration, Status: Counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.UpdatedAvailableReplicas},
		}
	case *cafev1alpha1.CafeDeployment:
		st := &o.Status
		return Fields{
			Replicas: &o.Spec.Replicas, Template: &o.Spec.Template, Paused: &o.Spec.Strategy.Pause, Number: &o.Spec.Strategy.Partition,
			Observed: st.ObservedGeneration, Status: Counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.UpdatedAvailableReplicas},
		}
	}
	panic(fmt.Sprintf("%T is no workload", o))
}
