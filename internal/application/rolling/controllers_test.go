// SPDX-License-Identifier: Apache-2.0

package rolling_test

import (
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// release is what the controllers of the workloads do: at once all that they may.
func (w *world) release() {
	w.t.Helper()
	sets, deployments := &kruisev1alpha1.CloneSetList{}, &appsv1.DeploymentList{}
	for _, list := range []client.ObjectList{sets, deployments} {
		if err := w.List(w.t.Context(), list); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range sets.Items {
		w.updateSet(&sets.Items[i])
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		n := ptr.Deref(d.Spec.Replicas, 1)
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n, UpdatedReplicas: n}
		if err := w.Status().Update(w.t.Context(), d); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) updateSet(s *kruisev1alpha1.CloneSet) {
	w.t.Helper()
	image, replicas := s.Spec.Template.Spec.Containers[0].Image, int(ptr.Deref(s.Spec.Replicas, 1))
	stay := 0
	if p := s.Spec.UpdateStrategy.Partition; p != nil {
		stay = p.IntValue()
	}
	pods := w.pods[s.Name]
	for len(pods) < replicas {
		pods = append(pods, image)
	}
	pods = pods[:replicas]
	for i := stay; i < replicas && !s.Spec.UpdateStrategy.Paused; i++ {
		pods[i] = image
	}
	w.pods[s.Name] = pods
	updated := int32(0)
	for _, of := range pods {
		if of == image {
			updated++
		}
	}
	newest := revisionName(s.Name, image)
	n := int32(replicas)
	s.Status = kruisev1alpha1.CloneSetStatus{
		ObservedGeneration: s.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n, UpdatedReplicas: updated, UpdatedReadyReplicas: updated, UpdatedAvailableReplicas: updated,
		UpdateRevision: newest, CurrentRevision: s.Status.CurrentRevision,
	}
	if updated == n || s.Status.CurrentRevision == "" {
		s.Status.CurrentRevision = newest
	}
	if err := w.Status().Update(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.record(s, newest)
}

func revisionName(name, image string) string { return name + "-" + strings.ReplaceAll(image, ":", "") }

// record keeps the template as a revision of the workload.
func (w *world) record(s *kruisev1alpha1.CloneSet, name string) {
	w.t.Helper()
	template, err := json.Marshal(s.Spec.Template)
	if err != nil {
		w.t.Fatal(err)
	}
	stored := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, kruisev1alpha1.GroupVersion.WithKind("CloneSet"))}},
		Data:       runtime.RawExtension{Raw: fmt.Appendf(nil, `{"spec":{"template":%s}}`, template)}, Revision: 1,
	}
	if err := w.Create(w.t.Context(), stored); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
}
