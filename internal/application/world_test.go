// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/test/rendering"
)

const setTemplate = `
output: {
	apiVersion: "apps.kruise.io/v1alpha1"
	kind: "CloneSet"
	metadata: name: context.name
	spec: {
		replicas: parameter.replicas
		selector: matchLabels: app: context.name
		template: {
			metadata: labels: app: context.name
			spec: containers: [{name: "main", image: parameter.image}]
		}
	}
}
parameter: {
	image:    string
	replicas: *1 | int
}
`

const configTemplate = `
outputs: config: {
	apiVersion: "v1"
	kind: "ConfigMap"
	metadata: name: context.name
	data: text: parameter.text
}
parameter: text: string
`

// world is an API server with one application, and the controller.
type world struct {
	client.Client
	t     *testing.T
	r     *Reconciler
	told  *events.FakeRecorder
	clock *clocktesting.FakePassiveClock
}

func newWorld(t *testing.T, limit int, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kruisev1alpha1.AddToScheme, oamv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind), apimeta.RESTScopeNamespace)
	for kind := range scheme.KnownTypes(corev1.SchemeGroupVersion) {
		scope := apimeta.RESTScopeNamespace
		if kind == "Namespace" {
			scope = apimeta.RESTScopeRoot
		}
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), scope)
	}
	for _, kind := range []string{"ControllerRevision", "Deployment"} {
		mapper.Add(appsv1.SchemeGroupVersion.WithKind(kind), apimeta.RESTScopeNamespace)
	}
	for _, kind := range []string{
		oamv1beta1.ApplicationKind, oamv1beta1.ApplicationRevisionKind, oamv1beta1.AppRolloutKind, oamv1beta1.ComponentDefinitionKind, oamv1beta1.TraitDefinitionKind,
	} {
		mapper.Add(oamv1beta1.GroupVersion.WithKind(kind), apimeta.RESTScopeNamespace)
	}
	component := &oamv1beta1.ComponentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "set"}}
	component.Spec.Workload.Definition = oamv1beta1.WorkloadGVK{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet"}
	component.Spec.Schematic.CUE.Template = setTemplate
	config := &oamv1beta1.TraitDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "config"}}
	config.Spec.Schematic.CUE.Template = configTemplate
	c := fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithRESTMapper(mapper).WithObjects(append(objects, component, config)...).
		WithStatusSubresource(&oamv1beta1.Application{}, &oamv1beta1.AppRollout{}, &kruisev1alpha1.CloneSet{}).Build()
	registry, err := adapter.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Client: c, t: t, told: events.NewFakeRecorder(1000), clock: clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	w.r = New(Dependencies{
		Cache: c, Live: c, Client: c, Events: w.told, Clock: w.clock, Mapper: mapper, Renderer: rendering.Here{}, SystemNamespace: "system", RevisionLimit: limit,
		Kinds: &adapter.Adapters{Live: c, Mapper: mapper, Registry: registry}, Managers: []string{"slipway-manager"},
	})
	return w
}

// app is an application of one component, with a trait when it has a text.
func app(image, text string, change ...func(*oamv1beta1.Application)) *oamv1beta1.Application {
	a := &oamv1beta1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop", UID: "app", Generation: 1},
		Spec: oamv1beta1.ApplicationSpec{Components: []oamv1beta1.ApplicationComponent{{
			Name: "cart", Type: "set", Properties: &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"image":%q}`, image)},
		}}},
	}
	if text != "" {
		a.Spec.Components[0].Traits = []oamv1beta1.ApplicationTrait{{Type: "config", Properties: &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"text":%q}`, text)}}}
	}
	for _, c := range change {
		c(a)
	}
	return a
}

func inBatches(a *oamv1beta1.Application) {
	a.Spec.RolloutPlan = &rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](2)}
}

func template(a *oamv1beta1.Application) {
	a.Annotations = map[string]string{oamv1beta1.AnnotationRolloutTemplate: "true"}
}

// settle reconciles until nothing is written any more.
func (w *world) settle() {
	w.t.Helper()
	last := ""
	for range 20 {
		if _, err := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "web", Name: "shop"}}); err != nil {
			w.t.Fatal(err)
		}
		now := w.versions()
		if now == last {
			return
		}
		last = now
	}
	w.t.Fatal("it does not settle")
}

// versions tell whether anything was written.
func (w *world) versions() string {
	w.t.Helper()
	var all []string
	for _, list := range []client.ObjectList{
		&oamv1beta1.ApplicationList{}, &oamv1beta1.ApplicationRevisionList{}, &oamv1beta1.AppRolloutList{}, &kruisev1alpha1.CloneSetList{}, &corev1.ConfigMapList{}, &appsv1.ControllerRevisionList{},
	} {
		if err := w.List(w.t.Context(), list); err != nil {
			w.t.Fatal(err)
		}
		err := apimeta.EachListItem(list, func(o runtime.Object) error {
			all = append(all, fmt.Sprintf("%T %s %s", o, o.(client.Object).GetName(), o.(client.Object).GetResourceVersion()))
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return strings.Join(all, "\n")
}

func (w *world) app() *oamv1beta1.Application {
	w.t.Helper()
	return get(w, &oamv1beta1.Application{}, "shop")
}

func get[T client.Object](w *world, into T, name string) T {
	w.t.Helper()
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: "web", Name: name}, into); err != nil {
		w.t.Fatal(err)
	}
	return into
}

// edit changes the application as a person does.
func (w *world) edit(how func(*oamv1beta1.Application)) {
	w.t.Helper()
	a := w.app()
	how(a)
	a.Generation++
	if err := w.Update(w.t.Context(), a); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

func (w *world) revisions() []string {
	w.t.Helper()
	list := &oamv1beta1.ApplicationRevisionList{}
	if err := w.List(w.t.Context(), list, client.InNamespace("web")); err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for i := range list.Items {
		all = append(all, list.Items[i].Name+" "+list.Items[i].Spec.ComponentRevisions[0].Revision)
	}
	slices.Sort(all)
	return all
}

func (w *world) condition(kind string) *metav1.Condition {
	w.t.Helper()
	c := apimeta.FindStatusCondition(w.app().Status.Conditions, kind)
	if c == nil {
		w.t.Fatalf("there is no condition %s", kind)
	}
	return c
}

func image(of string) func(*oamv1beta1.Application) {
	return func(a *oamv1beta1.Application) {
		a.Spec.Components[0].Properties.Raw = fmt.Appendf(nil, `{"image":%q}`, of)
	}
}
