// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/application/rolling"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/subject"
	"slipway.dev/slipway/test/rendering"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// limit is how many revisions are kept that nothing uses.
const limit = 3

// Hooks let a test put a fault into the controllers.
type Hooks struct {
	// Plan and Engine replace the planners of applications and of rollouts; nil keeps them.
	Plan   func(plan.World) plan.Plan
	Engine func(engine.World, time.Time) engine.Plan
	// Line changes the connection by which both write and read; nil leaves it.
	Line func(client.Client) client.Client
	// Application changes what the controller of a new process is made of; nil leaves it.
	Application func(*application.Dependencies)
	// Rollouts takes the place of what AppRollouts add to the controller of rollouts; nil keeps it.
	Rollouts func(rolling.AppRollouts) subject.Kind
}

// kind is Application, as the world meets it.
type kind struct {
	mutation Hooks
	judge    *judge
}

var _ world.OwnKind = &kind{}

func (*kind) Stored() api.Kind { return api.Applications }

// Controllers are those of applications, of AppRollouts, and of the workloads that are no kind of Kubernetes.
func (k *kind) Controllers(m *world.Manager) []world.Controller {
	line, clock, once := m.Line(), m.World.Clock, apply.Options{Concurrency: 1}
	registry, err := adapter.NewRegistry()
	if err != nil {
		panic(fmt.Sprintf("the known kinds are not known: %v", err))
	}
	ours := line
	if k.mutation.Line != nil {
		ours = k.mutation.Line(line)
	}
	kinds := &adapter.Adapters{Live: ours, Mapper: mapper, Registry: registry}
	next, drive := plan.Next, engine.Next
	if k.mutation.Plan != nil {
		next = k.mutation.Plan
	}
	if k.mutation.Engine != nil {
		drive = k.mutation.Engine
	}
	d := application.Dependencies{
		Cache: m.Cache, Live: ours, Client: ours, Events: world.Silence{}, Clock: clock, Apply: once, Mapper: mapper, Kinds: kinds,
		Renderer: rendering.Here{}, SystemNamespace: oamv1beta1.SystemNamespace, RevisionLimit: limit, Managers: []string{world.Actor},
		Plan: func(w plan.World) plan.Plan {
			p := next(w)
			m.Planned(world.Plan{Steps: p.Steps})
			return p
		},
	}
	if k.mutation.Application != nil {
		k.mutation.Application(&d)
	}
	var rollouts subject.Kind = rolling.AppRollouts{Live: ours, Kinds: kinds, Clock: clock}
	if k.mutation.Rollouts != nil {
		rollouts = k.mutation.Rollouts(rollouts.(rolling.AppRollouts))
	}
	rolls, err := rollout.New(rollouts, rollout.Dependencies{
		Cache: m.Cache, Live: ours, Client: ours, Events: world.Silence{}, Clock: clock, Apply: once, Kinds: kinds, Plan: drive,
		Errands: rollout.Errands{Hooks: idle[hook.Answer]{}, Metrics: idle[measure.Sample]{}}, Registry: prometheus.NewRegistry(),
	})
	if err != nil {
		panic(fmt.Sprintf("the controller cannot be made: %v", err))
	}
	return []world.Controller{
		{Reconciler: application.New(d), Stored: api.Applications, Requests: applications},
		{Reconciler: rolls, Stored: api.AppRollouts, Requests: rolloutsOf},
		{
			Reconciler: cloneset.New(cloneset.Dependencies{Cache: m.Cache, Live: line, Client: line, Events: world.Silence{}, Clock: clock, Apply: once}),
			Stored:     api.CloneSets, Requests: world.Requests(api.CloneSets, "CloneSet", "apps.kruise.io"),
		},
	}
}

// watched are the kinds of objects that definitions make.
var watched = []api.Kind{api.CloneSets, api.Deployments, api.Services, api.Autoscalers}

// applications are those that are looked at upon a write: of themselves, of definitions, and of what they control. The watches of
// what was deployed are filtered by a label.
func applications(w api.Write) []types.NamespacedName {
	switch w.Kind {
	case api.Applications:
		return []types.NamespacedName{w.Key()}
	case api.ComponentDefinitions, api.TraitDefinitions:
		return []types.NamespacedName{world.TheSet}
	case api.AppRollouts:
		return controlling(w, oamv1beta1.ApplicationKind, "")
	}
	if slices.Contains(watched, w.Kind) {
		return controlling(w, oamv1beta1.ApplicationKind, oamv1beta1.LabelAppName)
	}
	return nil
}

// rolloutsOf are the AppRollouts that are looked at upon a write: of themselves, and of the workloads that they hold.
func rolloutsOf(w api.Write) []types.NamespacedName {
	if w.Kind == api.AppRollouts {
		return []types.NamespacedName{w.Key()}
	}
	return controlling(w, oamv1beta1.AppRolloutKind, rolloutv1alpha1.LabelHeld)
}

// controlling are the objects of a kind that control what a write is of, before or after it, where it has a label.
func controlling(w api.Write, kind, label string) []types.NamespacedName {
	var found []types.NamespacedName
	for _, o := range []client.Object{w.Before, w.After} {
		if o == nil || label != "" && o.GetLabels()[label] == "" {
			continue
		}
		if name, is := world.ControlledBy(o, kind, oamv1beta1.GroupName); is {
			found = append(found, types.NamespacedName{Namespace: o.GetNamespace(), Name: name})
		}
	}
	return found
}

// mapper knows the kinds that definitions make.
var mapper = func() apimeta.RESTMapper {
	m := apimeta.NewDefaultRESTMapper(nil)
	for _, id := range []schema.GroupVersionKind{
		{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "CloneSet"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
		{Version: "v1", Kind: "Service"}, {Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	} {
		m.Add(id, apimeta.RESTScopeNamespace)
	}
	return m
}()

func (*kind) Admit(client.Object) {}

func (*kind) Describe(o client.Object) string { return describe(typed(o)) }

func (*kind) HasVolumes() bool { return false }

func (k *kind) Bench(w *world.World) world.Bench {
	k.judge = newJudge(w)
	return k.judge
}

func (*kind) Summary(w *world.World) string { return w.Tallies(carriers...) }

func (*kind) Outcome(o client.Object) []string { return []string{string(typed(o).Status.Phase)} }

// typed is a stored application with its type; nil when there is none.
func typed(o client.Object) *oamv1beta1.Application {
	a, _ := o.(*oamv1beta1.Application)
	return a
}

// idle is a desk of errands that nobody has: webhooks and metrics are the business of package test/simulation/rollout.
type idle[A any] struct{}

var _ rollout.Desk[int] = idle[int]{}

func (idle[A]) Begin(_ errand.Owner, e errand.Errand[A]) {
	panic("no plan of these stories has an errand: " + e.Key)
}

func (idle[A]) Reports(errand.Owner) map[string]errand.Report[A] { return nil }

func (idle[A]) Keep(errand.Owner, ...string) {}

func (idle[A]) Forget(types.NamespacedName) {}

func (idle[A]) Source() source.Source { return nil }

func (idle[A]) Start(context.Context) error { return nil }
