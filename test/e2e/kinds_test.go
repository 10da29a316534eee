// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

// view is what the sets of all kinds have in common. What it points to is the set's own.
type view struct {
	replicas **int32
	template *corev1.PodTemplateSpec
	// observed is the generation that the status is of.
	observed                     int64
	available, updated, toUpdate int32
	// ready is the condition Ready; its zero value if there is none.
	ready metav1.Condition
}

func viewOf(set client.Object) view {
	switch set := set.(type) {
	case *kruisev1alpha1.CloneSet:
		v := view{
			replicas: &set.Spec.Replicas, template: &set.Spec.Template, observed: set.Status.ObservedGeneration,
			available: set.Status.AvailableReplicas, updated: set.Status.UpdatedReplicas, toUpdate: set.Status.ExpectedUpdatedReplicas,
		}
		for _, c := range set.Status.Conditions {
			if c.Type == kruisev1alpha1.CloneSetConditionReady {
				v.ready = metav1.Condition{Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message}
			}
		}
		return v
	case *kruisev1beta1.StatefulSet:
		v := view{
			replicas: &set.Spec.Replicas, template: &set.Spec.Template, observed: set.Status.ObservedGeneration,
			available: set.Status.AvailableReplicas, updated: set.Status.UpdatedReplicas, toUpdate: ptr.Deref(set.Spec.Replicas, 1),
		}
		if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
			v.toUpdate = max(0, v.toUpdate-ptr.Deref(rolling.Partition, 0))
		}
		for _, c := range set.Status.Conditions {
			if c.Type == kruisev1beta1.StatefulSetConditionReady {
				v.ready = metav1.Condition{Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message}
			}
		}
		return v
	case *cafev1alpha1.InPlaceSet:
		v := view{
			replicas: &set.Spec.Replicas, template: &set.Spec.Template, observed: set.Status.ObservedGeneration,
			available: set.Status.AvailableReplicas, updated: set.Status.UpdatedReplicas, toUpdate: ptr.Deref(set.Spec.Replicas, 1),
			ready: readyOf(set.Status.Conditions),
		}
		if partition := set.Spec.Strategy.Partition; partition != nil {
			v.toUpdate -= partition.IntVal
		}
		return v
	case *cafev1alpha1.CafeDeployment:
		return view{
			replicas: &set.Spec.Replicas, template: &set.Spec.Template, observed: set.Status.ObservedGeneration,
			available: set.Status.AvailableReplicas, updated: set.Status.UpdatedReplicas, toUpdate: ptr.Deref(set.Spec.Replicas, 1),
			ready: readyOf(set.Status.Conditions),
		}
	default:
		panic(fmt.Sprintf("%T is no kind of set", set))
	}
}

func readyOf(conditions []cafev1alpha1.Condition) (ready metav1.Condition) {
	for _, c := range conditions {
		if c.Type == cafev1alpha1.ConditionReady {
			ready = metav1.Condition{Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message}
		}
	}
	return ready
}
