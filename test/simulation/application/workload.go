// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// The types of components: one whose pods take a new version in place, and one that lives in an object for each version.
const (
	inPlace = "cloneset"
	apart   = "webservice"
)

// workload is one that runs a component, as the simulation reads it.
type workload struct {
	object                           client.Object
	component, appRevision, revision string
	app                              string
	replicas                         int
	kept                             int // pods on older templates, by the partition
	partition, paused, held          bool
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

func workloadOf(o client.Object) workload {
	labels := o.GetLabels()
	w := workload{
		object: o, component: labels[oamv1beta1.LabelComponent], appRevision: labels[oamv1beta1.LabelAppRevision],
		revision: labels[oamv1beta1.LabelComponentRevision], held: len(traces(o)) > 0, controller: controllerOf(o),
	}
	var template *corev1.PodTemplateSpec
	switch o := o.(type) {
	case *appsv1.Deployment:
		template, w.replicas, w.paused = &o.Spec.Template, int(ptr.Deref(o.Spec.Replicas, 1)), o.Spec.Paused
		w.available, w.seen = int(o.Status.AvailableReplicas), o.Status.ObservedGeneration == o.Generation
	case *kruisev1alpha1.CloneSet:
		template, w.replicas, w.paused = &o.Spec.Template, int(ptr.Deref(o.Spec.Replicas, 1)), o.Spec.UpdateStrategy.Paused
		if p := o.Spec.UpdateStrategy.Partition; p != nil {
			w.kept, w.partition = world.Share(p, w.replicas, true, 0), true
		}
		st := &o.Status
		w.available, w.seen = int(st.AvailableReplicas), st.ObservedGeneration == o.Generation
		w.updated, w.updatedAvailable = int(st.UpdatedReplicas), int(st.UpdatedAvailableReplicas)
	default:
		panic(fmt.Sprintf("%T is no workload", o))
	}
	w.app = world.ReleaseOf(template.Labels, &template.Spec).App
	return w
}

// allowed is how many pods may be on the template.
func (w workload) allowed() int {
	if w.paused {
		return 0
	}
	return max(0, w.replicas-w.kept)
}

// isInPlace tells whether the workload holds two versions.
func (w workload) isInPlace() bool {
	_, is := w.object.(*kruisev1alpha1.CloneSet)
	return is
}

// workloads are all of them, by kind and name.
func workloads(w *world.World) []workload {
	var all []workload
	for _, stored := range []api.Kind{api.CloneSets, api.Deployments} {
		for _, o := range w.Server.List(stored) {
			all = append(all, workloadOf(o))
		}
	}
	return all
}

// of are those of a component.
func of(w *world.World, component string) []workload {
	return slices.DeleteFunc(workloads(w), func(o workload) bool { return o.component != component })
}

// controllerOf is who controls an object; empty for nobody.
func controllerOf(o client.Object) string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.Kind
	}
	return ""
}

// traces are what a rollout has put on an object.
func traces(o client.Object) []string {
	var found []string
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == oamv1beta1.AppRolloutKind {
			found = append(found, "an owner reference to "+ref.Name)
		}
	}
	if o.GetLabels()[rolloutv1alpha1.LabelHeld] != "" {
		found = append(found, "the label "+rolloutv1alpha1.LabelHeld)
	}
	if o.GetAnnotations()[rolloutv1alpha1.AnnotationHeld] != "" {
		found = append(found, "the annotation "+rolloutv1alpha1.AnnotationHeld)
	}
	return found
}

// summary tells all workloads with their pods.
func summary(w *world.World) string {
	var parts []string
	for _, one := range workloads(w) {
		parts = append(parts, one.object.GetName()+": "+w.TallyOf(w.PodsOf(one.object)).String())
	}
	return strings.Join(parts, "; ")
}

// bounds tell what an autoscaler scales, and between which sizes.
func bounds(o *autoscalingv2.HorizontalPodAutoscaler) string {
	return fmt.Sprintf("%s from %d to %d", o.Spec.ScaleTargetRef.Name, ptr.Deref(o.Spec.MinReplicas, 1), o.Spec.MaxReplicas)
}
