// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/test/rendering"
)

// templated has the application use a trait whose template says that.
func templated(w *world, template string) {
	w.t.Helper()
	d := &oamv1beta1.TraitDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "own"}}
	d.Spec.Schematic.CUE.Template = template
	if err := w.Create(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
	w.edit(func(a *oamv1beta1.Application) {
		a.Spec.Components[0].Traits = []oamv1beta1.ApplicationTrait{{Type: "own"}}
	})
}

// TestWhatIsBrokenLeavesWhatRuns: what stands in the application is said by Parsed, and what templates make of it by Render.
func TestWhatIsBrokenLeavesWhatRuns(t *testing.T) {
	properties := func(text string) func(*world) {
		return func(w *world) {
			w.edit(func(a *oamv1beta1.Application) { a.Spec.Components[0].Properties.Raw = []byte(text) })
		}
	}
	template := func(text string) func(*world) { return func(w *world) { templated(w, text) } }
	const parsed, rendered = oamv1beta1.ConditionParsed, oamv1beta1.ConditionRender
	for sentence, c := range map[string]struct {
		how             func(*world)
		condition, want string
	}{
		"a type that there is not": {func(w *world) { w.edit(func(a *oamv1beta1.Application) { a.Spec.Components[0].Type = "sett" }) },
			parsed, `component "cart": type: there is no ComponentDefinition "sett" in namespace "web" or "system": use one of set`},
		"a property that there is not": {properties(`{"image":"a:2","colour":"red"}`), parsed, `component "cart": properties.colour`},
		"a property of another type":   {properties(`{"image":2}`), parsed, `component "cart": properties.image: 2 is not allowed: use string`},
		"a trait that there is not": {func(w *world) {
			w.edit(func(a *oamv1beta1.Application) {
				a.Spec.Components[0].Traits = []oamv1beta1.ApplicationTrait{{Type: "x"}}
			})
		}, parsed, `component "cart": traits[0].type`},

		"values that conflict":       {template(`patch: apiVersion: "v2"`), rendered, `component "cart": trait "own": patch.apiVersion: contradicts the workload`},
		"a template that is no CUE":  {template(`patch: {`), rendered, `component "cart": trait "own": template:1: `},
		"a trait that gives nothing": {template(`x: 1`), rendered, `component "cart": trait "own": template: gives neither patch nor outputs`},
		"too many bytes": {template("import \"strings\"\noutputs: a: {apiVersion: \"v1\", kind: \"ConfigMap\", data: x: strings.Repeat(\"x\", 600000)}"),
			rendered, `component "cart": trait "own": outputs.a.data.x: all objects together have more than the 524288 bytes that are allowed`},
		"another namespace": {template(`outputs: a: {apiVersion: "v1", kind: "ConfigMap", metadata: namespace: "kube-system"}`),
			rendered, `only the namespace of the application is allowed, "web"`},
		"an object of the whole cluster": {template(`outputs: a: {apiVersion: "v1", kind: "Namespace", metadata: name: "all"}`),
			rendered, `"all" is a Namespace, which belongs to the whole cluster`},
		"a kind that there is not": {template(`outputs: a: {apiVersion: "v9", kind: "Thing"}`), rendered, `the cluster has no kind Thing of v9`},
		"a name that is too long": {template(`outputs: a: {apiVersion: "v1", kind: "Service", metadata: name: "` + strings.Repeat("a", 70) + `"}`),
			rendered, `has 70 characters; at most 63 are allowed`},
		"a template that is given up": {func(w *world) {
			w.r.Renderer = instead{err: render.Problems{{Component: "cart", Definition: "set", Field: "template", Message: "does not end within 3s of processor time"}}}
			w.edit(image("a:2"))
		}, rendered, `component "cart": definition "set": template: does not end within 3s of processor time`},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 10, app("a:1", "one"))
			w.settle()
			before := get(w, &kruisev1alpha1.CloneSet{}, "cart").ResourceVersion
			c.how(w)
			if got := w.condition(c.condition); got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, c.want) {
				t.Errorf("it says %s: %s", got.Status, got.Message)
			}
			if c.condition == rendered && w.condition(parsed).Status != metav1.ConditionTrue {
				t.Error("what stands in the application is blamed too")
			}
			if c.condition == parsed && w.condition(rendered).Status != metav1.ConditionUnknown || w.condition(oamv1beta1.ConditionRevision).Status != metav1.ConditionUnknown {
				t.Error("it says of what comes later that it is known")
			}
			if ready := w.condition(oamv1beta1.ConditionReady); ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, c.want) {
				t.Errorf("Ready says %s: %s", ready.Status, ready.Message)
			}
			if w.app().Status.Phase != oamv1beta1.ApplicationRendering {
				t.Errorf("its phase is %s", w.app().Status.Phase)
			}
			if got := get(w, &kruisev1alpha1.CloneSet{}, "cart").ResourceVersion; got != before || len(w.revisions()) != 1 {
				t.Error("what runs was changed")
			}
			w.r.Renderer = rendering.Here{}
			w.edit(func(a *oamv1beta1.Application) { a.Spec = app("a:1", "one").Spec })
			for _, kind := range recording {
				if got := w.condition(kind); got.Status != metav1.ConditionTrue {
					t.Errorf("mended, it says of %s: %s", kind, got.Message)
				}
			}
		})
	}
}

// instead is a renderer that has no answer.
type instead struct{ err error }

func (i instead) Render(context.Context, render.Request) (render.Result, error) {
	return render.Result{}, i.err
}

func (i instead) Judge(context.Context, render.HealthRequest) (render.Health, error) {
	return render.Health{}, i.err
}

func (w *world) look() error {
	_, err := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "web", Name: "shop"}})
	return err
}

func TestAMachineThatIsBusyIsToldAndBlamesNobody(t *testing.T) {
	busy := errors.New("the rendering did not end in time; the machine may be busy")
	t.Run("rendering", func(t *testing.T) {
		w := newWorld(t, 10, app("a:1", ""))
		w.r.Renderer = instead{err: busy}
		if err := w.look(); !errors.Is(err, busy) {
			t.Errorf("it is not tried again: %v", err)
		}
		if got := w.condition(oamv1beta1.ConditionRender); got.Status != metav1.ConditionUnknown || !strings.Contains(got.Message, busy.Error()) {
			t.Errorf("it says %s: %s", got.Status, got.Message)
		}
		if got := w.condition(oamv1beta1.ConditionParsed); got.Status != metav1.ConditionTrue {
			t.Errorf("it blames the application: %s", got.Message)
		}
	})
	t.Run("judging health", func(t *testing.T) {
		w := newWorld(t, 10, app("a:1", ""))
		d := &oamv1beta1.ComponentDefinition{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "set"}, d); err != nil {
			t.Fatal(err)
		}
		d.Spec.Status = &oamv1beta1.DefinitionStatus{HealthPolicy: "isHealth: true"}
		if err := w.Update(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		w.settle()
		w.r.Renderer = instead{err: busy}
		if err := w.look(); !errors.Is(err, busy) {
			t.Errorf("it is not tried again: %v", err)
		}
		if s := w.app().Status.Services; len(s) != 1 || s[0].Healthy || !strings.Contains(s[0].Message, busy.Error()) {
			t.Errorf("it says %+v", s)
		}
	})
}

// story are the phases that somebody sees who follows the application, with what the rollout says.
func (w *world) story() []string {
	w.t.Helper()
	var all []string
	for range 20 {
		before := w.versions()
		if err := w.look(); err != nil {
			w.t.Fatal(err)
		}
		a := w.app()
		rollout := apimeta.FindStatusCondition(a.Status.Conditions, oamv1beta1.ConditionRollout)
		applied := apimeta.FindStatusCondition(a.Status.Conditions, oamv1beta1.ConditionApplied)
		now := string(a.Status.Phase) + ", rolled out " + string(rollout.Status) + ", applied " + string(applied.Status)
		if len(all) == 0 || all[len(all)-1] != now {
			all = append(all, now)
		}
		if w.versions() == before {
			return all
		}
	}
	w.t.Fatal("it does not settle")
	return nil
}

// rolled plays the rollout: its state, and what it has done to the workload.
func (w *world) rolled(state rolloutv1alpha1.RollingState, message string) {
	w.t.Helper()
	w.rollout(func(s *rolloutv1alpha1.RolloutStatus) { s.RollingState, s.Message = state, message })
}

// rollout changes what the rollout says.
func (w *world) rollout(change func(*rolloutv1alpha1.RolloutStatus)) {
	w.t.Helper()
	r := get(w, &oamv1beta1.AppRollout{}, "shop")
	r.Status.ObservedGeneration = r.Generation
	change(&r.Status.RolloutStatus)
	if err := w.Status().Update(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
}

func TestNobodySeesItRunningBeforeTheReleaseIsOver(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "one"))
	w.settle()
	w.edit(func(a *oamv1beta1.Application) {
		inBatches(a)
		image("a:2")(a)
		a.Spec.Components[0].Traits = nil // its object goes when all else is in place
	})
	w.rolled(rolloutv1alpha1.FinalisingState, "lets go of the workloads")
	const rolling = "rollingOut, rolled out False, applied False"
	if diff := cmp.Diff([]string{rolling}, w.story()); diff != "" {
		t.Errorf("while it rolls out (-want +got):\n%s", diff)
	}
	set := get(w, &kruisev1alpha1.CloneSet{}, "cart")
	set.Labels[oamv1beta1.LabelAppRevision], set.Labels[oamv1beta1.LabelComponentRevision] = "shop-v2", "cart-v2"
	set.Spec.Template.Spec.Containers[0].Image = "a:2"
	if err := w.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	w.rolled(rolloutv1alpha1.RolloutSucceedState, "all batches are done, and the workload is released")
	story := w.story()
	if diff := cmp.Diff([]string{rolling, "runningFailed, rolled out True, applied True"}, story); diff != "" { // the set has no controller here
		t.Errorf("at its end (-want +got):\n%s", diff)
	}

	// What somebody deletes afterwards is put back, and is no release.
	w.edit(func(a *oamv1beta1.Application) {
		a.Spec.Components[0].Traits = app("", "two").Spec.Components[0].Traits
	})
	if err := w.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "cart"}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"running, rolled out True, applied False", "runningFailed, rolled out True, applied True"}, w.story()); diff != "" {
		t.Errorf("when something is put back (-want +got):\n%s", diff)
	}
}

func TestAPlanThatTheServerRefusesIsWhatTheRolloutSays(t *testing.T) {
	w := newWorld(t, 10, app("a:1", "", inBatches))
	refuse := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if of, is := o.(interface{ GetKind() string }); is && of.GetKind() == oamv1beta1.AppRolloutKind {
				return apierrors.NewInvalid(schema.GroupKind{Group: oamv1beta1.GroupVersion.Group, Kind: oamv1beta1.AppRolloutKind}, "shop", nil)
			}
			return c.Apply(ctx, o, options...)
		},
	})
	d := w.r.Dependencies
	d.Client = refuse
	w.r = New(d)
	for range 3 {
		_ = w.look() // it is tried again
	}
	if got := w.condition(oamv1beta1.ConditionRollout); got.Status != metav1.ConditionFalse || got.Reason != "RolloutRefused" || !strings.Contains(got.Message, "is invalid") {
		t.Errorf("it says %s: %s", got.Reason, got.Message)
	}
	if got := w.app().Status.Phase; got != oamv1beta1.ApplicationRollingOutFailed {
		t.Errorf("its phase is %s", got)
	}
}

func TestSomebodyElsesRolloutIsNamed(t *testing.T) {
	r := &oamv1beta1.AppRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop"}}
	w := newWorld(t, 10, app("a:1", "", inBatches), r)
	w.settle()
	for _, kind := range []string{oamv1beta1.ConditionRollout, oamv1beta1.ConditionApplied} {
		if got := w.condition(kind); got.Status != metav1.ConditionFalse || got.Reason != "Blocked" || !strings.Contains(got.Message, "AppRollout shop is there, and is not this application's but somebody else's") {
			t.Errorf("%s says %s: %s", kind, got.Reason, got.Message)
		}
	}
}
