// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// The types of components: one whose pods take a new version in place, and one that lives in an object for each version.
const (
	inPlace = "cloneset"
	apart   = "webservice"
)

// runner is a workload that runs a component, as the simulation reads it.
type runner struct {
	workload.Spec
	object                           client.Object
	component, appRevision, revision string
	controller                       string
	available                        int // by its status
	updated, updatedAvailable        int // by its status, in place only
	seen                             bool
}

func isWorkload(o client.Object) bool {
	switch o.(type) {
	case *appsv1.Deployment, *kruisev1alpha1.CloneSet:
		return true
	}
	return false
}

func runnerOf(o client.Object) runner {
	labels, f := o.GetLabels(), workload.FieldsOf(o)
	return runner{
		Spec: workload.SpecOf(o), object: o, controller: controllerOf(o), component: labels[oamv1beta1.LabelComponent],
		appRevision: labels[oamv1beta1.LabelAppRevision], revision: labels[oamv1beta1.LabelComponentRevision], seen: f.Observed == o.GetGeneration(),
		available: int(f.Status.Available), updated: int(f.Status.Updated), updatedAvailable: int(f.Status.Both),
	}
}

// allowed is how many pods may be on the template.
func (w runner) allowed() int {
	if w.Paused {
		return 0
	}
	return max(0, w.Replicas-w.Kept)
}

// isInPlace tells whether the workload holds two versions.
func (w runner) isInPlace() bool {
	_, is := w.object.(*kruisev1alpha1.CloneSet)
	return is
}

// carriers are the kinds of workloads that definitions make.
var carriers = []api.Kind{api.CloneSets, api.Deployments}

// workloads are all of them, by kind and name.
func workloads(w *world.World) []runner {
	var all []runner
	for _, stored := range carriers {
		for _, o := range w.Server.List(stored) {
			all = append(all, runnerOf(o))
		}
	}
	return all
}

// of are those of a component.
func of(w *world.World, component string) []runner {
	return slices.DeleteFunc(workloads(w), func(o runner) bool { return o.component != component })
}

// controllerOf is who controls an object; empty for nobody.
func controllerOf(o client.Object) string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.Kind
	}
	return ""
}

// bounds tell what an autoscaler scales, and between which sizes.
func bounds(o *autoscalingv2.HorizontalPodAutoscaler) string {
	return fmt.Sprintf("%s from %d to %d", o.Spec.ScaleTargetRef.Name, ptr.Deref(o.Spec.MinReplicas, 1), o.Spec.MaxReplicas)
}
