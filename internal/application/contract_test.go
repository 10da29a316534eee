// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/apply"
)

func TestEverythingThatIsAppliedSaysWhoseItIsAndWhoSaysSo(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one"))
	managers := map[string]bool{}
	d := w.r.Dependencies
	d.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			asked := &client.ApplyOptions{}
			asked.ApplyOptions(options)
			managers[asked.FieldManager] = true
			return c.Apply(ctx, o, options...)
		},
	})
	w.r = New(d)
	w.settle()
	labels := map[string]string{
		oamv1beta1.LabelAppName: "shop", oamv1beta1.LabelComponent: "cart",
		oamv1beta1.LabelAppRevision: "shop-v1", oamv1beta1.LabelComponentRevision: "cart-v1",
	}
	for o, more := range map[client.Object]map[string]string{
		get(w, &kruisev1alpha1.CloneSet{}, "cart"): {oamv1beta1.LabelWorkloadType: "set"},
		get(w, &corev1.ConfigMap{}, "cart"):        {oamv1beta1.LabelTraitType: "config", oamv1beta1.LabelTraitResource: "config"},
	} {
		want := map[string]string{}
		for _, all := range []map[string]string{labels, more} {
			for name, value := range all {
				want[name] = value
			}
		}
		if diff := cmp.Diff(want, o.GetLabels()); diff != "" {
			t.Errorf("labels of %T (-want +got):\n%s", o, diff)
		}
		if !metav1.IsControlledBy(o, w.app()) {
			t.Errorf("%T has the owners %v", o, o.GetOwnerReferences())
		}
	}
	if diff := cmp.Diff(map[string]bool{"slipway": true}, managers); diff != "" || apply.FieldManager != "slipway" {
		t.Errorf("field managers (-want +got):\n%s", diff)
	}
	for _, o := range []client.Object{get(w, &oamv1beta1.ApplicationRevision{}, "shop-v1"), get(w, &appsv1.ControllerRevision{}, "cart-v1")} {
		if !metav1.IsControlledBy(o, w.app()) || o.GetLabels()[oamv1beta1.LabelAppName] != "shop" {
			t.Errorf("%T has the labels %v and the owners %v", o, o.GetLabels(), o.GetOwnerReferences())
		}
	}
}

func TestDefinitionsOfANamespaceComeBeforeThoseForAll(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one"))
	w.settle()
	own := &oamv1beta1.TraitDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "config"}}
	own.Spec.Schematic.CUE.Template = "outputs: config: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: context.name, data: own: parameter.text}\nparameter: text: string\n"
	said := func(key, want string) {
		t.Helper()
		w.settle()
		if got := get(w, &corev1.ConfigMap{}, "cart").Data; got[key] != want || len(got) != 1 {
			t.Errorf("it says %v", got)
		}
	}
	said("text", "one")
	other := own.DeepCopy()
	other.Namespace = "elsewhere"
	for _, d := range []*oamv1beta1.TraitDefinition{other, own} {
		if err := w.Create(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	said("own", "one")
	if err := w.Delete(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	said("text", "one") // that for all counts again

	t.Run("what runs stays when a definition is gone", func(t *testing.T) {
		d := &oamv1beta1.TraitDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "config"}}
		if err := w.Delete(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		said("text", "one")
		if got := w.condition(oamv1beta1.ConditionParsed); got.Status != metav1.ConditionFalse {
			t.Errorf("it says %s: %s", got.Status, got.Message)
		}
	})
}

func TestARevisionThatAnAppRolloutUsesStays(t *testing.T) {
	r := &oamv1beta1.AppRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "by-hand"}}
	r.Spec.TargetAppRevisionName, r.Spec.SourceAppRevisionName = "shop-v2", "shop-v1"
	w := newWorld(t, 1, app("a:1", "", template), r)
	w.settle()
	for n := 2; n <= 6; n++ {
		w.edit(image(fmt.Sprintf("a:%d", n)))
	}
	w.edit(inBatches) // and one look more
	if diff := cmp.Diff([]string{"shop-v1 cart-v1", "shop-v2 cart-v2", "shop-v5 cart-v5", "shop-v6 cart-v6"}, w.revisions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	list := &appsv1.ControllerRevisionList{}
	if err := w.List(t.Context(), list, client.InNamespace("web")); err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	for i := range list.Items {
		kept[list.Items[i].Name] = true
	}
	if !kept["cart-v1"] || !kept["cart-v2"] || kept["cart-v3"] {
		t.Errorf("the component revisions %v are there", kept)
	}
}
