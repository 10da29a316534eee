// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
)

func referring(name string, references ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: builders.Namespace, Name: name, OwnerReferences: references}
}

func TestPodsWakeTheSetThatControlsThemOrCouldAdoptThem(t *testing.T) {
	ours := metav1.OwnerReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "StatefulSet", Name: "shop", Controller: ptr.To(true)}
	theirs := metav1.OwnerReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "StatefulSet", Name: "web", Controller: ptr.To(true)}
	for sentence, c := range map[string]struct {
		pod  metav1.ObjectMeta
		want string
	}{
		"a pod of a set, whatever its name is":           {referring("odd", ours), "shop"},
		"a pod without a controller, by its name":        {referring("my-web-12"), "my-web"},
		"a pod without a controller and without ordinal": {referring("web-x"), ""},
		"a pod of the built-in kind":                     {referring("web-0", theirs), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			for _, r := range podRequests(t.Context(), &corev1.Pod{ObjectMeta: c.pod}) {
				got = append(got, r.Name)
			}
			if strings.Join(got, " ") != c.want || concernsASet(&corev1.Pod{ObjectMeta: c.pod}) != (c.want != "") {
				t.Errorf("wakes %q, want %q", got, c.want)
			}
		})
	}
}

func TestClaimsWakeTheSetsThatTheyAreFor(t *testing.T) {
	server := api.New(clocktesting.NewFakePassiveClock(builders.Epoch()))
	for _, name := range []string{"web", "my-web", "shop"} {
		if _, err := server.Create("user", builders.StatefulSet(name).Build()); err != nil {
			t.Fatal(err)
		}
	}
	r := &Reconciler{Dependencies: Dependencies{Cache: api.NewCache(server, nil, nil)}}
	resized := referring("odd")
	resized.Annotations = map[string]string{kruisev1beta1.AnnotationOwnedByStatefulSet: "shop"}
	for sentence, c := range map[string]struct {
		claim metav1.ObjectMeta
		want  string
	}{
		"by the name":                               {referring("data-web-0"), "web"},
		"a name that could be that of two":          {referring("data-my-web-0"), "my-web web"},
		"by the annotation of a resize":             {resized, "shop"},
		"by an owner":                               {referring("odd", metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "StatefulSet", Name: "shop"}), "shop"},
		"a set that is not there":                   {referring("data-db-0"), ""},
		"a claim that is no pod's":                  {referring("data-web"), ""},
		"a template is not a set":                   {referring("web-0"), ""},
		"a set of the built-in kind owns the claim": {referring("odd", metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "shop"}), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			for _, request := range r.claimRequests(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: c.claim}) {
				got = append(got, request.Name)
			}
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("wakes %q, want %q", got, c.want)
			}
		})
	}
}

func TestAStorageClassWakesTheSetsWhoseClaimsGrow(t *testing.T) {
	server := api.New(clocktesting.NewFakePassiveClock(builders.Epoch()))
	grows := builders.StatefulSet("grows").With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.VolumeClaimUpdateStrategy.Type = kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
	})
	for _, set := range []*builders.StatefulSetBuilder{grows, builders.StatefulSet("stays")} {
		if _, err := server.Create("user", set.Build()); err != nil {
			t.Fatal(err)
		}
	}
	r := &Reconciler{Dependencies: Dependencies{Cache: api.NewCache(server, nil, nil)}}
	requests := r.classRequests(t.Context(), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}})
	if len(requests) != 1 || requests[0].Name != "grows" || requests[0].Namespace != builders.Namespace {
		t.Errorf("wakes %v, want grows", requests)
	}
}
