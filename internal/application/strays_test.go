// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
