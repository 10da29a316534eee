// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Hooks let a test put a fault into the manager.
type Hooks struct {
	// Plan replaces the planner; nil keeps it.
	Plan func(plan.World, time.Time) plan.Plan
	// Dependencies changes what a new manager process is made of; nil leaves it.
	Dependencies func(*cloneset.Dependencies)
}

// kind is CloneSet, as the world meets it.
type kind struct{ hooks Hooks }

var _ world.SetKind = kind{}

func (kind) Stored() api.Kind { return api.CloneSets }

func (k kind) New(m *world.Manager) reconcile.Reconciler {
	next := plan.Next
	if k.hooks.Plan != nil {
		next = k.hooks.Plan
	}
	d := cloneset.Dependencies{
		Cache:  m.Cache,
		Live:   m.Line(),
		Client: m.Line(),
		Events: world.Silence{},
		Clock:  m.World.Clock,
		Plan: func(w plan.World, now time.Time) plan.Plan {
			p := next(w, now)
			m.Planned(world.Plan{Steps: p.Steps, Held: p.Held, Throttled: p.Throttled})
			return p
		},
		Apply: apply.Options{Concurrency: 1},
	}
	if k.hooks.Dependencies != nil {
		k.hooks.Dependencies(&d)
	}
	return cloneset.New(d)
}

func (kind) Concerns(w api.Write) bool { return world.Concerns(w, api.CloneSets, "CloneSet") }

func (kind) Admit(o client.Object) { admit(typed(o)) }

func (kind) Describe(o client.Object) string { return describeSpec(typed(o)) }

func (kind) Asks(o client.Object) world.Spec {
	set := typed(o)
	return world.Spec{
		Template: &set.Spec.Template, Hooks: ptr.Deref(set.Spec.Lifecycle, kruisev1alpha1.Lifecycle{}),
		MinReadySeconds: set.Spec.MinReadySeconds, Paused: set.Spec.UpdateStrategy.Paused, Current: set.Status.CurrentRevision,
		GraceSeconds: grace(set),
	}
}

func (kind) Rules(s *world.Scene) world.Rules {
	set := typed(s.Owner)
	return &scene{Scene: s, set: set, numbers: numbersOf(set)}
}

func (kind) HasVolumes() bool { return false }

func (kind) Outcome(o client.Object) []string {
	set := typed(o)
	status := told(&set.Status)
	text := fmt.Sprintf("%d replicas, %d ready, %d available, %d updated of %d expected", status.Replicas, status.Ready, status.Available, status.Updated, status.ExpectedUpdated)
	if set.Status.CurrentRevision == set.Status.UpdateRevision {
		text += ", the release is complete"
	}
	lines := []string{text}
	for _, c := range set.Status.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return lines
}

// typed is a stored set with its type; nil when there is none.
func typed(o client.Object) *kruisev1alpha1.CloneSet {
	set, _ := o.(*kruisev1alpha1.CloneSet)
	return set
}

// scene is the moment before a write, for one version of the spec.
type scene struct {
	*world.Scene
	set *kruisev1alpha1.CloneSet
	numbers
}

// First: who watches states wants to see every pod from the start.
func (s *scene) First(*corev1.Pod) kruisev1alpha1.LifecycleState {
	if world.AnyConfigured(s.Hooks) {
		return kruisev1alpha1.LifecyclePreparingNormal
	}
	return kruisev1alpha1.LifecycleNormal
}

// Set judges a write of the set.
func (s *scene) Set(w api.Write) error {
	if w.Subresource == api.Main {
		return s.trims(typed(w.Before), typed(w.After))
	}
	return s.setWrite(w)
}
