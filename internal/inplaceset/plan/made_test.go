// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/internal/step"
)

func TestHistoryKeepsTenVersionsByDefault(t *testing.T) {
	for limit, want := range map[*int32]int{nil: 10, ptr.To[int32](3): 3, ptr.To[int32](0): 0} {
		s := sceneOf(web(1).With(func(s *cafev1alpha1.InPlaceSet) { s.Spec.RevisionHistoryLimit = limit }), v1)
		for n := range 14 {
			s.live(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = fmt.Sprint("registry.test/app:next-", n) })
		}
		s.pod("a", 14)
		forgotten := 0
		for _, some := range plan.Next(s.world, now).Steps {
			if _, is := some.(step.ForgetRevision); is {
				forgotten++
			}
		}
		if kept := 15 - 2 - forgotten; kept != want { // the current and the update revision are always kept
			t.Errorf("%d versions are kept that nothing uses, want %d", kept, want)
		}
	}
}

func TestEveryPodHasTheGate(t *testing.T) {
	created, is := plan.Next(sceneOf(web(1), v1).world, now).Steps[0].(step.CreatePod)
	if !is || len(created.Pod.Spec.ReadinessGates) != 1 || created.Pod.Spec.ReadinessGates[0].ConditionType != cafev1alpha1.ConditionInPlaceUpdateReady {
		t.Errorf("got %+v, want a pod with the gate though nobody routes to it", created.Pod.Spec.ReadinessGates)
	}
}

func TestNewPodsAreInTheirSet(t *testing.T) {
	s := sceneOf(routed(1, "lb"), v1)
	got := plan.Next(s.world, now)
	created, is := got.Steps[0].(step.CreatePod)
	if !is {
		t.Fatalf("got %v, want a creation", told(got))
	}
	if !metav1.IsControlledBy(created.Pod, s.set) || created.Pod.Labels[kruisev1alpha1.LabelLifecycleState] != string(preparingNormal) {
		t.Errorf("owners %v, state %q", created.Pod.OwnerReferences, created.Pod.Labels[kruisev1alpha1.LabelLifecycleState])
	}
	want := []corev1.PodReadinessGate{{ConditionType: cafev1alpha1.ConditionInPlaceUpdateReady}}
	if diff := cmp.Diff(want, created.Pod.Spec.ReadinessGates); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
	s.world.Taken = map[string]bool{created.Pod.Name: true}
	if again := plan.Next(s.world, now).Steps[0].Subject(); again == created.Pod.Name {
		t.Errorf("the pod is to be called %s again, which is another's name", again)
	}
}
