// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/api/applies"
)

// The same requests are played on a real API server in test/integration/apply.
func TestWhatIsAppliedHasOwners(t *testing.T) {
	for sentence, story := range applies.Stories() {
		t.Run(sentence, func(t *testing.T) {
			s := newServer()
			story.Play(t, func(actor string) client.Client { return s.Client(actor) })
		})
	}
}

func TestAnApplicationWithoutChangeIsNoWrite(t *testing.T) {
	s := newServer()
	apply := func() {
		if _, err := s.Apply("manager", "slipway", applies.Deployment("app:v1", 3), true); err != nil {
			t.Fatal(err)
		}
	}
	apply()
	writes := len(s.Log())
	apply()
	if got := len(s.Log()); got != writes {
		t.Errorf("there are %d writes more", got-writes)
	}
}

func TestWhatWasNeverAppliedHasNoOwners(t *testing.T) {
	s := newServer()
	set := mustCreate(t, s, &kruisev1alpha1.CloneSet{Spec: kruisev1alpha1.CloneSetSpec{Replicas: ptr.To[int32](1)}, ObjectMeta: podNamed("web").ObjectMeta})
	after, err := s.Modify("user", api.CloneSets, key(set), api.Main, func(o client.Object) { o.(*kruisev1alpha1.CloneSet).Spec.Replicas = ptr.To[int32](2) })
	if err != nil || len(after.GetManagedFields()) > 0 {
		t.Errorf("error %v, owners %v", err, after.GetManagedFields())
	}
}

func TestAnUnstructuredListIsRead(t *testing.T) {
	s := newServer()
	if _, err := s.Apply("manager", "slipway", applies.Deployment("app:v1", 3), true); err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err := s.Client("test").List(t.Context(), list, client.InNamespace("default")); err != nil || len(list.Items) != 1 || list.Items[0].GetKind() != "Deployment" {
		t.Errorf("error %v, items %v", err, list.Items)
	}
	if err := s.Client("test").Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "other"}, &list.Items[0]); !apierrors.IsNotFound(err) {
		t.Errorf("error %v", err)
	}
}
