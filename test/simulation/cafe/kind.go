// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cafe"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/internal/inplaceset"
	"slipway.dev/slipway/internal/statefulset"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Hooks let a test put a fault into the controller of CafeDeployments.
type Hooks struct {
	// Plan replaces the planner; nil keeps it.
	Plan func(plan.World, time.Time) plan.Plan
	// Dependencies changes what a new manager process is made of; nil leaves it.
	Dependencies func(*cafe.Dependencies)
}

// kind is CafeDeployment, as the world meets it.
type kind struct{ hooks Hooks }

var _ world.OwnKind = kind{}

func (kind) Stored() api.Kind { return api.CafeDeployments }

// Controllers are all that work for CafeDeployments in one manager.
func (k kind) Controllers(m *world.Manager) []world.Controller {
	line, clock, once := m.Line(), m.World.Clock, apply.Options{Concurrency: 1}
	next := plan.Next
	if k.hooks.Plan != nil {
		next = k.hooks.Plan
	}
	d := cafe.Dependencies{
		Cache: m.Cache, Live: line, Client: line, Events: world.Silence{}, Clock: clock, Apply: once,
		Plan: func(w plan.World, now time.Time) plan.Plan {
			p := next(w, now)
			m.Planned(world.Plan{Steps: p.Steps, Lines: told(p)})
			return p
		},
	}
	if k.hooks.Dependencies != nil {
		k.hooks.Dependencies(&d)
	}
	return []world.Controller{
		{Reconciler: cafe.New(d), Stored: api.CafeDeployments, Requests: func(w api.Write) []types.NamespacedName { return deployments(m.Cache, w) }},
		{
			Reconciler: inplaceset.New(inplaceset.Dependencies{Cache: m.Cache, Live: line, Client: line, Events: world.Silence{}, Clock: clock, Apply: once}),
			Stored:     api.InPlaceSets, Requests: world.Requests(api.InPlaceSets, "InPlaceSet", cafev1alpha1.GroupVersion.Group),
		},
		{
			Reconciler: cloneset.New(cloneset.Dependencies{Cache: m.Cache, Live: line, Client: line, Events: world.Silence{}, Clock: clock, Apply: once}),
			Stored:     api.CloneSets, Requests: world.Requests(api.CloneSets, "CloneSet", "apps.kruise.io"),
		},
		{
			Reconciler: statefulset.New(statefulset.Dependencies{Cache: m.Cache, Live: line, Client: line, Events: world.Silence{}, Clock: clock, Apply: once}),
			Stored:     api.StatefulSets, Requests: world.Requests(api.StatefulSets, "StatefulSet", "apps.kruise.io"),
		},
	}
}

// deployments are those that are looked at upon a write: of themselves, of what they control, and of a pod of theirs that begins or ceases
// to find no node, or of which anything changes that places of ordinals are judged by.
func deployments(cache *api.Cache, w api.Write) []types.NamespacedName {
	if w.Kind != api.Pods {
		return world.Requests(api.CafeDeployments, cafev1alpha1.CafeDeploymentKind, cafev1alpha1.GroupVersion.Group)(w)
	}
	owner := metav1.GetControllerOfNoCopy(w.After)
	if owner == nil {
		return nil
	}
	look := func(o client.Object) string {
		pod, is := o.(*corev1.Pod)
		switch {
		case !is:
			return ""
		case owner.Kind == "StatefulSet":
			return fmt.Sprint(world.Unschedulable(pod), world.Active(pod), world.Ready(pod), pod.Labels[appsv1.ControllerRevisionHashLabelKey])
		case world.Unschedulable(pod) && world.Active(pod):
			return "no node"
		}
		return ""
	}
	ends := w.Verb == api.Remove
	if ends && look(w.Before) == "" || !ends && look(w.Before) == look(w.After) {
		return nil
	}
	for _, stored := range setKinds {
		for _, set := range cache.All(stored) {
			if name, is := world.ControlledBy(set, cafev1alpha1.CafeDeploymentKind, cafev1alpha1.GroupVersion.Group); is && set.GetUID() == owner.UID {
				return []types.NamespacedName{{Namespace: set.GetNamespace(), Name: name}}
			}
		}
	}
	return nil
}

func (kind) Admit(client.Object) {}

func (kind) Describe(o client.Object) string { return describe(typed(o)) }

func (kind) HasVolumes() bool { return false }

func (kind) Bench(w *world.World) world.Bench { return newJudge(w) }

func (kind) Summary(w *world.World) string { return summary(w) }

func (kind) Outcome(o client.Object) []string {
	d := typed(o)
	s := &d.Status
	lines := []string{fmt.Sprintf("phase %s: %d pods, %d available, %d updated", s.Phase, s.Replicas, s.AvailableReplicas, s.UpdatedReplicas)}
	for _, u := range s.Units {
		line := fmt.Sprintf("unit %s: %d desired", u.Name, u.Desired)
		if u.RescheduledIn > 0 {
			line += fmt.Sprintf(", %d moved in", u.RescheduledIn)
		}
		if u.RescheduledOut > 0 {
			line += fmt.Sprintf(", %d moved out", u.RescheduledOut)
		}
		lines = append(lines, line)
	}
	for _, c := range s.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return lines
}

// typed is a stored deployment with its type; nil when there is none.
func typed(o client.Object) *cafev1alpha1.CafeDeployment {
	d, _ := o.(*cafev1alpha1.CafeDeployment)
	return d
}

// told is what a plan asks of pod sets, and what people are told, line by line.
func told(p plan.Plan) []string {
	var lines []string
	for _, a := range p.Asks {
		switch {
		case a.Deletes:
			lines = append(lines, fmt.Sprintf("delete %s: %s", a.Set, a.Why))
			continue
		case a.Set == "":
			lines = append(lines, fmt.Sprintf("create the pod set of %s with %d pods: %s", a.Unit, a.Replicas, a.Why))
			continue
		}
		line := fmt.Sprintf("ask %s for %d pods", a.Set, a.Replicas)
		if a.GivesTemplate {
			line += " of the new template"
		}
		if a.Partition > 0 {
			line += fmt.Sprintf(", %d kept", a.Partition)
		}
		lines = append(lines, line+": "+a.Why)
	}
	for _, n := range p.News {
		lines = append(lines, "tell "+n.Reason+": "+n.Note)
	}
	return lines
}
