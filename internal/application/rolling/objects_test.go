// SPDX-License-Identifier: Apache-2.0

package rolling_test

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// object is one of a kind from its fields, with members that are not given left out.
func object(t *testing.T, apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetName(name)
	if spec != nil {
		raw, err := json.Marshal(spec) // whole numbers as the API has them
		if err != nil {
			t.Fatal(err)
		}
		into := &unstructured.Unstructured{}
		if err := into.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"X","spec":%s}`, raw)); err != nil {
			t.Fatal(err)
		}
		o.Object["spec"] = into.Object["spec"]
	}
	return o
}

func podSpec(replicas int, image string) map[string]any {
	return map[string]any{
		"replicas": replicas, "selector": map[string]any{"matchLabels": map[string]any{"app": "cart"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "cart"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": image}}},
		},
	}
}

// set is a CloneSet as it is rendered, and deployment a Deployment.
func set(t *testing.T, image string) *unstructured.Unstructured {
	return object(t, "apps.kruise.io/v1alpha1", "CloneSet", "cart", podSpec(4, image))
}

func deployment(t *testing.T, image string) *unstructured.Unstructured {
	return object(t, "apps/v1", "Deployment", "cart", podSpec(4, image))
}

func service(t *testing.T, name string) *unstructured.Unstructured {
	return object(t, "v1", "Service", name, map[string]any{"type": "ClusterIP"})
}

// scaler is an autoscaler of a workload as it is rendered.
func scaler(t *testing.T, of *unstructured.Unstructured, least int) *unstructured.Unstructured {
	return object(t, "autoscaling/v2", "HorizontalPodAutoscaler", "cart", map[string]any{
		"scaleTargetRef": map[string]any{"apiVersion": of.GetAPIVersion(), "kind": of.GetKind(), "name": of.GetName()}, "minReplicas": least, "maxReplicas": 9,
	})
}

// part is a component of a revision: its number is that of its own revision.
type part struct {
	name     string
	number   int
	workload *unstructured.Unstructured
	extras   []*unstructured.Unstructured
}

// revisionOf is revision N of an application, which controls it.
func revisionOf(t *testing.T, app string, number int, parts ...part) *oamv1beta1.ApplicationRevision {
	t.Helper()
	r := &oamv1beta1.ApplicationRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprintf("%s-v%d", app, number), OwnerReferences: []metav1.OwnerReference{ownerOf(app)}}}
	r.Spec.Revision = int64(number)
	for _, p := range parts {
		rendered := oamv1beta1.ComponentRevision{Name: p.name, Revision: fmt.Sprintf("%s-v%d", p.name, p.number), Workload: raw(t, p.workload)}
		for i, extra := range p.extras {
			rendered.Resources = append(rendered.Resources, oamv1beta1.RenderedResource{Name: fmt.Sprint(i), Object: *raw(t, extra)})
		}
		r.Spec.ComponentRevisions = append(r.Spec.ComponentRevisions, rendered)
	}
	return r
}

func raw(t *testing.T, o *unstructured.Unstructured) *runtime.RawExtension {
	t.Helper()
	if o == nil {
		return nil
	}
	text, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.RawExtension{Raw: text}
}

func ownerOf(app string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: app, UID: types.UID(app), Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(false),
	}
}

// deployed is a rendered object as it lives since a revision of the application shop was deployed.
func deployed(o *unstructured.Unstructured, number int, component string, componentNumber int) *unstructured.Unstructured {
	o = o.DeepCopy()
	o.SetNamespace("web")
	o.SetUID(types.UID(o.GetKind() + " " + o.GetName()))
	o.SetOwnerReferences([]metav1.OwnerReference{ownerOf("shop")})
	o.SetLabels(map[string]string{
		oamv1beta1.LabelAppName: "shop", oamv1beta1.LabelComponent: component,
		oamv1beta1.LabelAppRevision: fmt.Sprintf("shop-v%d", number), oamv1beta1.LabelComponentRevision: fmt.Sprintf("%s-v%d", component, componentNumber),
	})
	return o
}

// named is an object under another name, as those of workloads apart have.
func named(o *unstructured.Unstructured, name string) *unstructured.Unstructured {
	o = o.DeepCopy()
	o.SetName(name)
	o.SetUID(types.UID(o.GetKind() + " " + name))
	return o
}

// asking is an AppRollout from one revision of shop to another, in two batches.
func asking(target, source string, change ...func(*oamv1beta1.AppRollout)) *oamv1beta1.AppRollout {
	r := &oamv1beta1.AppRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop", UID: "rollout", Generation: 1},
		Spec: oamv1beta1.AppRolloutSpec{
			TargetAppRevisionName: target, SourceAppRevisionName: source, RolloutPlan: rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](2)},
		},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func to(size int32) func(*oamv1beta1.AppRollout) {
	return func(r *oamv1beta1.AppRollout) { r.Spec.RolloutPlan.TargetSize = &size }
}

func component(names ...string) func(*oamv1beta1.AppRollout) {
	return func(r *oamv1beta1.AppRollout) { r.Spec.ComponentList = names }
}

func in(state rolloutv1alpha1.RollingState) func(*oamv1beta1.AppRollout) {
	return func(r *oamv1beta1.AppRollout) {
		r.Status = oamv1beta1.AppRolloutStatus{RolloutStatus: rolloutv1alpha1.RolloutStatus{RollingState: state, ObservedGeneration: 1, Run: 1}}
	}
}
