// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/definition"
)

// applications have an application with a component of every shipped type and with all that traits add applied, changed, rolled
// out and deleted.
func (w *work) applications(t *testing.T) {
	t.Helper()
	shipped, err := definition.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range shipped {
		if d.Component != nil {
			w.create(t, d.Component)
		} else {
			w.create(t, d.Trait)
		}
	}
	component := func(kind, properties string, traits ...oamv1beta1.ApplicationTrait) oamv1beta1.ApplicationComponent {
		return oamv1beta1.ApplicationComponent{
			Name: "app-" + kind, Type: kind, Properties: &runtime.RawExtension{Raw: []byte(`{"image":"registry.test/app:v1"` + properties + `}`)}, Traits: traits,
		}
	}
	trait := func(kind, properties string) oamv1beta1.ApplicationTrait {
		return oamv1beta1.ApplicationTrait{Type: kind, Properties: &runtime.RawExtension{Raw: []byte(properties)}}
	}
	app := &oamv1beta1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Spec: oamv1beta1.ApplicationSpec{Components: []oamv1beta1.ApplicationComponent{
			component("cloneset", ""), component("worker", ""), component("daemon", ""), component("statefulset", ""), component("advanced-statefulset", ""),
			component("cafedeployment", `,"units":["a","b"]`),
			component("webservice", `,"port":8080`, trait("expose", `{"port":[8080]}`), trait("hpa", `{}`), trait("ingress", `{"domain":"shop.test","http":{"/":8080}}`)),
		}},
	}
	w.create(t, app)
	w.deployed(t, app, 1)

	// What leaves is deleted, and so is the first revision, for none is kept.
	w.rewrite(t, app, func() { app.Spec.Components = app.Spec.Components[:1] })
	w.deployed(t, app, 2)
	for _, left := range []client.ObjectList{&corev1.ServiceList{}, &autoscalingv2.HorizontalPodAutoscalerList{}, &networkingv1.IngressList{}, &oamv1beta1.ApplicationRevisionList{}} {
		eventually(t, fmt.Sprintf("%T of the application are gone", left), func() error {
			if err := w.c.List(t.Context(), left, client.InNamespace(place), client.MatchingLabels{oamv1beta1.LabelAppName: "all"}); err != nil {
				return err
			}
			most := 0
			if _, is := left.(*oamv1beta1.ApplicationRevisionList); is {
				most = 1
			}
			if n := apimeta.LenList(left); n > most {
				return fmt.Errorf("there are %d", n)
			}
			return nil
		})
	}

	w.rewrite(t, app, func() {
		app.Spec.RolloutPlan = &rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](1)}
		app.Spec.Components[0].Properties.Raw = []byte(`{"image":"registry.test/app:v2"}`)
	})
	rollout := &oamv1beta1.AppRollout{}
	eventually(t, "the application has a rollout", func() error {
		if err := w.c.Get(t.Context(), client.ObjectKey{Namespace: place, Name: "all"}, rollout); err != nil {
			return err
		}
		if len(rollout.Finalizers) == 0 {
			return fmt.Errorf("it is in %s: %s", rollout.Status.RollingState, rollout.Status.Message)
		}
		return nil
	})
	if err := w.c.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	for _, o := range []client.Object{app, rollout} {
		eventually(t, fmt.Sprintf("%T is gone", o), func() error {
			if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there, or %w", err)
			}
			return nil
		})
	}
}

// deployed waits until a revision of an application is applied.
func (w *work) deployed(t *testing.T, app *oamv1beta1.Application, number int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("revision %d is applied", number), func() error {
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		is := apimeta.FindStatusCondition(app.Status.Conditions, oamv1beta1.ConditionApplied)
		if app.Status.LatestRevision == nil || app.Status.LatestRevision.Revision != number || is == nil || is.Status != metav1.ConditionTrue {
			return fmt.Errorf("its revision is %v, and its conditions %v", app.Status.LatestRevision, app.Status.Conditions)
		}
		return nil
	})
}

func (w *work) rewrite(t *testing.T, app *oamv1beta1.Application, how func()) {
	t.Helper()
	before := app.DeepCopy()
	how()
	if err := w.c.Patch(t.Context(), app, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
