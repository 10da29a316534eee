// SPDX-License-Identifier: Apache-2.0

package delivery_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
)

func object(spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "cart"}}}
	if spec != nil {
		o.Object["spec"] = spec
	}
	return o
}

func selecting(labels map[string]any) map[string]any {
	return map[string]any{
		"selector": map[string]any{"matchLabels": runtime.DeepCopyJSON(labels)},
		"template": map[string]any{"metadata": map[string]any{"labels": runtime.DeepCopyJSON(labels)}},
	}
}

func TestWorkloadsLiveApart(t *testing.T) {
	const mark = oamv1beta1.LabelComponentRevision
	for sentence, c := range map[string]struct {
		live     *unstructured.Unstructured
		wantName string
		want     map[string]any
	}{
		"a new one has a name and pods of its own": {nil, "cart-v2", selecting(map[string]any{"app": "cart", mark: "cart-v2"})},
		"one that is there keeps them": {func() *unstructured.Unstructured {
			o := object(selecting(map[string]any{"app": "cart", mark: "cart-v1"}))
			o.SetName("cart-v1")
			return o
		}(), "cart-v1", selecting(map[string]any{"app": "cart", mark: "cart-v1"})},
		"also one that was never apart": {object(selecting(map[string]any{"app": "cart"})), "cart", selecting(map[string]any{"app": "cart"})},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := object(selecting(map[string]any{"app": "cart"}))
			delivery.Apart(o, c.live, "cart-v2")
			if o.GetName() != c.wantName {
				t.Errorf("it is called %s, want %s", o.GetName(), c.wantName)
			}
			if diff := cmp.Diff(any(c.want), o.Object["spec"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatScalesAWorkload(t *testing.T) {
	ref := func(apiVersion, kind, name string) map[string]any {
		return map[string]any{"scaleTargetRef": map[string]any{"apiVersion": apiVersion, "kind": kind, "name": name}, "minReplicas": int64(3)}
	}
	for sentence, c := range map[string]struct {
		spec map[string]any
		want bool
	}{
		"an autoscaler of it":              {ref("apps/v1", "Deployment", "cart"), true},
		"one that leaves the version out":  {ref("", "Deployment", "cart"), true},
		"one of another version":           {ref("apps/v1beta2", "Deployment", "cart"), true},
		"one of another workload":          {ref("apps/v1", "Deployment", "other"), false},
		"one of another kind":              {ref("apps/v1", "StatefulSet", "cart"), false},
		"one of another group":             {ref("test/v1", "Deployment", "cart"), false},
		"what refers to nothing":           {map[string]any{"ports": []any{}}, false},
		"what refers to it in its own way": {map[string]any{"scaleTargetRef": "cart"}, false},
		"what has no spec":                 {nil, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := object(c.spec)
			if got := delivery.Scales(o, object(nil)); got != c.want {
				t.Fatalf("got %v", got)
			}
			if !c.want {
				return
			}
			delivery.PointAt(o, "cart-v2")
			delivery.Rest(o)
			name, _, _ := unstructured.NestedString(o.Object, "spec", "scaleTargetRef", "name")
			least, _, _ := unstructured.NestedInt64(o.Object, "spec", "minReplicas")
			if name != "cart-v2" || least != 1 {
				t.Errorf("it scales %s to at least %d", name, least)
			}
		})
	}
}

func TestAnObjectSaysWhoseItIs(t *testing.T) {
	app := delivery.Application{Namespace: "web", Name: "shop", UID: "u"}
	o := object(selecting(map[string]any{"app": "cart"}))
	o.SetLabels(map[string]string{"mine": "stays"})
	app.Mark(o, "shop-v3", &delivery.Component{Name: "cart", Revision: "cart-v2"})
	want := map[string]string{
		"mine": "stays", oamv1beta1.LabelAppName: "shop", oamv1beta1.LabelComponent: "cart", oamv1beta1.LabelAppRevision: "shop-v3", oamv1beta1.LabelComponentRevision: "cart-v2",
	}
	if diff := cmp.Diff(want, o.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(any(selecting(map[string]any{"app": "cart"})), o.Object["spec"]); diff != "" {
		t.Errorf("its pods would be new ones:\n%s", diff)
	}
	if of := metav1.GetControllerOf(o); of == nil || of.UID != "u" || of.Name != "shop" || !app.Owns(o) || o.GetNamespace() != "web" {
		t.Errorf("it is controlled by %v", of)
	}
	if !delivery.Is(o, "shop-v3") || delivery.Is(o, "shop-v2") || delivery.RevisionOf(o) != "cart-v2" {
		t.Error("it does not say which revision it is of")
	}
	if (delivery.Application{UID: "other"}).Owns(o) {
		t.Error("it is another application's")
	}
}

func TestARevisionIsRead(t *testing.T) {
	raw := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	good := oamv1beta1.ComponentRevision{
		Name: "cart", Revision: "cart-v1", Workload: raw(`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":3}}`),
		Resources: []oamv1beta1.RenderedResource{{Name: "service", Object: *raw(`{"apiVersion":"v1","kind":"Service"}`)}},
	}
	c, has, err := delivery.Find(&oamv1beta1.ApplicationRevision{Spec: oamv1beta1.ApplicationRevisionSpec{ComponentRevisions: []oamv1beta1.ComponentRevision{good}}}, "cart")
	if err != nil || !has || c.Name != "cart" || c.Revision != "cart-v1" || c.Workload.GetKind() != "Deployment" || len(c.Extras) != 1 {
		t.Errorf("got %+v, %v, %v", c, has, err)
	}
	if _, has, _ := delivery.Find(&oamv1beta1.ApplicationRevision{}, "cart"); has {
		t.Error("a revision has a component that it does not have")
	}
	for sentence, change := range map[string]func(*oamv1beta1.ComponentRevision){
		"no workload":                  func(r *oamv1beta1.ComponentRevision) { r.Workload = nil },
		"a workload that is no object": func(r *oamv1beta1.ComponentRevision) { r.Workload = raw(`[]`) },
		"a workload without a kind":    func(r *oamv1beta1.ComponentRevision) { r.Workload = raw(`{}`) },
		"a resource without a kind":    func(r *oamv1beta1.ComponentRevision) { r.Resources[0].Object = *raw(`{}`) },
	} {
		broken := *good.DeepCopy()
		change(&broken)
		if _, err := delivery.Read(&broken); err == nil {
			t.Errorf("%s: no error", sentence)
		}
	}
}
