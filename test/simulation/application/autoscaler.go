// SPDX-License-Identifier: Apache-2.0

package application

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// autoscaler is the controller of HorizontalPodAutoscalers. All pods of a component share its load, and each takes a part of 1: what
// an autoscaler finds is how busy the pods of its own workload are.
type autoscaler struct {
	*world.World
	// load is how many pods each component has work for; 0 is for as many as there are.
	load int
	// looks is when it looks again.
	looks time.Time
}

// period is how often it looks.
const period = 15 * time.Second

// scales is who it writes as.
const scales = "autoscaler"

// next is what it would do now; nil for nothing.
func (a *autoscaler) next() func() {
	if a.Clock.Now().Before(a.looks) {
		return nil
	}
	return a.change()
}

// wakes is when it would do something; zero for never.
func (a *autoscaler) wakes() time.Time {
	if a.change() == nil {
		return time.Time{}
	}
	return a.looks
}

// change is what there is to do; nil for nothing.
func (a *autoscaler) change() func() {
	for _, o := range a.Server.List(api.Autoscalers) {
		hpa := o.(*autoscalingv2.HorizontalPodAutoscaler)
		target := a.target(hpa)
		if target == nil {
			continue
		}
		is := runnerOf(target)
		wanted := a.wanted(hpa, is)
		if is.Replicas == 0 || wanted == is.Replicas { // 0 switches it off
			continue
		}
		if low, high := int(ptr.Deref(hpa.Spec.MinReplicas, 1)), int(hpa.Spec.MaxReplicas); is.available != is.Replicas && is.Replicas >= low && is.Replicas <= high {
			continue // pods that are about to serve are not counted twice
		}
		return func() {
			a.Must(a.Server.Modify(scales, api.KindOf(target), client.ObjectKeyFromObject(target), api.Main, func(o client.Object) { resize(o, wanted) }))
			a.Tell("autoscaler: asks %s for %d pods", target.GetName(), wanted)
			a.looks = a.Clock.Now().Add(period)
		}
	}
	return nil
}

func (a *autoscaler) target(hpa *autoscalingv2.HorizontalPodAutoscaler) client.Object {
	stored := api.Deployments
	if hpa.Spec.ScaleTargetRef.Kind == kruisev1alpha1.CloneSetKind {
		stored = api.CloneSets
	}
	o := a.Server.Get(stored, types.NamespacedName{Namespace: hpa.Namespace, Name: hpa.Spec.ScaleTargetRef.Name})
	if o == nil || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return o
}

// wanted is how many pods a workload needs for its part of the load, within its bounds.
func (a *autoscaler) wanted(hpa *autoscalingv2.HorizontalPodAutoscaler, is runner) int {
	wanted, serving := is.Replicas, 0
	for _, one := range of(a.World, is.component) {
		serving += one.available
	}
	if a.load > 0 && serving > 0 {
		wanted = (is.Replicas*a.load + serving - 1) / serving
		if busy := serving - a.load; busy >= 0 && wanted*10 >= is.Replicas*9 { // it bears with a tenth
			wanted = is.Replicas
		}
	}
	return max(int(ptr.Deref(hpa.Spec.MinReplicas, 1)), min(wanted, int(hpa.Spec.MaxReplicas)))
}

func resize(o client.Object, n int) { *workload.FieldsOf(o).Replicas = ptr.To(int32(n)) }

// wakes is when one of the controllers that Kubernetes brings acts by the time alone; zero for never.
func wakes(k *kube.Controllers, a *autoscaler) func() time.Time {
	return func() time.Time {
		first, second := k.Wakes(), a.wakes()
		if first.IsZero() || !second.IsZero() && second.Before(first) {
			return second
		}
		return first
	}
}
