// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

const (
	refusedAlways    = "label policy.kruise.io/delete-protection is Always: remove the label, then delete"
	refusedCascading = "label policy.kruise.io/delete-protection is Cascading and replicas is %d: scale to 0 or remove the label, then delete"
)

func TestDeleteProtection(t *testing.T) {
	c := newClient(t)
	install(t, c)
	waitForCRDs(t, c)
	always, cascading := kruisev1alpha1.DeleteProtectionAlways, kruisev1alpha1.DeleteProtectionCascading
	tests := map[string]struct {
		label    string
		replicas int32
		// refused is the message; empty when the deletion is allowed.
		refused string
	}{
		"a set without the label is not protected":               {replicas: 1},
		"a word that says nothing protects nothing":              {label: "always", replicas: 1},
		"Always protects a set with pods":                        {label: always, replicas: 2, refused: refusedAlways},
		"Always protects a set without pods":                     {label: always, refused: refusedAlways},
		"Cascading protects a set that wants pods":               {label: cascading, replicas: 3, refused: fmt.Sprintf(refusedCascading, 3)},
		"Cascading lets a set go that is to have no pods":        {label: cascading},
		"Cascading protects a set that wants the default of one": {label: cascading, replicas: -1, refused: fmt.Sprintf(refusedCascading, 1)},
	}
	waitForProtection(t, c)
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			ofEachKind(t, func(t *testing.T, fresh kind) {
				set := protected(t, c, fresh, test.label, test.replicas)
				refused(t, "deleting it", c.Delete(t.Context(), set, client.DryRunAll), test.refused)
				all := c.DeleteAllOf(t.Context(), fresh(nil), client.InNamespace(set.GetNamespace()),
					client.MatchingFields{metav1.ObjectNameField: set.GetName()}, client.DryRunAll)
				refused(t, "deleting all", all, test.refused)
			})
		})
	}
}

func TestWhoeverRemovesTheLabelMayDelete(t *testing.T) {
	c := newClient(t)
	install(t, c)
	waitForCRDs(t, c)
	waitForProtection(t, c)
	ofEachKind(t, func(t *testing.T, fresh kind) {
		set := protected(t, c, fresh, kruisev1alpha1.DeleteProtectionAlways, 1)
		edit(t, c, set, func() { set.SetLabels(nil) })
		if err := c.Delete(t.Context(), set); err != nil {
			t.Errorf("without the label it is not deleted: %v", err)
		}
	})
}

// Whatever waits for the end of a set may ask for it again.
func TestADeletionUnderWayIsNotRefusedAgain(t *testing.T) {
	c := newClient(t)
	install(t, c)
	waitForCRDs(t, c)
	waitForProtection(t, c)
	for _, label := range []string{kruisev1alpha1.DeleteProtectionAlways, kruisev1alpha1.DeleteProtectionCascading} {
		t.Run(label, func(t *testing.T) {
			ofEachKind(t, func(t *testing.T, fresh kind) {
				set := protected(t, c, fresh, "", 1)
				edit(t, c, set, func() { set.SetFinalizers([]string{"install.test/hold"}) })
				if err := c.Delete(t.Context(), set); err != nil {
					t.Fatal(err)
				}
				edit(t, c, set, func() { set.SetLabels(map[string]string{kruisev1alpha1.LabelDeleteProtection: label}) })
				refused(t, "deleting it again", c.Delete(t.Context(), set, client.DryRunAll), "")
				edit(t, c, set, func() { set.SetFinalizers(nil) })
			})
		})
	}
}

func TestTheLabelOnOtherKindsMeansNothingToUs(t *testing.T) {
	c := newClient(t)
	install(t, c)
	waitForCRDs(t, c)
	waitForProtection(t, c)
	labels := map[string]string{"app": "native"}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "native", Labels: map[string]string{
			kruisev1alpha1.LabelDeleteProtection: kruisev1alpha1.DeleteProtectionAlways,
		}},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:v1"}}},
			},
		},
	}
	if err := c.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), set); err != nil {
		t.Errorf("a StatefulSet of Kubernetes is not deleted: %v", err)
	}
}

func TestAPolicyThatCannotBeJudgedHoldsNobodyUp(t *testing.T) {
	policies := 0
	for _, object := range manifest(t, "config/install.yaml") {
		switch object.GetKind() {
		case "ValidatingAdmissionPolicy":
			policies++
			if got, _, err := unstructured.NestedString(object.Object, "spec", "failurePolicy"); err != nil || got != "Ignore" {
				t.Errorf("%s: failurePolicy is %q, %v; want Ignore", object.GetName(), got, err)
			}
		case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
			t.Errorf("%s %s needs a running program: nobody may depend on ours", object.GetKind(), object.GetName())
		}
	}
	if policies == 0 {
		t.Error("there is no policy")
	}
}

// kind is a set of some kind; nil replicas are left to the default.
type kind func(replicas *int32) client.Object

func ofEachKind(t *testing.T, try func(*testing.T, kind)) {
	t.Helper()
	template := sample(t).Spec
	for name, fresh := range map[string]kind{
		"CloneSet": func(replicas *int32) client.Object {
			return &kruisev1alpha1.CloneSet{Spec: kruisev1alpha1.CloneSetSpec{Replicas: replicas, Selector: template.Selector, Template: template.Template}}
		},
		"StatefulSet": func(replicas *int32) client.Object {
			return &kruisev1beta1.StatefulSet{Spec: kruisev1beta1.StatefulSetSpec{Replicas: replicas, Selector: template.Selector, Template: template.Template}}
		},
		"InPlaceSet": func(replicas *int32) client.Object {
			return &cafev1alpha1.InPlaceSet{Spec: cafev1alpha1.InPlaceSetSpec{Replicas: replicas, Selector: template.Selector, Template: template.Template}}
		},
		"CafeDeployment": func(replicas *int32) client.Object {
			return &cafev1alpha1.CafeDeployment{Spec: cafev1alpha1.CafeDeploymentSpec{
				Replicas: replicas, Selector: template.Selector, Template: template.Template, Topology: cafev1alpha1.Topology{Values: []string{"cell-a"}},
			}}
		},
	} {
		t.Run(name, func(t *testing.T) { try(t, fresh) })
	}
}

// protected creates a set; replicas below 0 are left to the default. It is removed after the test.
func protected(t *testing.T, c client.Client, fresh kind, label string, replicas int32) client.Object {
	t.Helper()
	set := fresh(nil)
	if replicas >= 0 {
		set = fresh(ptr.To(replicas))
	}
	set.SetNamespace("default")
	set.SetGenerateName("protected-")
	if label != "" {
		set.SetLabels(map[string]string{kruisev1alpha1.LabelDeleteProtection: label})
	}
	if err := c.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		unlabelled := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": null}}`))
		if err := client.IgnoreNotFound(c.Patch(ctx, set, unlabelled)); err != nil {
			t.Errorf("removing the label of %s: %v", set.GetName(), err)
		}
		if err := client.IgnoreNotFound(c.Delete(ctx, set)); err != nil {
			t.Errorf("removing %s: %v", set.GetName(), err)
		}
	})
	return set
}

func refused(t *testing.T, what string, got error, want string) {
	t.Helper()
	switch {
	case want == "" && got != nil:
		t.Errorf("%s is refused: %v", what, got)
	case want != "" && (!apierrors.IsForbidden(got) || !strings.HasSuffix(got.Error(), want)):
		t.Errorf("%s: got %v, want a refusal that ends with %q", what, got, want)
	}
}

// waitForProtection waits until the server follows the policy: it learns of new ones by a watch of its own.
func waitForProtection(t *testing.T, c client.Client) {
	t.Helper()
	ofEachKind(t, func(t *testing.T, fresh kind) {
		set := protected(t, c, fresh, kruisev1alpha1.DeleteProtectionAlways, 0)
		eventually(t, "the server follows the policy", func() error {
			if err := c.Delete(t.Context(), set, client.DryRunAll); !apierrors.IsForbidden(err) {
				return errors.Join(errors.New("a deletion is not refused"), err)
			}
			return nil
		})
	})
}
