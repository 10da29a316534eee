// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/inplaceset"
	"slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Hooks let a test put a fault into the manager.
type Hooks struct {
	// Plan replaces the planner; nil keeps it.
	Plan func(plan.World, time.Time) plan.Plan
	// Dependencies changes what a new manager process is made of; nil leaves it.
	Dependencies func(*inplaceset.Dependencies)
}

// kind is InPlaceSet, as the world meets it.
type kind struct{ hooks Hooks }

var _ world.SetKind = kind{}

func (kind) Stored() api.Kind { return api.InPlaceSets }

func (k kind) New(m *world.Manager) reconcile.Reconciler {
	next := plan.Next
	if k.hooks.Plan != nil {
		next = k.hooks.Plan
	}
	d := inplaceset.Dependencies{
		Cache: m.Cache, Live: m.Line(), Client: m.Line(), Events: world.Silence{}, Clock: m.World.Clock, Apply: apply.Options{Concurrency: 1},
		Plan: func(w plan.World, now time.Time) plan.Plan {
			p := next(w, now)
			m.Planned(world.Plan{Steps: p.Steps, Held: p.Held})
			return p
		},
	}
	if k.hooks.Dependencies != nil {
		k.hooks.Dependencies(&d)
	}
	return inplaceset.New(d)
}

func (kind) Concerns(w api.Write) bool {
	return world.Concerns(w, api.InPlaceSets, cafev1alpha1.InPlaceSetKind)
}

func (kind) Admit(client.Object) {} // no two fields contradict each other

func (kind) Describe(o client.Object) string { return describeSpec(typed(o)) }

func (kind) Asks(o client.Object) world.Spec {
	set := typed(o)
	asks := world.Spec{
		Template: &set.Spec.Template, ByGate: true, MinReadySeconds: set.Spec.MinReadySeconds, Paused: set.Spec.Strategy.Paused,
		Current: set.Status.CurrentRevision, GraceSeconds: set.Spec.Strategy.GracePeriodSeconds,
	}
	if declared := declared(set); len(declared) > 0 {
		hook := &world.Hook{}
		for _, component := range declared {
			hook.FinalizersHandler = append(hook.FinalizersHandler, finalizer(component))
		}
		asks.Hooks = kruisev1alpha1.Lifecycle{PreDelete: hook, InPlaceUpdate: hook, PreNormal: hook}
	}
	return asks
}

func (kind) Rules(s *world.Scene) world.Rules {
	set := typed(s.Owner)
	return &scene{Scene: s, set: set, numbers: numbersOf(set)}
}

func (kind) HasVolumes() bool { return false }

func (kind) Outcome(o client.Object) []string {
	set := typed(o)
	status := told(&set.Status)
	text := fmt.Sprintf("%d replicas, %d ready, %d available, %d updated", status.Replicas, status.Ready, status.Available, status.Updated)
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
func typed(o client.Object) *cafev1alpha1.InPlaceSet {
	set, _ := o.(*cafev1alpha1.InPlaceSet)
	return set
}

// What follows is the contract in other words than the controller's, so that a mistake in one of the two is seen.

const (
	annotation = "cafe.sofastack.io/traffic-components"
	prefix     = "traffic.cafe.sofastack.io/"
)

func finalizer(component string) string { return prefix + component }

func declared(set *cafev1alpha1.InPlaceSet) []string {
	return strings.FieldsFunc(set.Annotations[annotation], func(r rune) bool { return r == ',' || r == ' ' })
}

// declare makes these the components of a set.
func declare(components ...string) func(*cafev1alpha1.InPlaceSet) {
	return func(set *cafev1alpha1.InPlaceSet) {
		set.Annotations = world.Merged(set.Annotations, annotation, strings.Join(components, ","))
	}
}

// numbers are what a spec asks for.
type numbers struct{ Replicas, Partition, Unavailable int }

func numbersOf(set *cafev1alpha1.InPlaceSet) numbers {
	n := numbers{Replicas: int(ptr.Deref(set.Spec.Replicas, 1))}
	strategy := &set.Spec.Strategy
	quarter := intstr.FromString("25%")
	unavailable := strategy.MaxUnavailable
	if unavailable == nil {
		unavailable = &quarter
	}
	n.Unavailable = max(1, world.Share(unavailable, n.Replicas, false, 0))
	n.Partition = min(world.Share(strategy.Partition, n.Replicas, true, 0), n.Replicas)
	if p := strategy.Partition; p != nil && p.Type == intstr.String && p.StrVal != "100%" && n.Replicas > 1 && n.Partition == n.Replicas {
		n.Partition--
	}
	return n
}

// newSet is a set as a client that sets no defaults sends it.
func newSet(replicas int32, r world.Release) *cafev1alpha1.InPlaceSet {
	return &cafev1alpha1.InPlaceSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: world.SetName},
		Spec: cafev1alpha1.InPlaceSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{world.LabelApp: world.SetName}},
			Template: r.Template(),
		},
	}
}

func wanted(set *cafev1alpha1.InPlaceSet) world.Release {
	return world.ReleaseOf(set.Spec.Template.Labels, &set.Spec.Template.Spec)
}

func describeSpec(set *cafev1alpha1.InPlaceSet) string {
	n := numbersOf(set)
	text := fmt.Sprintf("%q replicas=%d partition=%d unavailable=%d", wanted(set), n.Replicas, n.Partition, n.Unavailable)
	if set.Spec.Strategy.Paused {
		text += " paused"
	}
	for _, extra := range []struct {
		name  string
		value int32
	}{{"minReady", set.Spec.MinReadySeconds}, {"grace", set.Spec.Strategy.GracePeriodSeconds}, {"history", ptr.Deref(set.Spec.RevisionHistoryLimit, 0)}} {
		if extra.value != 0 {
			text += fmt.Sprintf(" %s=%d", extra.name, extra.value)
		}
	}
	if components := declared(set); len(components) > 0 {
		text += " traffic=" + strings.Join(components, ",")
	}
	return text
}

func chosen(pod *corev1.Pod) bool {
	_, marked := pod.Labels[kruisev1alpha1.LabelSpecifiedDelete]
	return marked
}

// routed are the components whose finalizer is on the pod.
func routed(pod *corev1.Pod) []string {
	var found []string
	for _, f := range pod.Finalizers {
		if component, is := strings.CutPrefix(f, prefix); is {
			found = append(found, component)
		}
	}
	slices.Sort(found)
	return found
}
