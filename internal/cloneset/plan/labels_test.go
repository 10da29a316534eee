// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

func TestThePodTemplateHashIsThatOfThePodsOwnRevision(t *testing.T) {
	s := sceneOf(inPlace(2).Partition("1"), v1, v2)
	for i, id := range []string{"a", "b"} {
		s.pod(id, i, with(func(p *corev1.Pod) { delete(p.Labels, kruisev1alpha1.LabelPodTemplateHash) }))
	}
	for i, each := range plan.Next(s.world, now).Steps {
		patch := each.(step.PatchPod).Patch
		if diff := cmp.Diff(map[string]*string{kruisev1alpha1.LabelPodTemplateHash: &s.world.Revisions[i].Hash}, patch.Labels); diff != "" || patch.Annotations != nil {
			t.Errorf("%s: annotations %v, labels (-want +got):\n%s", each.Subject(), patch.Annotations, diff)
		}
	}
}

// Dashboards show since when a pod is in its state.
func TestEveryStateIsStampedWithItsTime(t *testing.T) {
	const want = "2026-01-01T01:00:00Z"
	if got := now.Format(time.RFC3339); got != want {
		t.Fatalf("the tests of this package now run at %s", got)
	}
	elsewhere := now.In(time.FixedZone("elsewhere", 7200)).Add(time.Millisecond)
	created := plan.Next(sceneOf(inPlace(1), v1).world, elsewhere).Steps[0].(step.CreatePod).Pod
	if got := created.Annotations[kruisev1alpha1.AnnotationLifecycleTimestamp]; got != want {
		t.Errorf("a new pod has the time %q, want %s", got, want)
	}
	for sentence, s := range map[string]*scene{
		"held before its update":   sceneOf(hooked(1), v1, v2).pod("a", 0, holding("update")),
		"held before its deletion": sceneOf(hooked(0), v1).pod("a", 0, holding("delete")),
		"updated":                  sceneOf(hooked(1), v1).pod("a", 0, state(updating)),
		"normal":                   sceneOf(hooked(1), v1).pod("a", 0, state(updated), holding("update!")),
		"wanted again":             sceneOf(hooked(1), v1).pod("a", 0, state(preparingDelete), holding("delete")),
		"being updated":            sceneOf(hooked(1), v1, v2).pod("a", 0),
	} {
		var patch step.Patch
		switch first := plan.Next(s.world, elsewhere).Steps[0].(type) {
		case step.PatchPod:
			patch = first.Patch
		case step.UpdateInPlace:
			patch = first.Patch
		}
		if got := patch.Annotations[kruisev1alpha1.AnnotationLifecycleTimestamp]; patch.Labels[kruisev1alpha1.LabelLifecycleState] == nil || got == nil || *got != want {
			t.Errorf("%s: the patch is %+v, want the time %s", sentence, patch, want)
		}
	}
}

// Nothing is put on a pod but what the template has and what the API says about pods, for every type of update.
func TestANewPodIsItsTemplateAndSaysWhereItBelongs(t *testing.T) {
	for _, kind := range []kruisev1alpha1.CloneSetUpdateStrategyType{"", kruisev1alpha1.ReCreateCloneSetUpdateStrategyType, kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType} {
		s := sceneOf(inPlace(1).Type(kind).With(func(s *kruisev1alpha1.CloneSet) {
			template := &s.Spec.Template
			template.Annotations, template.Finalizers = map[string]string{"note": "x"}, []string{"example.com/drain"}
			template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/balanced"}}
			s.Annotations = map[string]string{"of": "the set only"}
		}), v1)
		created := plan.Next(s.world, now).Steps[0].(step.CreatePod).Pod
		r, id := s.world.Revisions[0], created.Name[len("web-"):]
		want := metav1.ObjectMeta{
			Namespace: builders.Namespace, Name: "web-" + id, Finalizers: []string{"example.com/drain"},
			Labels: map[string]string{
				"app": "web", kruisev1alpha1.LabelRevision: r.Name, kruisev1alpha1.LabelPodTemplateHash: r.Hash,
				kruisev1alpha1.LabelInstanceID: id, kruisev1alpha1.LabelLifecycleState: "Normal",
			},
			Annotations: map[string]string{"note": "x", kruisev1alpha1.AnnotationLifecycleTimestamp: "2026-01-01T01:00:00Z"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web", UID: "web-uid", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		}
		if diff := cmp.Diff(want, created.ObjectMeta); diff != "" {
			t.Errorf("%q: metadata (-want +got):\n%s", kind, diff)
		}
		if !regexp.MustCompile("^[bcdfghjklmnpqrstvwxz2456789]{5}$").MatchString(id) {
			t.Errorf("%q: the id is %q", kind, id)
		}
		spec := s.set.Spec.Template.Spec.DeepCopy()
		spec.ReadinessGates = append(spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: "InPlaceUpdateReady"})
		if diff := cmp.Diff(*spec, created.Spec); diff != "" {
			t.Errorf("%q: spec (-want +got):\n%s", kind, diff)
		}
	}
}
