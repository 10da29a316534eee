// SPDX-License-Identifier: Apache-2.0

package application

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/render"
)

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

// What a name stands for is what is stored under it: nobody changes that, and nobody takes it for something else.
func TestAComponentRevisionThatLostItsLabelsIsJudgedByItsContent(t *testing.T) {
	const warning = "Warning ComponentRevisionSkipped ControllerRevision cart-v1 has another template than component cart, and stays as it is: the component's revision gets another name"
	bare := func(change func(*appsv1.ControllerRevision)) func(*world) {
		return func(w *world) {
			r := get(w, &appsv1.ControllerRevision{}, "cart-v1")
			r.Labels = nil
			change(r)
			if err := w.Update(w.t.Context(), r); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	forgotten := func(w *world) { // as when somebody has deleted the snapshot, too
		if err := w.Delete(w.t.Context(), get(w, &oamv1beta1.ApplicationRevision{}, "shop-v1")); err != nil {
			w.t.Fatal(err)
		}
	}
	otherwise := bare(func(r *appsv1.ControllerRevision) {
		r.Data.Raw = []byte(strings.Replace(string(r.Data.Raw), "a:1", "a:0", 1))
	})
	resized := func(a *oamv1beta1.Application) {
		a.Spec.Components[0].Properties.Raw = []byte(`{"image":"a:1","replicas":2}`)
	}
	for sentence, test := range map[string]struct {
		before []func(*world)
		edit   func(*oamv1beta1.Application)
		want   string
		told   []string
	}{
		"the same template is the one": {[]func(*world){bare(func(*appsv1.ControllerRevision) {}), forgotten}, resized, "cart-v1", nil},
		"another one has its name for itself": {
			[]func(*world){bare(func(*appsv1.ControllerRevision) {}), forgotten}, image("a:2"), "cart-v2", []string{warning},
		},
		"also when a snapshot says otherwise": {
			[]func(*world){otherwise}, resized, "cart-v2", []string{warning},
		},
		"and when somebody else has it now": {
			[]func(*world){bare(func(r *appsv1.ControllerRevision) { r.OwnerReferences = nil })}, resized, "cart-v2", nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 10, app("a:1", ""))
			w.settle()
			for _, before := range test.before {
				before(w)
			}
			stored := get(w, &appsv1.ControllerRevision{}, "cart-v1").Data.Raw
			w.edit(test.edit)
			all := w.revisions()
			if newest := all[len(all)-1]; !strings.HasSuffix(newest, " "+test.want) {
				t.Errorf("got %s, want component revision %s", newest, test.want)
			}
			if diff := cmp.Diff(string(stored), string(get(w, &appsv1.ControllerRevision{}, "cart-v1").Data.Raw)); diff != "" {
				t.Errorf("what was stored is changed:\n%s", diff)
			}
			var told []string
			for len(w.told.Events) > 0 {
				if e := <-w.told.Events; strings.HasPrefix(e, corev1.EventTypeWarning) {
					told = append(told, e)
				}
			}
			if diff := cmp.Diff(test.told, told); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
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
