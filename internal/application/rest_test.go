// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/rollout/adapter"
)

// asked has the controller start anew on what there is, and says what one look at the application asks the API server for.
func (w *world) asked() []string {
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
	before := w.r
	w.r = New(d)
	defer func() { w.r = before }()
	look := func() {
		if _, err := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "web", Name: "shop"}}); err != nil {
			w.t.Fatal(err)
		}
	}
	look()
	all = append(all, "again")
	look()
	return all
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
	t.Run("nothing is read twice, and nothing is written", func(t *testing.T) {
		w := newWorld(t, 10, app("a:1", "one"))
		w.settle()
		set := get(w, &kruisev1alpha1.CloneSet{}, "cart") // its own controller has seen it, and has a revision for it
		set.Status.ObservedGeneration, set.Status.CurrentRevision, set.Status.UpdateRevision = set.Generation, "cart-abc", "cart-abc"
		if err := w.Status().Update(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		w.settle()
		if diff := cmp.Diff(slices.Concat(few, []string{"again"}, few), w.asked()); diff != "" {
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
		if want := strings.Replace(strings.Join(few, "\n"), "shop-v1", "shop-v4", 1); !found || again != want {
			t.Errorf("it asks again for\n%s\nwant\n%s", again, want)
		}
	})
}
