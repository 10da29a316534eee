// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cafe"
	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/internal/inplaceset"
	"slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
	asked "slipway.dev/slipway/internal/rollout/subject"
	"slipway.dev/slipway/internal/statefulset"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Hooks let a test put a fault into the controller of rollouts.
type Hooks struct {
	// Plan replaces the planner; nil keeps it.
	Plan func(engine.World, time.Time) engine.Plan
	// Dependencies changes what a new manager process is made of; nil leaves it.
	Dependencies func(*rollout.Dependencies)
}

// kind is RolloutTrait, as the world meets it, with one kind of workloads.
type kind struct {
	subject
	mutation Hooks
	judge    *judge
	// stopped: the controllers of workloads are out of order.
	stopped bool
	// calls and samples are the errands of the process that runs.
	calls   *desk[hook.Answer]
	samples *desk[measure.Sample]
}

var _ world.OwnKind = &kind{}

func (*kind) Stored() api.Kind { return api.RolloutTraits }

// Controllers are that of rollouts, and those of the workloads.
func (k *kind) Controllers(m *world.Manager) []world.Controller {
	line, clock, once := m.Line(), m.World.Clock, apply.Options{Concurrency: 1}
	wake := func(name types.NamespacedName) { m.Wake(world.Item{NamespacedName: name}) }
	k.calls, k.samples = &desk[hook.Answer]{wake: wake}, &desk[measure.Sample]{wake: wake}
	registry, err := adapter.NewRegistry()
	if err != nil {
		panic(fmt.Sprintf("the known kinds are not known: %v", err))
	}
	next := engine.Next
	if k.mutation.Plan != nil {
		next = k.mutation.Plan
	}
	d := rollout.Dependencies{
		Cache: m.Cache, Live: line, Client: line, Events: world.Silence{}, Clock: clock, Apply: once,
		Plan: func(w engine.World, now time.Time) engine.Plan {
			p := next(w, now)
			m.Planned(world.Plan{Lines: k.told(p)})
			return p
		},
		Kinds:   &adapter.Adapters{Live: line, Registry: registry},
		Errands: rollout.Errands{Hooks: k.calls, Metrics: k.samples}, Registry: prometheus.NewRegistry(),
	}
	if k.mutation.Dependencies != nil {
		k.mutation.Dependencies(&d)
	}
	reconciler, err := rollout.New(asked.Traits{}, d)
	if err != nil {
		panic(fmt.Sprintf("the controller cannot be made: %v", err))
	}
	own := func(r reconcile.Reconciler, stored api.Kind, name, group string) world.Controller {
		return world.Controller{Reconciler: halting{r, k}, Stored: stored, Requests: world.Requests(stored, name, group)}
	}
	all := []world.Controller{{Reconciler: reconciler, Stored: api.RolloutTraits, Requests: requests}}
	switch k.stored {
	case api.CafeDeployments:
		all = append(all, own(cafe.New(cafe.Dependencies{
			Cache: m.Cache, Live: line, Client: line, Events: world.Silence{}, Clock: clock, Apply: once,
		}), api.CafeDeployments, "CafeDeployment", "apps.cafe.cloud.alipay.com"))
		fallthrough
	case api.InPlaceSets:
		all = append(all, own(inplaceset.New(inplaceset.Dependencies{
			Cache: m.Cache, Live: line, Client: line, Events: world.Silence{}, Clock: clock, Apply: once,
		}), api.InPlaceSets, "InPlaceSet", "apps.cafe.cloud.alipay.com"))
	case api.CloneSets:
		all = append(all, own(cloneset.New(cloneset.Dependencies{
			Cache: m.Cache, Live: line, Client: line, Events: world.Silence{}, Clock: clock, Apply: once,
		}), api.CloneSets, "CloneSet", "apps.kruise.io"))
	case api.StatefulSets:
		all = append(all, own(statefulset.New(statefulset.Dependencies{
			Cache: m.Cache, Live: line, Client: line, Events: world.Silence{}, Clock: clock, Apply: once,
		}), api.StatefulSets, "StatefulSet", "apps.kruise.io"))
	default: // those of Kubernetes
	}
	return all
}

// told are the actions of a plan, line by line, for who plays a story.
func (k *kind) told(p engine.Plan) []string {
	var lines []string
	for _, a := range p.Actions {
		lines = append(lines, fmt.Sprintf("%T: %s", a, a.Why()))
	}
	return lines
}

// halting is a controller that can be out of order.
type halting struct {
	reconcile.Reconciler
	*kind
}

func (h halting) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if h.stopped {
		return ctrl.Result{RequeueAfter: 5 * time.Second}, nil
	}
	return h.Reconciler.Reconcile(ctx, request)
}

// requests are the rollouts that are looked at upon a write: of themselves, and of the workloads that they hold.
func requests(w api.Write) []types.NamespacedName {
	if w.Kind == api.RolloutTraits {
		return []types.NamespacedName{w.Key()}
	}
	var found []types.NamespacedName
	for _, o := range []client.Object{w.Before, w.After} {
		if o == nil || o.GetLabels()[rolloutv1alpha1.LabelHeld] == "" {
			continue // the watch is filtered by the label
		}
		if name, is := world.ControlledBy(o, rolloutv1alpha1.RolloutTraitKind, rolloutv1alpha1.GroupVersion.Group); is {
			found = append(found, types.NamespacedName{Namespace: o.GetNamespace(), Name: name})
		}
	}
	return found
}

func (*kind) Admit(client.Object) {}

func (*kind) Describe(o client.Object) string { return describePlan(typed(o)) }

func (*kind) HasVolumes() bool { return false }

func (k *kind) Bench(w *world.World) world.Bench {
	k.judge = newJudge(w, k)
	return k.judge
}

func (k *kind) Summary(w *world.World) string { return w.Tallies(k.stored) }

func (*kind) Outcome(o client.Object) []string { return []string{stateOf(typed(o))} }

// typed is a stored rollout with its type; nil when there is none.
func typed(o client.Object) *rolloutv1alpha1.RolloutTrait {
	t, _ := o.(*rolloutv1alpha1.RolloutTrait)
	return t
}
