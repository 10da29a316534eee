// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/test/simulation/world"
)

// TestMutationsAreCaught puts one fault after the other into the engine and the adapters, and expects that a story shows it by breaking
// the rule that the fault offends. A judge that everything passes would prove nothing.
func TestMutationsAreCaught(t *testing.T) {
	for sentence, m := range map[string]struct {
		of     string // the kind of the stories
		hooks  Hooks
		caught []string // what the violation says, one of
	}{
		"a batch has one pod more": {"cloneset", doing(func(a engine.Action) engine.Action {
			if advance, is := a.(engine.Advance); is {
				advance.To++
				return advance
			}
			return a
		}), []string{"pods may be updated, and the goal"}},
		"a pod more is deleted of a DaemonSet": {"daemonset", doing(func(a engine.Action) engine.Action {
			if advance, is := a.(engine.Advance); is {
				advance.To++
				return advance
			}
			return a
		}), []string{"pods may be updated, and the goal"}},
		"a scale goes a pod too far": {"inplaceset", doing(func(a engine.Action) engine.Action {
			if resize, is := a.(engine.Resize); is {
				resize.To += 2
				return resize
			}
			return a
		}), []string{"are done, and the goal of batch", "the goal shrinks"}},
		"the source shrinks before the target serves": {"deployment", seeing(func(w *engine.World) {
			w.Target.Available = w.Target.Replicas
		}), []string{"may be unavailable", "available pods, and it needs"}},
		"old pods of a StatefulSet that are ready count as updated": {"statefulset", seeing(func(w *engine.World) {
			if w.Target.Versions {
				w.Target.Updated, w.Target.UpdatedAvailable = w.Target.Pods, w.Target.Ready
			}
		}), []string{"pods are updated, and", "updated pods are available"}},
		"pods that are not available count": {"advanced-statefulset", seeing(func(w *engine.World) {
			w.Target.UpdatedAvailable = w.Target.Updated
		}), []string{"updated pods are available"}},
		"a pause is ignored": {"cloneset", seeing(func(w *engine.World) { w.Rollout.Plan.Paused = false }), []string{"in a pause"}},
		"a partition is ignored": {"cloneset", seeing(func(w *engine.World) { w.Rollout.Plan.BatchPartition = nil }), []string{
			"pods may be updated, and the goal", "are done, and the goal",
		}},
		"metrics are not asked":   {"inplaceset", seeing(func(w *engine.World) { w.Rollout.Plan.CanaryMetric = nil }), []string{"was not in range", "the goal of batch"}},
		"webhooks are not called": {"cafedeployment", seeing(func(w *engine.World) { w.Rollout.Plan.RolloutWebhooks = nil }), []string{"has not passed"}},
		"nothing is let go": {"cloneset", without(func(a engine.Action) bool {
			_, is := a.(engine.Release)
			return is
		}), []string{"the last rollout has not begun", "is held", "does not come to rest", "has an owner reference"}},
		"what fails is let go altogether": {"cloneset", doing(func(a engine.Action) engine.Action {
			if release, is := a.(engine.Release); is {
				release.Opens = true
				return release
			}
			return a
		}), []string{"it is released, and lets"}},
		"a claim lets pods go": {"cloneset", doing(func(a engine.Action) engine.Action {
			if hold, is := a.(engine.Hold); is {
				hold.Asked++
				return hold
			}
			return a
		}), []string{"pods move by the claim"}},
		"the finalizer goes first": {"inplaceset", Hooks{Plan: func(w engine.World, now time.Time) engine.Plan {
			p := engine.Next(w, now)
			if w.Rollout.Finalizer && p.Status.RollingState == rolloutv1alpha1.FinalisingState {
				p.Actions = append(p.Actions, engine.Leave{Because: "it is over"})
			}
			return p
		}}, []string{"the finalizer goes, and", "without its finalizer"}},
		"a release leaves the owner": {"cloneset", patching(func(patch map[string]any) {
			if metadata, is := patch["metadata"].(map[string]any); is {
				if refs, has := metadata["ownerReferences"]; has && refs == nil {
					delete(metadata, "ownerReferences")
				}
			}
		}), []string{"it is released with", "has an owner reference", "is held"}},
		"a release leaves the record": {"deployment", patching(func(patch map[string]any) {
			if metadata, is := patch["metadata"].(map[string]any); is {
				if annotations, has := metadata["annotations"]; has && annotations == nil {
					delete(metadata, "annotations")
				}
			}
		}), []string{"the annotation"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			world.CatchWithin(t, 150, func(seed uint64) error { return play(seed, subjectOf(t, m.of), m.hooks, nil) }, m.caught)
		})
	}
}

// TestMutationsAreCaughtInOneStory is for faults that few random stories show.
func TestMutationsAreCaughtInOneStory(t *testing.T) {
	for sentence, m := range map[string]struct {
		story  string
		hooks  Hooks
		caught string
	}{
		"a revert comes at once": {"its metric fails, and it is reverted", Hooks{Plan: func(w engine.World, now time.Time) engine.Plan {
			p := engine.Next(w, now)
			for i, a := range p.Actions {
				if advance, is := a.(engine.Advance); is && p.Status.RollingState == rolloutv1alpha1.RolloutFailingState {
					advance.To = w.Target.Replicas
					p.Actions[i] = advance
				}
			}
			return p
		}}, "pods may go back"},
		"nothing is reverted": {"is reverted by a person", without(func(a engine.Action) bool {
			_, is := a.(engine.BringBack)
			return is
		}), "has an owner reference"},
		"a new template is not noticed": {"is superseded in the middle", seeing(func(w *engine.World) {
			if id := w.Rollout.Status.NewPodTemplateIdentifier; id != "" && !w.Rollout.Status.RollingState.IsFinal() {
				w.Target.Template = id
			}
		}), "it ends as rolloutFailed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			for _, st := range stories {
				if st.name != m.story {
					continue
				}
				told, err := tell(subjectOf(t, "cloneset"), rollsOut, st, m.hooks)
				if err == nil || !strings.Contains(err.Error(), m.caught) {
					t.Errorf("it says %v, and should say %q\n%s", err, m.caught, told)
				}
				return
			}
			t.Errorf("there is no story %q", m.story)
		})
	}
}

func subjectOf(t *testing.T, name string) subject {
	t.Helper()
	for _, s := range subjects {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("there is no kind %q", name)
	return subject{}
}

// seeing lets everything be decided in another world.
func seeing(change func(*engine.World)) Hooks {
	return Hooks{Plan: func(w engine.World, now time.Time) engine.Plan {
		change(&w)
		return engine.Next(w, now)
	}}
}

// doing changes actions one by one.
func doing(change func(engine.Action) engine.Action) Hooks {
	return Hooks{Plan: func(w engine.World, now time.Time) engine.Plan {
		p := engine.Next(w, now)
		for i, a := range p.Actions {
			p.Actions[i] = change(a)
		}
		return p
	}}
}

// without drops actions.
func without(drops func(engine.Action) bool) Hooks {
	return Hooks{Plan: func(w engine.World, now time.Time) engine.Plan {
		p := engine.Next(w, now)
		var kept []engine.Action
		for _, a := range p.Actions {
			if !drops(a) {
				kept = append(kept, a)
			}
		}
		p.Actions = kept
		return p
	}}
}

// patching changes what is written to workloads.
func patching(change func(map[string]any)) Hooks {
	return Hooks{Dependencies: func(d *rollout.Dependencies) { d.Client = tampering{d.Client, change} }}
}

type tampering struct {
	client.Client
	change func(map[string]any)
}

func (c tampering) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	raw, err := patch.Data(o)
	if _, is := o.(*unstructured.Unstructured); !is || err != nil || patch.Type() != types.MergePatchType {
		return c.Client.Patch(ctx, o, patch, opts...)
	}
	tree := map[string]any{}
	if err := json.Unmarshal(raw, &tree); err != nil {
		return err
	}
	tree = maps.Clone(tree)
	c.change(tree)
	if raw, err = json.Marshal(tree); err != nil {
		return err
	}
	return c.Client.Patch(ctx, o, client.RawPatch(patch.Type(), raw), opts...)
}
