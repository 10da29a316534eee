// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/rollout/adapter"
)

// What is somebody else's shows nobody that it has gone: only a look does.
func TestWhatIsInTheWayIsLookedAtAgain(t *testing.T) {
	for sentence, c := range map[string]struct {
		app   *oamv1beta1.Application
		inWay client.Object
	}{
		"an object":     {app("a:1", "one"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "cart"}}},
		"a workload":    {app("a:1", ""), &kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "cart"}}},
		"an AppRollout": {app("a:1", "", inBatches), &oamv1beta1.AppRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop"}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 10, c.app, c.inWay)
			w.settle()
			if got := w.condition(oamv1beta1.ConditionApplied); got.Reason != "Blocked" {
				t.Fatalf("it says %s: %s", got.Reason, got.Message)
			}
			result, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c.app)})
			if err != nil || result.RequeueAfter == 0 {
				t.Errorf("nobody looks again: %v, %v", result, err)
			}
			if err := w.Delete(t.Context(), c.inWay); err != nil {
				t.Fatal(err)
			}
			w.settle()
			if got := w.condition(oamv1beta1.ConditionApplied); got.Reason == "Blocked" {
				t.Errorf("it still says %s", got.Message)
			}
		})
	}
}

// reading has the controller read through something that may answer for the server.
func (w *world) reading(answer func(schema.GroupVersionKind) error) {
	w.t.Helper()
	live := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if err := answer(o.GetObjectKind().GroupVersionKind()); err != nil {
				return err
			}
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := answer(list.GetObjectKind().GroupVersionKind()); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
	})
	d := w.r.Dependencies
	d.Live, d.Writes = live, nil
	d.Kinds = &adapter.Adapters{Live: live, Mapper: d.Mapper, Registry: d.Kinds.Registry}
	w.r = New(d)
}

// Rights for the kinds of people's own definitions are given by people, who have to be told that they lack.
func TestARightThatIsMissingIsTold(t *testing.T) {
	for sentence, kind := range map[string]string{"to a workload": "CloneSet", "to another object": "ConfigMap"} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 10, app("a:1", "one"))
			forbidden := true
			w.reading(func(of schema.GroupVersionKind) error {
				if forbidden && strings.HasPrefix(of.Kind, kind) {
					return apierrors.NewForbidden(schema.GroupResource{Resource: strings.ToLower(kind) + "s"}, "cart", nil)
				}
				return nil
			})
			if err := w.look(); !apierrors.IsForbidden(err) {
				t.Errorf("it is not tried again: %v", err)
			}
			if got := w.condition(oamv1beta1.ConditionApplied); got.Status != metav1.ConditionFalse || got.Reason != "ApplyFailed" || !strings.Contains(got.Message, "is forbidden") {
				t.Errorf("it says %s: %s", got.Reason, got.Message)
			}
			if a := w.app(); a.Status.Phase != oamv1beta1.ApplicationRunningFailed || a.Status.LatestRevision == nil {
				t.Errorf("it says %+v", a.Status)
			}
			forbidden = false
			w.settle()
			if got := w.condition(oamv1beta1.ConditionApplied); got.Status != metav1.ConditionTrue {
				t.Errorf("with the right it says %s: %s", got.Reason, got.Message)
			}
		})
	}
}

// A server that has no answer says nothing about the application.
func TestAServerThatFailsChangesNoCondition(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one"))
	w.settle()
	before := w.app().ResourceVersion
	w.reading(func(of schema.GroupVersionKind) error {
		if of.Kind == "ConfigMap" {
			return apierrors.NewInternalError(context.DeadlineExceeded)
		}
		return nil
	})
	if err := w.look(); !apierrors.IsInternalError(err) {
		t.Errorf("it is not tried again: %v", err)
	}
	if w.app().ResourceVersion != before {
		t.Errorf("it says %+v", w.app().Status.Conditions)
	}
}

// Without its definition a kind is as if nothing of it were there, and applying it says what is wrong.
func TestAKindThatGoesIsTold(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one"))
	w.settle()
	missing := &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Group: kruisev1alpha1.GroupVersion.Group, Kind: kruisev1alpha1.CloneSetKind}}
	w.reading(func(of schema.GroupVersionKind) error {
		if strings.HasPrefix(of.Kind, kruisev1alpha1.CloneSetKind) {
			return missing
		}
		return nil
	})
	d := w.r.Dependencies
	d.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return missing
		},
	})
	w.r = New(d)
	if err := w.look(); !apimeta.IsNoMatchError(err) {
		t.Errorf("it is not tried again: %v", err)
	}
	if got := w.condition(oamv1beta1.ConditionApplied); got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, missing.Error()) {
		t.Errorf("it says %s: %s", got.Reason, got.Message)
	}
}

// The collector would take the application off an object that another one owns too, and nobody would be left who deletes it.
func TestWhatNoStatusTellsOfGoesWithTheApplication(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "", inBatches))
	w.settle()
	rollout, a := get(w, &oamv1beta1.AppRollout{}, "shop"), w.app()
	held := &kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "cart", Labels: map[string]string{
		oamv1beta1.LabelAppName: "shop", oamv1beta1.LabelComponent: "cart", oamv1beta1.LabelAppRevision: "shop-v1", oamv1beta1.LabelComponentRevision: "cart-v1",
	}}}
	held.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: a.Name, UID: a.UID},
		*metav1.NewControllerRef(rollout, oamv1beta1.GroupVersion.WithKind(oamv1beta1.AppRolloutKind)),
	}
	if err := w.Create(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.look(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(held), held); !apierrors.IsNotFound(err) {
		t.Errorf("it stays: %v", err)
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(a), a); !apierrors.IsNotFound(err) {
		t.Errorf("the application stays: %v", err)
	}
}

// What may not be read any more was the application's own, and the collector takes it.
func TestARightThatIsMissingKeepsNoApplication(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one", template))
	w.settle()
	a := w.app()
	a.Status.AppliedResources = []oamv1beta1.AppliedResource{{APIVersion: "v1", Kind: "ConfigMap", Name: "cart"}}
	if err := w.Status().Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.reading(func(of schema.GroupVersionKind) error {
		if strings.HasPrefix(of.Kind, "ConfigMap") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "cart", nil)
		}
		return nil
	})
	if err := w.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.look(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(a), a); !apierrors.IsNotFound(err) {
		t.Errorf("the application stays: %v", err)
	}
}
