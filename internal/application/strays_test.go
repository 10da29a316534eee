// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// stray is an object that a manager has applied and died before it could say so.
func stray(owner *oamv1beta1.Application, revision string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "web", Name: "stray", Labels: map[string]string{oamv1beta1.LabelAppName: owner.Name, oamv1beta1.LabelAppRevision: revision},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: owner.Name, UID: owner.UID, Controller: ptr.To(true),
		}},
	}}
}

func TestWhatNoStatusHasIsTakenAway(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one"))
	w.settle()
	if err := w.Create(t.Context(), stray(w.app(), "shop-v1")); err != nil {
		t.Fatal(err)
	}
	w.edit(image("a:2"))
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "stray"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is left: %v", err)
	}
	get(w, &corev1.ConfigMap{}, "cart")
}

// A template of rollouts takes nothing away: whoever rolls out has what it has.
func TestWhatNoStatusHasKeepsItsRevision(t *testing.T) {
	w := newWorld(t, 1, app("a:1", "one", template))
	w.settle()
	if err := w.Create(t.Context(), stray(w.app(), "shop-v1")); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"a:2", "a:3", "a:4"} {
		w.edit(image(of))
	}
	get(w, &corev1.ConfigMap{}, "stray")
	get(w, &oamv1beta1.ApplicationRevision{}, "shop-v1")
}

// A manager that has just started can see an application as it was before its status said anything.
func TestWhatAnEmptyStatusDoesNotHaveKeepsItsRevision(t *testing.T) {
	for sentence, kept := range map[string]func(*oamv1beta1.Application) client.Object{
		"an object that no component has": func(a *oamv1beta1.Application) client.Object { return stray(a, "shop-v1") },
		"the workload of a component": func(a *oamv1beta1.Application) client.Object {
			set := &kruisev1alpha1.CloneSet{ObjectMeta: stray(a, "shop-v1").ObjectMeta}
			set.Labels[oamv1beta1.LabelComponent] = "cart"
			return set
		},
		"another object of a component": func(a *oamv1beta1.Application) client.Object {
			config := stray(a, "shop-v1")
			config.Name = "cart"
			return config
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 1, app("a:1", "one", template))
			w.settle()
			if err := w.Create(t.Context(), kept(w.app())); err != nil {
				t.Fatal(err)
			}
			for _, of := range []string{"a:2", "a:3"} {
				w.edit(image(of))
			}
			old := w.app()
			old.Status = oamv1beta1.ApplicationStatus{}
			if err := w.Status().Update(t.Context(), old); err != nil {
				t.Fatal(err)
			}
			w.edit(image("a:4"))
			get(w, &oamv1beta1.ApplicationRevision{}, "shop-v1")
		})
	}
}
