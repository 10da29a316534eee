// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/application/rolling"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/subject"
	"slipway.dev/slipway/internal/step"
)

// TestMutations puts faults into the controllers, and expects that a story shows each by the rule that it offends. The story is one of
// those of the golden transcripts, which take a part of a second; the judge is the same as that of random ones.
func TestMutations(t *testing.T) {
	for sentence, m := range map[string]struct {
		story, kind string
		hooks       Hooks
		caught      string
	}{
		"a plan is not waited for": {"the next one goes in batches", inPlace, planning(func(w *plan.World) {
			app := w.App.DeepCopy()
			app.Spec.RolloutPlan = nil
			w.App = app
		}, nil), "it is made with"},
		"the template comes without what holds it back": {"the next one goes in batches", inPlace, applying(func(o *unstructured.Unstructured) {
			unstructured.RemoveNestedField(o.Object, "spec", "updateStrategy", "partition")
		}), "it gets a new template, and 4 pods may have it at once"},
		"a batch takes one more": {"the next one goes in batches", inPlace, doing(func(a engine.Action) engine.Action {
			if advance, is := a.(engine.Advance); is {
				advance.To++
				return advance
			}
			return a
		}), "the goal of batch 1 of 2 is 2"},
		"a batch is written out too large": {"the next one goes in batches", apart, Hooks{Engine: func(w engine.World, now time.Time) engine.Plan {
			p := engine.Next(w, now)
			if running := p.Status.Running; running != nil && w.Rollout.Status.Running == nil {
				running.RolloutBatches[0].Replicas = ptr.To(intstr.FromInt32(3))
			}
			return p
		}}, "batch 1 of 2 has 3 pods, and 2 are its part of 4"},
		"a batch grows that has begun": {"the next one goes in batches", apart, Hooks{Engine: func(w engine.World, now time.Time) engine.Plan {
			p := engine.Next(w, now)
			if w.Rollout.Status.RollingState == rolloutv1alpha1.RollingInBatchesState {
				p.Status.Running.RolloutBatches[0].Replicas = ptr.To(intstr.FromInt32(3))
			}
			return p
		}}, "batch 1 of 2 has"},
		"what serves is taken away": {"the next one goes in batches", apart, Hooks{Plan: func(w plan.World) plan.Plan {
			p := plan.Next(w)
			if live := w.Components[0].Live; len(live) == 1 && w.Latest == "web-v2" {
				p.Steps = append(p.Steps, step.Delete(live[0], "it is in the way"))
			}
			return p
		}}, "it is taken away with 4 pods"},
		"the target grows by one more": {"the next one goes in batches", apart, doing(func(a engine.Action) engine.Action {
			if resize, is := a.(engine.Resize); is && resize.To > 0 {
				resize.To++
				return resize
			}
			return a
		}), "the goal of batch"},
		"the source goes first": {"the next one goes in batches", apart, Hooks{Engine: func(w engine.World, now time.Time) engine.Plan {
			if w.Source != nil && w.Target.Replicas > w.Target.Available {
				w.Target.Available, w.Target.Ready, w.Target.Pods = w.Target.Replicas, w.Target.Replicas, w.Target.Replicas
			}
			return engine.Next(w, now)
		}}, "are wanted"},
		"a new workload has all pods at once": {"the first release goes from none to its size in batches", inPlace, applying(func(o *unstructured.Unstructured) {
			if o.GetKind() == "CloneSet" {
				_ = unstructured.SetNestedField(o.Object, int64(4), "spec", "replicas")
			}
		}), "pods at once"},
		"what is applied has no controller": {"the first release goes from none to its size in batches", apart, applying(func(o *unstructured.Unstructured) {
			refs := o.GetOwnerReferences()
			refs[0].Controller = nil
			o.SetOwnerReferences(refs)
		}), "controller"},
		"nothing that left is taken away": {"one component goes after the other, and one leaves", inPlace, planning(nil, func(p *plan.Plan) {
			for _, s := range p.Steps {
				if _, is := s.(step.DeleteSet); is {
					p.Steps, p.Done = nil, true
				}
			}
		}), "there are 2 v1, 4 v2"},
		"a revision is made for a plan": {"an edit of the plan alone makes no revision", inPlace, Hooks{Application: func(d *application.Dependencies) {
			d.Cache = counting{d.Cache}
		}}, "nothing has changed"},
		"a number is left out": {"the next one goes in batches", apart, recording(func(_ client.Client, r *oamv1beta1.ApplicationRevision) {
			if r.Spec.Revision == 2 {
				r.Spec.Revision, r.Name = 3, "web-v3"
			}
		}), "the next one is 2"},
		"a revision in use is forgotten": {"the next one goes in batches", inPlace, recording(func(c client.Client, r *oamv1beta1.ApplicationRevision) {
			if r.Spec.Revision == 2 {
				_ = c.Delete(context.Background(), &oamv1beta1.ApplicationRevision{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "web-v1"}})
			}
		}), "uses it"},
		"the same content has other objects": {"going back afterwards goes in batches", inPlace, recording(func(_ client.Client, r *oamv1beta1.ApplicationRevision) {
			if workload := r.Spec.ComponentRevisions[0].Workload; r.Spec.Revision == 3 {
				workload.Raw = append([]byte(" "), workload.Raw...)
			}
		}), "the same content has other objects"},
		"what was never held is not given back": {"deleted before it holds the workload", inPlace, Hooks{Rollouts: func(k rolling.AppRollouts) subject.Kind { return forgetful{k} }}, "has none of its 4 pods on its template, and nobody holds it"},
		"nobody opens what is over": {"swapped before it holds the workload", inPlace, planning(nil, func(p *plan.Plan) {
			p.Steps, p.Done = nil, true
		}), "keeps 4 pods back"},
		"what only the source had stays":          {"forward", apart, Hooks{Rollouts: func(k rolling.AppRollouts) subject.Kind { return forgetful{k} }}, "2 workloads"},
		"the rollout lets go without giving back": {"the next one goes in batches", inPlace, Hooks{Line: func(c client.Client) client.Client { return keeping{c} }}, "the controller of cart"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			for _, st := range slices.Concat(stories, byHandStories, unclaimed, unclaimedByHand) {
				if st.name != m.story {
					continue
				}
				told, err := st.play(m.kind, m.hooks)
				if err == nil || !strings.Contains(err.Error(), m.caught) {
					t.Errorf("it says %v, and should say %q\n%s", err, m.caught, told)
				}
				return
			}
			t.Errorf("there is no story %q", m.story)
		})
	}
}

// planning decides in another world, and does something else.
func planning(in func(*plan.World), then func(*plan.Plan)) Hooks {
	return Hooks{Plan: func(w plan.World) plan.Plan {
		if in != nil {
			in(&w)
		}
		p := plan.Next(w)
		if then != nil {
			then(&p)
		}
		return p
	}}
}

// doing changes what rollouts do, action by action.
func doing(change func(engine.Action) engine.Action) Hooks {
	return Hooks{Engine: func(w engine.World, now time.Time) engine.Plan {
		p := engine.Next(w, now)
		for i, a := range p.Actions {
			p.Actions[i] = change(a)
		}
		return p
	}}
}

// applying changes what is applied.
func applying(change func(*unstructured.Unstructured)) Hooks {
	return Hooks{Line: func(c client.Client) client.Client { return tampering{c, change} }}
}

type tampering struct {
	client.Client
	change func(*unstructured.Unstructured)
}

func (c tampering) Apply(ctx context.Context, configuration runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	o := &unstructured.Unstructured{Object: configuration.(runtime.Unstructured).UnstructuredContent()}
	if o.GetKind() != oamv1beta1.AppRolloutKind {
		c.change(o)
	}
	return c.Client.Apply(ctx, configuration, opts...)
}

// forgetful rollouts do nothing after their last batch.
type forgetful struct{ rolling.AppRollouts }

func (k forgetful) Subject(ctx context.Context, o client.Object) (subject.Subject, error) {
	s, err := k.AppRollouts.Subject(ctx, o)
	s.Last = nil
	return s, err
}

// keeping is a line on which nobody becomes the controller of what he had.
type keeping struct{ client.Client }

func (c keeping) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	loose, is := o.(*unstructured.Unstructured)
	if is {
		refs := loose.GetOwnerReferences()
		if len(refs) == 1 && refs[0].Kind == oamv1beta1.ApplicationKind {
			refs[0].Controller = nil
			loose.SetOwnerReferences(refs)
		}
	}
	return c.Client.Patch(ctx, o, patch, opts...)
}

// counting shows applications with a property that tells the number of batches, as if the plan were a part of the content.
type counting struct{ client.Reader }

func (c counting) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := c.Reader.Get(ctx, key, o, opts...)
	if app, is := o.(*oamv1beta1.Application); is && err == nil {
		*app = *app.DeepCopy()
		var values map[string]any
		readInto(app.Spec.Components[0].Properties, &values)
		values["labels"] = map[string]any{"batches": fmt.Sprint(*app.Spec.RolloutPlan.NumBatches)}
		app.Spec.Components[0].Properties = properties(values)
	}
	return err
}

// recording is a line on which revisions are changed on their way to the server.
func recording(change func(client.Client, *oamv1beta1.ApplicationRevision)) Hooks {
	return Hooks{Line: func(c client.Client) client.Client { return recorder{c, change} }}
}

type recorder struct {
	client.Client
	change func(client.Client, *oamv1beta1.ApplicationRevision)
}

func (c recorder) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if r, is := o.(*oamv1beta1.ApplicationRevision); is {
		c.change(c.Client, r)
	}
	return c.Client.Create(ctx, o, opts...)
}
