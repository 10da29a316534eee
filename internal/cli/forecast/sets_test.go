// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/golden"
)

// scene is one golden text: an object that lives or is new, and the change that a manifest makes.
type scene[T client.Object] struct {
	live T
	// isNew: there is no live object yet.
	isNew bool
	edit  func(T)
}

// recorded is the one revision of an object.
func recorded(t *testing.T, k Kind, o client.Object) *appsv1.ControllerRevision {
	t.Helper()
	stored, err := revision.Draft{Owner: o, Reference: *metav1.NewControllerRef(o, k.GVK), Template: k.Template(o), Number: 1}.Object()
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// play writes the golden texts of a kind. Live makes what there is of an object and its one revision.
func play[T client.Object](t *testing.T, k Kind, prefix string, live func(T, *appsv1.ControllerRevision) []*corev1.Pod, scenes map[string]scene[T]) {
	t.Helper()
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) {
			var l Live
			if !s.isNew {
				stored := recorded(t, k, s.live)
				s.live.SetResourceVersion("1")
				l = Live{Object: s.live, Objects: story.Objects{Pods: live(s.live, stored), Revisions: []*appsv1.ControllerRevision{stored}}}
			}
			wanted := s.live.DeepCopyObject().(T)
			if s.edit != nil {
				s.edit(wanted)
			}
			f, err := New("web.yaml", k, l, wanted, builders.Epoch().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			golden.Lines(t, prefix+"-"+name+".txt", f.Lines(false))
			if quiet := name == "nothing"; f.Invalid == "" && quiet == f.ChangesAnything() {
				t.Errorf("changes anything: %v", f.ChangesAnything())
			}
		})
	}
}

func newImage(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "registry.test/app:v2" }
func newVariable(t *corev1.PodTemplateSpec) {
	t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: "new"}}
}

func TestStatefulSets(t *testing.T) {
	type set = *kruisev1beta1.StatefulSet
	ordered := func() *builders.StatefulSetBuilder { return builders.StatefulSet("web").Replicas(4).InPlace() }
	parallel := func() *builders.StatefulSetBuilder {
		return builders.StatefulSet("web").Replicas(6).InPlace().Parallel().MaxUnavailable("2")
	}
	image := func(s set) { newImage(&s.Spec.Template) }
	play(t, statefulSets(), "statefulset", func(s set, stored *appsv1.ControllerRevision) (pods []*corev1.Pod) {
		s.Status.CurrentRevision, s.Status.UpdateRevision = stored.Name, stored.Name
		for i := range *s.Spec.Replicas {
			pods = append(pods, builders.MemberPod(s, int(i), stored.Name).
				Condition("InPlaceUpdateReady", corev1.ConditionTrue, "", builders.Epoch()).Build())
		}
		return pods
	}, map[string]scene[set]{
		"nothing":         {live: ordered().Build()},
		"new":             {live: ordered().Replicas(3).Claim("data", "1Gi").Build(), isNew: true},
		"in-place":        {live: ordered().Build(), edit: image},
		"parallel":        {live: parallel().Build(), edit: image},
		"partition":       {live: parallel().Partition(4).Build(), edit: image},
		"paused":          {live: parallel().Build(), edit: func(s set) { image(s); s.Spec.UpdateStrategy.RollingUpdate.Paused = true }},
		"scale-up":        {live: ordered().Build(), edit: func(s set) { *s.Spec.Replicas = 6 }},
		"scale-down":      {live: ordered().Build(), edit: func(s set) { *s.Spec.Replicas = 1 }},
		"recreate":        {live: ordered().Build(), edit: func(s set) { image(s); newVariable(&s.Spec.Template) }},
		"recreate-policy": {live: builders.StatefulSet("web").Replicas(2).Build(), edit: image},
		"on-delete": {live: ordered().Build(), edit: func(s set) {
			image(s)
			s.Spec.UpdateStrategy.Type = kruisev1beta1.OnDeleteStatefulSetStrategyType
		}},
		"in-place-only": {live: ordered().Build(), edit: func(s set) {
			newVariable(&s.Spec.Template)
			s.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = kruisev1beta1.InPlaceOnlyPodUpdateStrategyType
		}},
		"invalid": {live: ordered().Build(), edit: func(s set) { s.Spec.Selector = &metav1.LabelSelector{} }},
	})
}

func TestInPlaceSets(t *testing.T) {
	type set = *cafev1alpha1.InPlaceSet
	plain := func() *builders.InPlaceSetBuilder { return builders.InPlaceSet("web").Replicas(5).MaxUnavailable("2") }
	image := func(s set) { newImage(&s.Spec.Template) }
	play(t, inPlaceSets(), "inplaceset", func(s set, stored *appsv1.ControllerRevision) (pods []*corev1.Pod) {
		s.Status.CurrentRevision, s.Status.UpdateRevision = stored.Name, stored.Name
		for i := range *s.Spec.Replicas {
			p := builders.InPlacePod(s, fmt.Sprintf("p%02d", i), revision.HashOf(stored.Name))
			if s.Annotations != nil {
				p.RoutedBy("dns")
			}
			pods = append(pods, p.Build())
		}
		return pods
	}, map[string]scene[set]{
		"nothing":    {live: plain().Build()},
		"new":        {live: plain().Build(), isNew: true},
		"in-place":   {live: plain().Build(), edit: image},
		"traffic":    {live: plain().Replicas(2).MaxUnavailable("1").Traffic("dns").Build(), edit: image},
		"partition":  {live: plain().Partition("3").Build(), edit: image},
		"recreate":   {live: plain().Replicas(3).Build(), edit: func(s set) { newVariable(&s.Spec.Template) }},
		"scale-up":   {live: plain().Build(), edit: func(s set) { *s.Spec.Replicas = 7 }},
		"scale-down": {live: plain().Build(), edit: func(s set) { *s.Spec.Replicas = 2 }},
		"invalid": {live: plain().Build(), edit: func(s set) {
			s.Annotations = map[string]string{cafev1alpha1.AnnotationTrafficComponents: "a b"}
		}},
	})
}
