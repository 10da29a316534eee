// SPDX-License-Identifier: Apache-2.0

package cloneset_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/integration/plane"
)

// Only a real server keeps a record of who set which field.
func TestAReleaseInPlaceLeavesFieldsToWhoAppliesThem(t *testing.T) {
	ns := namespace(t)
	set := create(t, ns, builders.CloneSet("web").Replicas(2).InPlace())
	released := func(image string) []corev1.Pod {
		t.Helper()
		plane.Until(t, "two updated and available pods", func() (bool, any) {
			work(t, ns)
			now := get(t, ns, "web")
			return now.Status.ObservedGeneration == now.Generation && now.Status.UpdatedAvailableReplicas == 2, now.Status
		})
		pods := podsOf(t, ns)
		for i := range pods {
			if got := pods[i].Spec.Containers[0].Image; got != image {
				t.Fatalf("pod %s runs %s, want %s", pods[i].Name, got, image)
			}
		}
		return pods
	}
	pods := released(set.Spec.Template.Spec.Containers[0].Image)
	note := func(pod string, annotations map[string]string) {
		t.Helper()
		applied := corev1ac.Pod(pod, ns).WithAnnotations(annotations)
		if err := live.Apply(t.Context(), applied, client.FieldOwner("somebody"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	note(pods[0].Name, map[string]string{"example.com/kept": "a", "example.com/taken-back": "b"})

	editSet(t, ns, func(set *kruisev1alpha1.CloneSet) {
		set.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2"
	})
	released("registry.test/app:v2")

	// Who applies still owns: what is no longer applied goes.
	note(pods[0].Name, map[string]string{"example.com/kept": "a"})
	for _, p := range podsOf(t, ns) {
		if p.Name != pods[0].Name {
			if len(p.ManagedFields) > 0 {
				t.Errorf("pod %s has the field managers %s, want none", p.Name, managers(p.ManagedFields))
			}
			continue
		}
		if _, there := p.Annotations["example.com/taken-back"]; there || p.Annotations["example.com/kept"] != "a" {
			t.Errorf("pod %s has the annotations %v after an apply without example.com/taken-back", p.Name, p.Annotations)
		}
	}

	// And who begins to apply later meets what the others have set as a conflict, and not as his own.
	late := corev1ac.Pod(pods[1].Name, ns).WithSpec(corev1ac.PodSpec().WithContainers(
		corev1ac.Container().WithName(builders.Container).WithImage("registry.test/app:v9")))
	if err := live.Apply(t.Context(), late, client.FieldOwner("somebody")); err == nil {
		t.Error("the image of a pod was taken over by an apply without force")
	}
}

func managers(entries []metav1.ManagedFieldsEntry) string {
	var names []string
	for _, e := range entries {
		names = append(names, fmt.Sprint(e.Manager, " by ", e.Operation))
	}
	return fmt.Sprint(names)
}
