// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/rollout/adapter"
)

// counted has the controller start anew on what there is. What it gives says what was asked of the API server since it was last called.
func (w *world) counted() func() []string {
	w.t.Helper()
	var all []string
	said := func(verb string, o client.Object, name string) {
		all = append(all, strings.TrimSpace(verb+" "+kindOf(w, o)+" "+name))
	}
	live := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			said("get", o, key.Name)
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			id, err := c.GroupVersionKindFor(list)
			if err != nil {
				return err
			}
			all = append(all, "list "+id.Kind)
			return c.List(ctx, list, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			said("create", o, o.GetName())
			return c.Create(ctx, o, options...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			applied := o.(interface {
				GetKind() string
				GetName() string
			})
			all = append(all, "apply "+applied.GetKind()+" "+applied.GetName())
			return c.Apply(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			said("patch", o, o.GetName())
			return c.Patch(ctx, o, patch, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			said("delete", o, o.GetName())
			return c.Delete(ctx, o, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, of string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			said("patch "+of, o, o.GetName())
			return c.SubResource(of).Patch(ctx, o, patch, options...)
		},
	})
	d := w.r.Dependencies
	d.Live, d.Client, d.Writes = live, live, nil
	d.Kinds = &adapter.Adapters{Live: live, Mapper: d.Mapper, Registry: d.Kinds.Registry}
	w.r = New(d)
	return func() []string {
		was := all
		all = nil
		return was
	}
}

// asked has the controller start anew on what there is, and says what two looks at the application ask the API server for.
func (w *world) asked() []string {
	w.t.Helper()
	before := w.r
	asked := w.counted()
	defer func() { w.r = before }()
	if err := w.look(); err != nil {
		w.t.Fatal(err)
	}
	all := append(asked(), "again")
	if err := w.look(); err != nil {
		w.t.Fatal(err)
	}
	return append(all, asked()...)
}

// shown are all objects that an application controls, at once; or nothing is.
type shown struct {
	client.Reader
	synced bool
}

func (s *shown) versions(ctx context.Context, app client.Object, kinds []schema.GroupVersionKind) (map[owned.Ref]string, bool, error) {
	all := map[owned.Ref]string{}
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := s.List(ctx, list, client.InNamespace(app.GetNamespace())); err != nil {
			return nil, false, err
		}
		for i := range list.Items {
			if metav1.IsControlledBy(&list.Items[i], app) {
				all[owned.Ref{Kind: kind.GroupKind(), Name: list.Items[i].Name}] = list.Items[i].ResourceVersion
			}
		}
	}
	return all, s.synced, nil
}

// atRest is an application that is deployed, with a set all of whose pods are available, and a controller that has been running.
func atRest(t *testing.T, change ...func(*oamv1beta1.Application)) (*world, *shown, func() []string) {
	t.Helper()
	w := newWorld(t, 10, app("a:1", "one", change...))
	w.settle()
	w.serves("cart")
	w.settle()
	s := &shown{Reader: w.Client, synced: true}
	w.r.Shown = s.versions
	return w, s, w.counted()
}

// serves has a set report that all of its pods are there.
func (w *world) serves(name string) {
	w.t.Helper()
	set := get(w, &kruisev1alpha1.CloneSet{}, name)
	n := *set.Spec.Replicas
	set.Status = kruisev1alpha1.CloneSetStatus{
		ObservedGeneration: set.Generation, CurrentRevision: name + "-abc", UpdateRevision: name + "-abc",
		Replicas: n, ReadyReplicas: n, AvailableReplicas: n, UpdatedReplicas: n, UpdatedReadyReplicas: n, UpdatedAvailableReplicas: n, ExpectedUpdatedReplicas: n,
	}
	if err := w.Status().Update(w.t.Context(), set); err != nil {
		w.t.Fatal(err)
	}
}

func TestAnApplicationAtRestAsksForNothing(t *testing.T) {
	look := func(w *world, asked func() []string) []string {
		t.Helper()
		asked()
		if err := w.look(); err != nil {
			t.Fatal(err)
		}
		return asked()
	}
	w, s, asked := atRest(t)
	if ready := w.condition(oamv1beta1.ConditionReady); ready.Status != metav1.ConditionTrue {
		t.Fatalf("it is not ready: %s", ready.Message)
	}
	if first := look(w, asked); len(first) == 0 {
		t.Fatal("a controller that has just started asks for nothing")
	}
	for range 3 { // a resync, an event of an object that a cache has shown late, a definition that was written again
		if got := look(w, asked); got != nil {
			t.Errorf("it asks for %v", got)
		}
	}

	t.Run("a cache that is not filled is not waited for", func(t *testing.T) {
		s.synced = false
		if got := look(w, asked); len(got) == 0 {
			t.Error("it believes a cache that is empty")
		}
		s.synced = true
		look(w, asked)
	})
	t.Run("pods come and go: the workload is read, and not the revision", func(t *testing.T) {
		set := get(w, &kruisev1alpha1.CloneSet{}, "cart")
		set.Status.AvailableReplicas, set.Status.UpdatedAvailableReplicas = 0, 0
		if err := w.Status().Update(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		want := []string{"get ConfigMap cart", "list CloneSet", "patch status Application shop"}
		if diff := cmp.Diff(want, look(w, asked)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if w.condition(oamv1beta1.ConditionReady).Status != metav1.ConditionFalse {
			t.Error("it does not see that pods are missing")
		}
		w.serves("cart")
		w.settle()
	})
	t.Run("what somebody deletes is put back by the revision as it is stored", func(t *testing.T) {
		w.settle()
		if err := w.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "cart"}}); err != nil {
			t.Fatal(err)
		}
		if got := look(w, asked); !slices.Contains(got, "get ApplicationRevision shop-v1") || !slices.Contains(got, "apply ConfigMap cart") {
			t.Errorf("it asks for %v", got)
		}
	})
	t.Run("an edit is seen", func(t *testing.T) {
		w.settle()
		w.edit(image("a:2"))
		if got := w.revisions(); len(got) != 2 {
			t.Errorf("there are %v", got)
		}
	})
	t.Run("a definition that changes is seen", func(t *testing.T) {
		w.serves("cart")
		w.settle()
		d := &oamv1beta1.TraitDefinition{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "config"}, d); err != nil {
			t.Fatal(err)
		}
		d.Spec.Schematic.CUE.Template = strings.Replace(configTemplate, "data: text", "data: word", 1)
		if err := w.Update(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		w.settle()
		if got := get(w, &corev1.ConfigMap{}, "cart").Data["word"]; got != "one" {
			t.Errorf("its word is %q", got)
		}
	})
	t.Run("an AppRollout that somebody makes is seen", func(t *testing.T) {
		w.serves("cart")
		w.settle()
		look(w, asked)
		if got := look(w, asked); got != nil {
			t.Fatalf("it is not at rest: %v", got)
		}
		if err := w.Create(t.Context(), &oamv1beta1.AppRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop"}}); err != nil {
			t.Fatal(err)
		}
		if got := look(w, asked); len(got) == 0 {
			t.Error("it is not looked at")
		}
	})
}

// What a definition makes may be as much as a store takes, and 500 applications may use it.
func TestOnlySmallRevisionsAreRemembered(t *testing.T) {
	revision := func(bytes int) *oamv1beta1.ApplicationRevision {
		r := &oamv1beta1.ApplicationRevision{}
		r.Spec.ComponentRevisions = []oamv1beta1.ComponentRevision{{Name: "cart", Workload: &runtime.RawExtension{Raw: make([]byte, bytes)}}}
		return r
	}
	if brief(revision(maxRemembered)) == nil || brief(revision(maxRemembered+1)) != nil {
		t.Errorf("the limit is not %d bytes", maxRemembered)
	}
}

func kindOf(w *world, o client.Object) string {
	id, err := w.GroupVersionKindFor(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return id.Kind
}

// A template has no objects whose changes have somebody look again.
func TestOneLookForEachRevisionIsEnoughToForgetOldOnes(t *testing.T) {
	w := newWorld(t, 1, app("a:1", "", template))
	for n := 1; n <= 6; n++ {
		a := w.app()
		image(fmt.Sprintf("a:%d", n))(a)
		a.Generation++
		if err := w.Update(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if _, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(a)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.revisions(); len(got) > 3 { // the one before the latest is in the status, and counts as used
		t.Errorf("there are %v", got)
	}
}

func TestALookAtASettledApplicationAsksForLittle(t *testing.T) {
	few := []string{"get ApplicationRevision shop-v1", "get ConfigMap cart", "list CloneSet"}
	t.Run("nothing is read twice, the revision once, and nothing is written", func(t *testing.T) {
		w := newWorld(t, 10, app("a:1", "one"))
		w.settle()
		set := get(w, &kruisev1alpha1.CloneSet{}, "cart") // its own controller has seen it, and has a revision for it
		set.Status.ObservedGeneration, set.Status.CurrentRevision, set.Status.UpdateRevision = set.Generation, "cart-abc", "cart-abc"
		if err := w.Status().Update(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		w.settle()
		if diff := cmp.Diff(slices.Concat(few, []string{"again"}, few[1:]), w.asked()); diff != "" { // its pods are waited for
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("old revisions are looked for once", func(t *testing.T) {
		w := newWorld(t, 1, app("a:1", "one"))
		w.settle()
		for n := 2; n <= 4; n++ {
			w.edit(image(fmt.Sprintf("a:%d", n)))
		}
		_, again, found := strings.Cut(strings.Join(w.asked(), "\n"), "again\n")
		if want := strings.Join(few[1:], "\n"); !found || again != want {
			t.Errorf("it asks again for\n%s\nwant\n%s", again, want)
		}
	})
}
