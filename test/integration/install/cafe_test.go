// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/podset"
)

// cafeDeployments have sets of every kind made, changed and deleted.
func (w *work) cafeDeployments(t *testing.T, app string, kinds ...cafev1alpha1.PodSetType) {
	t.Helper()
	var all []*cafev1alpha1.CafeDeployment
	for _, kind := range kinds {
		labels := map[string]string{"app": app + "-" + strings.ToLower(string(kind))}
		d := &cafev1alpha1.CafeDeployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: labels["app"]},
			Spec: cafev1alpha1.CafeDeploymentSpec{
				Replicas: ptr.To[int32](2), PodSetType: kind, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{NodeName: playedHere, Containers: []corev1.Container{{Name: "app", Image: "registry.test/app:v1"}}},
				},
				Strategy: cafev1alpha1.CafeDeploymentStrategy{BatchSize: ptr.To[int32](1), NeedWaitingForConfirm: true},
				Topology: cafev1alpha1.Topology{Values: []string{"cell-a", "cell-b"}},
			},
		}
		w.create(t, d)
		all = append(all, d)
	}
	settled := func(what string, image string, units ...string) {
		t.Helper()
		for _, d := range all {
			eventually(t, fmt.Sprintf("%s: %s", d.Name, what), func() error { return w.hasUnits(t, d, image, units) })
		}
	}
	settled("a set for each unit", "registry.test/app:v1", "cell-a", "cell-b")
	for _, d := range all {
		edited(t, w.c, d, func(d *cafev1alpha1.CafeDeployment) {
			d.Spec.Template.Spec.Containers[0].Image, d.Spec.Topology.Values = "registry.test/app:v2", []string{"cell-a"}
		})
	}
	settled("one unit, of the new template", "registry.test/app:v2", "cell-a")
}

// hasUnits returns an error until a deployment has sets of just these units, all with the image.
func (w *work) hasUnits(t *testing.T, d *cafev1alpha1.CafeDeployment, image string, units []string) error {
	t.Helper()
	kind, err := podset.Of(d.Spec.PodSetType)
	if err != nil {
		return err
	}
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		return err
	}
	if d.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed] == "false" {
		d.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed] = "true"
		if err := w.c.Update(t.Context(), d); err != nil {
			return err
		}
	}
	ready := w.play(t, d.Name, 2)
	if kind := d.Spec.PodSetType; kind == cafev1alpha1.ReplicaSetPodSetType || kind == cafev1alpha1.StatefulSetPodSetType {
		ready = nil // who makes their pods does not run here
	}
	list := kind.List()
	if err := w.c.List(t.Context(), list, client.InNamespace(place), client.MatchingLabels{cafev1alpha1.LabelCafeDeployment: d.Name}); err != nil {
		return err
	}
	items, err := apimeta.ExtractList(list)
	if err != nil {
		return err
	}
	var found []string
	for _, item := range items {
		set := item.(client.Object)
		if err := w.observe(t, set); err != nil {
			return err
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
		if err != nil {
			return err
		}
		containers, _, err := unstructured.NestedSlice(fields, "spec", "template", "spec", "containers")
		if err != nil {
			return err
		}
		found = append(found, fmt.Sprint(set.GetLabels()[cafev1alpha1.LabelUnit], " ", containers[0].(map[string]any)["image"]))
	}
	var wanted []string
	for _, unit := range units {
		wanted = append(wanted, unit+" "+image)
	}
	if slices.Sort(found); !slices.Equal(found, wanted) {
		return fmt.Errorf("there are the units %q, want %q; the status is %+v", found, wanted, d.Status)
	}
	return ready
}

// observe reports what Kubernetes' own controllers would, which do not run here.
func (w *work) observe(t *testing.T, set client.Object) error {
	t.Helper()
	switch s := set.(type) {
	case *appsv1.ReplicaSet:
		n := *s.Spec.Replicas
		s.Status = appsv1.ReplicaSetStatus{ObservedGeneration: s.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n}
	case *appsv1.StatefulSet:
		n, held := *s.Spec.Replicas, int32(0)
		if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
			held = min(n, ptr.Deref(rolling.Partition, 0))
		}
		s.Status = appsv1.StatefulSetStatus{
			ObservedGeneration: s.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n, UpdatedReplicas: n - held, UpdateRevision: "new",
		}
	default:
		return nil
	}
	return w.c.Status().Update(t.Context(), set)
}
