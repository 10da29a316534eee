// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/subject"
	"slipway.dev/slipway/internal/step"
)

// prepared is a kind whose rollouts need an object to be applied first, and one after their end.
type prepared struct {
	subject.Traits
	first, holds, last bool
	fails              error
}

func (k prepared) Subject(ctx context.Context, object client.Object) (subject.Subject, error) {
	s, err := k.Traits.Subject(ctx, object)
	applied := func(name string) []step.Step {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("v1")
		o.SetKind("ConfigMap")
		o.SetNamespace("shop")
		o.SetName(name)
		return []step.Step{step.Apply{Because: "it comes first", Object: o}}
	}
	if k.first {
		s.First, s.Holds = applied("first"), k.holds
	}
	if k.last {
		s.Last = func(context.Context) ([]step.Step, error) { return applied("last"), k.fails }
	}
	return s, err
}

// What comes first is done before anything is decided, and what is refused is told.
func TestARolloutBeginsWithWhatComesFirst(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "first", errors.New("it has changed"))
	for sentence, c := range map[string]struct {
		refusal error
		asked   bool
		blocked string
		again   time.Duration
	}{
		"it is looked at again when that is done":  {nil, false, "", time.Millisecond},
		"also when the view was old":               {conflict, false, "", afterConflict},
		"the engine waits when the server says no": {errors.New("quota exceeded"), true, "quota exceeded", 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			trait := &rolloutv1alpha1.RolloutTrait{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "release", UID: "u"},
				Spec:       rolloutv1alpha1.RolloutTraitSpec{TargetRef: rolloutv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
			}
			var seen []engine.World
			d := newDesk(t, func(w engine.World, _ time.Time) engine.Plan {
				seen = append(seen, w)
				return engine.Plan{Status: w.Rollout.Status}
			}, trait)
			d.kind = prepared{first: true}
			refusing := interceptor.NewClient(d.server.(client.WithWatch), interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return c.refusal
				},
			})
			d.others = apply.New(refusing, nil, apply.Options{})
			result, err := d.pass(t.Context(), trait)
			if asked := len(seen) > 0; asked != c.asked {
				t.Fatalf("the engine was asked: %v", asked)
			}
			if (err != nil) != c.asked || result.RequeueAfter != c.again {
				t.Errorf("it ends with %v, %v", result, err)
			}
			if c.asked && !strings.Contains(seen[0].Blocked, c.blocked) {
				t.Errorf("the engine sees %q", seen[0].Blocked)
			}
		})
	}
}

// What holds something back is not done for a rollout that could go without letting go.
func TestTheFinalizerComesBeforeWhatHoldsSomethingBack(t *testing.T) {
	for sentence, c := range map[string]struct {
		refusal error
		blocked string
	}{
		"it is looked at again when it is there":   {nil, ""},
		"the engine waits when the server says no": {errors.New("quota exceeded"), "quota exceeded"},
	} {
		t.Run(sentence, func(t *testing.T) {
			trait := release()
			var seen []engine.World
			d := newDesk(t, func(w engine.World, _ time.Time) engine.Plan {
				seen = append(seen, w)
				return engine.Plan{Status: w.Rollout.Status}
			}, trait)
			d.kind = prepared{first: true, holds: true}
			refusing := interceptor.NewClient(d.server.(client.WithWatch), interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					t.Error("it is held back before")
					return nil
				},
				Patch: func(ctx context.Context, s client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
					if c.refusal != nil {
						return c.refusal
					}
					return s.Patch(ctx, o, p, options...)
				},
			})
			d.own, d.others = apply.New(refusing, nil, apply.Options{}), apply.New(refusing, nil, apply.Options{})
			if err := d.server.Get(t.Context(), client.ObjectKeyFromObject(trait), trait); err != nil {
				t.Fatal(err)
			}
			_, err := d.pass(t.Context(), trait)
			if (err != nil) != (c.refusal != nil) || (len(seen) > 0) != (c.refusal != nil) || len(seen) > 0 && !strings.Contains(seen[0].Blocked, c.blocked) {
				t.Errorf("it ends with %v, and the engine sees %v", err, seen)
			}
			if err := d.server.Get(t.Context(), client.ObjectKeyFromObject(trait), trait); err != nil {
				t.Fatal(err)
			}
			if there := slices.Contains(trait.Finalizers, rolloutv1alpha1.FinalizerRollout); there != (c.refusal == nil) {
				t.Errorf("it has %v", trait.Finalizers)
			}
		})
	}
}

func release() *rolloutv1alpha1.RolloutTrait {
	return &rolloutv1alpha1.RolloutTrait{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "release", UID: "u"}}
}

// A manager that has just started may see a rollout as it was long ago, with a target that another one has taken the place of.
func TestWithAnOldViewNothingIsPrepared(t *testing.T) {
	trait := release()
	d := newDesk(t, nil, trait)
	d.others = apply.New(interceptor.NewClient(d.server.(client.WithWatch), interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			t.Error("it was done")
			return nil
		},
	}), nil, apply.Options{})
	asks, err := prepared{first: true}.Subject(t.Context(), trait)
	if err != nil {
		t.Fatal(err)
	}
	old := trait.DeepCopy()
	old.ResourceVersion = "1"
	if _, err := d.prepare(t.Context(), old, &observed{subject: asks}); !errors.Is(err, errOld) {
		t.Errorf("it ends with %v", err)
	}
}

// What comes last waits until the workloads are let go.
func TestWhatComesLastWaitsForTheWorkloads(t *testing.T) {
	for sentence, held := range map[string]bool{"while one is held": true, "when it is let go": false} {
		t.Run(sentence, func(t *testing.T) {
			trait := release()
			d := newDesk(t, nil, trait)
			var applied []string
			writer := interceptor.NewClient(d.server.(client.WithWatch), interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					applied = append(applied, "last")
					return nil
				},
			})
			d.others = apply.New(writer, nil, apply.Options{})
			asks, err := prepared{last: true}.Subject(t.Context(), &rolloutv1alpha1.RolloutTrait{})
			if err != nil {
				t.Fatal(err)
			}
			o := observed{subject: asks}
			o.world.Target.Held = held
			if _, err := d.prepare(t.Context(), trait, &o); err != nil {
				t.Fatal(err)
			}
			if took := len(applied) > 0; took == held {
				t.Errorf("it was done: %v", took)
			}
		})
	}
}

// What cannot be found out at the end is never in the way of letting go.
func TestWhatComesLastIsNotAskedForTooEarly(t *testing.T) {
	busy := errors.New("the server is busy")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "last", errors.New("no role"))
	for sentence, c := range map[string]struct {
		fails, want error
		held        bool
		blocked     string
	}{
		"while a workload is held":          {busy, nil, true, ""},
		"it is tried again":                 {busy, busy, false, ""},
		"a right that is missing is told":   {forbidden, nil, false, "no role"},
		"nothing is told while one is held": {forbidden, nil, true, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			trait := release()
			d := newDesk(t, nil, trait)
			d.others = apply.New(interceptor.NewClient(d.server.(client.WithWatch), interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return nil
				},
			}), nil, apply.Options{})
			asks, err := prepared{last: true, fails: c.fails}.Subject(t.Context(), &rolloutv1alpha1.RolloutTrait{})
			if err != nil {
				t.Fatal(err)
			}
			o := observed{subject: asks}
			o.world.Target.Held = c.held
			if _, err := d.prepare(t.Context(), trait, &o); !errors.Is(err, c.want) {
				t.Errorf("it fails with %v", err)
			}
			if (o.world.Blocked != "") != (c.blocked != "") || !strings.Contains(o.world.Blocked, c.blocked) {
				t.Errorf("it says %q", o.world.Blocked)
			}
		})
	}
}
