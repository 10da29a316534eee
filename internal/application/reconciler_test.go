// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/internal/rollout/adapter"
)

// direct evaluates templates here: those of the tests end.
type direct struct{}

func (direct) Render(_ context.Context, request render.Request) (render.Result, error) {
	return render.Evaluate(request, nil)
}

func (direct) Judge(_ context.Context, request render.HealthRequest) (render.Health, error) {
	return render.Judge(request)
}

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
		Cache: c, Live: c, Client: c, Events: w.told, Clock: w.clock, Mapper: mapper, Renderer: direct{}, SystemNamespace: "system", RevisionLimit: limit,
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

func TestEachContentIsARevision(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one"))
	w.settle()
	if diff := cmp.Diff([]string{"shop-v1 cart-v1"}, w.revisions()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	first := get(w, &oamv1beta1.ApplicationRevision{}, "shop-v1")
	w.edit(image("a:2"))
	w.edit(func(a *oamv1beta1.Application) { // a trait of another text makes no other pods
		a.Spec.Components[0].Traits[0].Properties.Raw = []byte(`{"text":"two"}`)
	})
	w.edit(func(a *oamv1beta1.Application) {
		*a = *app("a:1", "one", func(back *oamv1beta1.Application) { back.ObjectMeta, back.Status = a.ObjectMeta, a.Status })
	})
	w.edit(inBatches) // a plan makes none
	if diff := cmp.Diff([]string{"shop-v1 cart-v1", "shop-v2 cart-v2", "shop-v3 cart-v2", "shop-v4 cart-v1"}, w.revisions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := get(w, &oamv1beta1.ApplicationRevision{}, "shop-v4")
	if diff := cmp.Diff(first.Spec.ComponentRevisions, again.Spec.ComponentRevisions); diff != "" {
		t.Errorf("what is the same again renders to something else:\n%s", diff)
	}
}

// A revision holds all that it takes to render it again.
func TestARevisionRendersToTheSameBytesAfterItsDefinitionHasChanged(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one"))
	w.settle()
	definition := &oamv1beta1.ComponentDefinition{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "set"}, definition); err != nil {
		t.Fatal(err)
	}
	definition.Spec.Schematic.CUE.Template = strings.Replace(setTemplate, `name: "main"`, `name: "other"`, 1)
	if err := w.Update(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if diff := cmp.Diff([]string{"shop-v1 cart-v1", "shop-v2 cart-v2"}, w.revisions()); diff != "" {
		t.Fatalf("another definition is another revision (-want +got):\n%s", diff)
	}
	stored := get(w, &oamv1beta1.ApplicationRevision{}, "shop-v1")
	snapshot := stored.Spec.Application.DeepCopy()
	definitions := render.Definitions{Components: stored.Spec.ComponentDefinitions, Traits: stored.Spec.TraitDefinitions}
	all, err := requests(snapshot, definitions, &oamv1beta1.Revision{Name: stored.Name, Revision: stored.Spec.Revision}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all[0].Context.Revision = "cart-v1"
	rendered, err := render.Evaluate(all[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	if rendered, err = render.Dress(all[0], rendered, w.r.namespaced); err != nil {
		t.Fatal(err)
	}
	for i, want := range []runtime.RawExtension{*stored.Spec.ComponentRevisions[0].Workload, stored.Spec.ComponentRevisions[0].Resources[0].Object} {
		object := rendered.Workload
		if i > 0 {
			object = rendered.Extras[0].Object
		}
		if diff := cmp.Diff(string(want.Raw), encoded(t, object)); diff != "" {
			t.Errorf("(-stored +rendered):\n%s", diff)
		}
	}
}

func TestOldRevisionsAreForgottenWhenNothingUsesThem(t *testing.T) {
	w := newWorld(t, 1, app("a:1", ""))
	w.settle()
	for n := 2; n <= 5; n++ {
		w.edit(image(fmt.Sprintf("a:%d", n)))
	}
	if diff := cmp.Diff([]string{"shop-v4 cart-v4", "shop-v5 cart-v5"}, w.revisions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	list := &appsv1.ControllerRevisionList{}
	if err := w.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) > 3 { // the newest may have been made for a revision that is not there yet
		t.Errorf("there are %d component revisions", len(list.Items))
	}
}

func TestATemplateOfRolloutsIsOnlyRecorded(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one", template))
	w.settle()
	list := &kruisev1alpha1.CloneSetList{}
	if err := w.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 0 || len(w.revisions()) != 1 {
		t.Errorf("there are %d workloads, and the revisions %v", len(list.Items), w.revisions())
	}
	if got := w.condition(oamv1beta1.ConditionReady); got.Status != metav1.ConditionTrue {
		t.Errorf("it waits for what nobody has asked for: %s", got.Message)
	}
	if !slices.Contains(w.app().Finalizers, oamv1beta1.FinalizerApplication) {
		t.Error("the application could go while a rollout holds its workloads")
	}
}

func TestAPlanIsCarriedOutByAnAppRollout(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one", inBatches))
	w.settle()
	r := get(w, &oamv1beta1.AppRollout{}, "shop")
	if r.Spec.TargetAppRevisionName != "shop-v1" || r.Spec.SourceAppRevisionName != "" || ptr.Deref(r.Spec.RolloutPlan.TargetSize, 0) != 1 || !metav1.IsControlledBy(r, w.app()) {
		t.Errorf("it is asked for %+v", r.Spec)
	}
	if !slices.Contains(w.app().Finalizers, oamv1beta1.FinalizerApplication) {
		t.Error("the application could go while it holds its workloads")
	}
	if a := w.app(); a.Status.Phase != oamv1beta1.ApplicationRollingOut || w.condition(oamv1beta1.ConditionRollout).Status != metav1.ConditionFalse {
		t.Errorf("its phase is %s", a.Status.Phase)
	}
}

func TestAnApplicationThatIsDeletedTakesWhatItHas(t *testing.T) {
	for sentence, c := range map[string]struct {
		finalizers []string
		gone       bool
	}{
		"all of it": {nil, true},
		"but for one that is deleted without its dependents": {[]string{metav1.FinalizerOrphanDependents}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 10, app("a:1", "one", func(a *oamv1beta1.Application) { a.Finalizers = c.finalizers }))
			w.settle()
			w.edit(inBatches)
			a := w.app()
			if err := w.Delete(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(a)}); err != nil {
					t.Fatal(err)
				}
			}
			list := &kruisev1alpha1.CloneSetList{}
			if err := w.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			if gone := len(list.Items) == 0; gone != c.gone {
				t.Errorf("its workload is gone: %v", gone)
			}
			left := &oamv1beta1.Application{}
			if err := w.Get(t.Context(), client.ObjectKeyFromObject(a), left); err == nil && slices.Contains(left.Finalizers, oamv1beta1.FinalizerApplication) {
				t.Error("the application still waits")
			}
		})
	}
}

// Nothing is written when nothing has changed: settle would not end otherwise. And what somebody changes is put back.
func TestWhatSomebodyDeletesComesBack(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one"))
	w.settle()
	for _, o := range []client.Object{&kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "cart"}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "cart"}}} {
		if err := w.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.settle()
	get(w, &kruisev1alpha1.CloneSet{}, "cart")
	if got := get(w, &corev1.ConfigMap{}, "cart").Data["text"]; got != "one" {
		t.Errorf("its text is %q", got)
	}
}

func TestOnlyUsersOfADefinitionAreAskedFor(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one"))
	for sentence, c := range map[string]struct {
		definition client.Object
		want       int
	}{
		"one that it uses":                      {&oamv1beta1.ComponentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "set"}}, 1},
		"one that it does not use":              {&oamv1beta1.ComponentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "config"}}, 0},
		"a trait that it uses":                  {&oamv1beta1.TraitDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "config"}}, 1},
		"one of another namespace than its own": {&oamv1beta1.TraitDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "config"}}, 0},
	} {
		if got := w.r.users(t.Context(), c.definition); len(got) != c.want {
			t.Errorf("%s: %d are asked for", sentence, len(got))
		}
	}
}

func encoded(t *testing.T, object map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
