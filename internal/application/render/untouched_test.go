// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application"
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/test/rendering"
)

// running is an application of the component web that is deployed, and its controller.
type running struct {
	client.Client
	t *testing.T
	r *application.Reconciler
}

func run(t *testing.T, definitions render.Definitions, component oamv1beta1.ApplicationComponent) *running {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, oamv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		scope := apimeta.RESTScopeNamespace
		if namespaced, err := render.ScopeWithoutCluster(kind); err == nil && !namespaced {
			scope = apimeta.RESTScopeRoot
		}
		mapper.Add(kind, scope)
	}
	var objects []client.Object
	for name, d := range definitions.Components {
		d.Namespace, d.Name = oamv1beta1.SystemNamespace, name
		objects = append(objects, &d)
	}
	for name, d := range definitions.Traits {
		d.Namespace, d.Name = oamv1beta1.SystemNamespace, name
		objects = append(objects, &d)
	}
	app := &oamv1beta1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: "app", Generation: 1}}
	app.Spec.Components = []oamv1beta1.ApplicationComponent{component}
	c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(append(objects, app)...).WithStatusSubresource(app).Build()
	registry, err := adapter.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	w := &running{Client: c, t: t, r: application.New(application.Dependencies{
		Cache: c, Live: c, Client: c, Events: events.NewFakeRecorder(1000), Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)), Mapper: mapper,
		Kinds: &adapter.Adapters{Live: c, Mapper: mapper, Registry: registry}, Renderer: rendering.Here{}, SystemNamespace: oamv1beta1.SystemNamespace, RevisionLimit: 10,
	})}
	w.look(5)
	return w
}

func (w *running) look(times int) {
	w.t.Helper()
	for range times {
		if _, err := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "shop"}}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *running) app() *oamv1beta1.Application {
	w.t.Helper()
	app := &oamv1beta1.Application{}
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: "shop"}, app); err != nil {
		w.t.Fatal(err)
	}
	return app
}

// has are all objects that there are of it, by their versions.
func (w *running) has() []string {
	w.t.Helper()
	var all []string
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &oamv1beta1.ApplicationRevisionList{}, &appsv1.ControllerRevisionList{}} {
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
	return all
}

// breaks has the application, or a definition, changed to something that is wrong.
func (w *running) breaks(want string, objects ...client.Object) {
	w.t.Helper()
	before := w.has()
	if len(before) != 3 {
		w.t.Fatalf("before there are %v", before)
	}
	for _, o := range objects {
		stored := o.DeepCopyObject().(client.Object)
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(o), stored); err != nil {
			w.t.Fatal(err)
		}
		o.SetResourceVersion(stored.GetResourceVersion())
		if err := w.Update(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
	w.look(2)
	if diff := cmp.Diff(before, w.has()); diff != "" {
		w.t.Errorf("what runs was changed (-before +after):\n%s", diff)
	}
	status := w.app().Status
	told := slices.IndexFunc(status.Conditions, func(c metav1.Condition) bool {
		return (c.Type == oamv1beta1.ConditionParsed || c.Type == oamv1beta1.ConditionRender) && c.Status == metav1.ConditionFalse && strings.Contains(c.Message, want)
	})
	if told < 0 || status.Phase != oamv1beta1.ApplicationRendering {
		w.t.Errorf("it is %s and says %v\nwant in it:\n  %s", status.Phase, status.Conditions, want)
	}
}

func TestBrokenApplicationsLeaveWhatRuns(t *testing.T) {
	definitions := shipped(t)
	for sentence, test := range brokenApplications {
		t.Run(sentence, func(t *testing.T) {
			w := run(t, definitions, component(t, `{name: web, type: worker, properties: {image: "a:v0"}}`))
			app := w.app()
			app.Spec.Components = []oamv1beta1.ApplicationComponent{component(t, test.component)}
			w.breaks(test.want, app)
		})
	}
}

func TestBrokenDefinitionsLeaveWhatRuns(t *testing.T) {
	for sentence, test := range brokenDefinitions {
		t.Run(sentence, func(t *testing.T) {
			component := oamv1beta1.ComponentDefinition{Spec: oamv1beta1.ComponentDefinitionSpec{
				Workload:  oamv1beta1.WorkloadType{Definition: oamv1beta1.WorkloadGVK{APIVersion: "apps/v1", Kind: "Deployment"}},
				Schematic: oamv1beta1.Schematic{CUE: oamv1beta1.CUE{Template: deployment + ", spec: replicas: 2}"}},
			}}
			trait := oamv1beta1.TraitDefinition{Spec: oamv1beta1.TraitDefinitionSpec{Schematic: oamv1beta1.Schematic{CUE: oamv1beta1.CUE{Template: "patch: {}"}}}}
			c := oamv1beta1.ApplicationComponent{Name: "web", Type: "mine"}
			if test.trait != "" {
				c.Traits = []oamv1beta1.ApplicationTrait{{Type: "yours"}}
			}
			w := run(t, render.Definitions{
				Components: map[string]oamv1beta1.ComponentDefinition{"mine": component}, Traits: map[string]oamv1beta1.TraitDefinition{"yours": trait},
			}, c)
			component.Namespace, component.Name, component.Spec.Schematic.CUE.Template = oamv1beta1.SystemNamespace, "mine", test.template
			changed := []client.Object{&component}
			if test.trait != "" {
				trait.Namespace, trait.Name, trait.Spec.Schematic.CUE.Template = oamv1beta1.SystemNamespace, "yours", test.trait
				changed = append(changed, &trait)
			}
			w.breaks(test.want, changed...)
		})
	}
}
