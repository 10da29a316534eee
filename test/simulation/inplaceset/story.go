// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// simulation is one random story of an InPlaceSet.
type simulation struct{ *world.Story }

var _ world.Users = &simulation{}

// themes: a story about hooks begins with components, and they change; one about grace periods begins with one.
var themes = []world.Theme{world.Anything, world.Hooked, world.Hooked, world.Draining}

// Run plays the story of a seed. It returns the first violation, with what had happened at that point; nil if there is none.
func Run(seed uint64, hooks Hooks, tell func(format string, args ...any)) error {
	return play(seed, "", hooks, tell)
}

// play plays the story of a seed on a theme; without one, the seed has its own.
func play(seed uint64, theme world.Theme, hooks Hooks, tell func(format string, args ...any)) error {
	s := &simulation{Story: world.NewStory(seed, theme, themes, kind{hooks}, tell)}
	return s.Play(s)
}

func (s *simulation) set() *cafev1alpha1.InPlaceSet { return typed(s.Set()) }

func (s *simulation) edit(change func(*cafev1alpha1.InPlaceSet)) {
	s.Edit(func(o client.Object) { change(typed(o)) })
}

// components are all that there may ever be.
var components = []string{"dns", "lb", "rpc"}

func (s *simulation) someComponents() []string {
	var some []string
	for _, c := range components {
		if s.Random.IntN(2) == 0 {
			some = append(some, c)
		}
	}
	return some
}

// Begin creates the set that the story begins with.
func (s *simulation) Begin() {
	first := world.Release{App: "v1"}
	if s.Random.IntN(4) == 0 {
		first.Sidecar = "s1"
		first.Ordered = s.Random.IntN(2) == 0
	}
	s.Releases = []world.Release{first}
	set := newSet(int32(1+s.Random.IntN(6)), first)
	if s.About(world.Hooked) {
		declare(append(s.someComponents(), "lb")...)(set)
	}
	for range s.Random.IntN(4) {
		s.randomEdit(set)
	}
	if s.About(world.Draining) {
		set.Spec.Strategy.GracePeriodSeconds, set.Spec.Strategy.Paused = s.SomeGrace(), false
	}
	s.Create(set)
}

// EditOnce is one edit of many.
func (s *simulation) EditOnce() {
	s.Edits--
	switch {
	case s.set() == nil:
		s.Create(newSet(int32(1+s.Random.IntN(6)), s.Releases[0]))
	case s.Random.IntN(40) == 0:
		s.DeleteSet()
	default:
		s.edit(s.randomEdit)
	}
}

// randomEdit is one thing that a user may do to the set at any time.
func (s *simulation) randomEdit(set *cafev1alpha1.InPlaceSet) {
	spec, strategy, r := &set.Spec, &set.Spec.Strategy, s.Random
	oneOf := func(values ...*intstr.IntOrString) *intstr.IntOrString { return values[r.IntN(len(values))] }
	switch r.IntN(20) {
	case 0, 1, 2, 3, 4:
		s.NewTemplate(&spec.Template)
	case 5:
		s.BadTemplate(&spec.Template)
	case 6, 7:
		s.RollBack(&spec.Template)
	case 8, 9:
		spec.Replicas = ptr.To(int32(r.IntN(7)))
	case 10, 11:
		strategy.Partition = oneOf(nil, world.Number(0), world.Number(r.IntN(7)), world.Percent(25*r.IntN(5)), world.Percent(r.IntN(101)))
	case 12, 13:
		strategy.MaxUnavailable = oneOf(nil, world.Number(1), world.Number(2), world.Number(3), world.Percent(1+r.IntN(100)))
	case 14:
		strategy.Paused = !strategy.Paused
	case 15:
		spec.MinReadySeconds = int32([]int{0, 3, 10}[r.IntN(3)])
	case 16:
		strategy.GracePeriodSeconds = int32([]int{0, 2, 10}[r.IntN(3)])
	case 17:
		spec.RevisionHistoryLimit = ptr.To(int32(r.IntN(4)))
	case 18, 19:
		declare(s.someComponents()...)(set)
	}
}

// Overtake is an edit by which pods set out for a release.
func (s *simulation) Overtake() {
	s.edit(func(set *cafev1alpha1.InPlaceSet) {
		r := wanted(set)
		r.App = "overtaken"
		s.Roll(&set.Spec.Template, r)
		set.Spec.Strategy.Paused = false
	})
}

// LastEdit is the last edit: something that can be reached.
func (s *simulation) LastEdit() {
	if s.set() == nil {
		s.Create(newSet(3, s.Releases[0]))
	}
	s.edit(func(set *cafev1alpha1.InPlaceSet) {
		r := wanted(set)
		before, preparing := s.Preparing()
		switch {
		case preparing && s.Random.IntN(2) == 0:
			r = before
		case s.Random.IntN(4) == 0:
			r = s.Releases[0] // back to where it began
		case !healthy(r) || s.Random.IntN(2) == 0:
			r.App = "final"
		}
		if !healthy(r) {
			r.CPU, r.Memory = "", ""
		}
		s.Roll(&set.Spec.Template, r)
		set.Spec.Strategy.Paused = false
		// The partition may keep a pod of a release that was given up and never got ready. Then the set stays as it is, as asked for.
		if !s.AllHealthy() || s.Random.IntN(2) == 0 {
			set.Spec.Strategy.Partition = nil
		}
		if s.Random.IntN(5) == 0 {
			declare()(set)
		}
	})
}

func healthy(r world.Release) bool { return r.Healthy() && r.CPU != world.TooMuch }

// Chores are what the components do: they follow the gates, one pod and one component at a time, as slowly as the story has it. In calm time
// they do all that they are asked for.
func (s *simulation) Chores(add func(weight int, do func())) {
	weight := s.Weights.Hook
	if s.Calm {
		weight = 10
	}
	for _, pod := range s.Pods() {
		for _, component := range components {
			s.follow(add, weight, pod, component)
		}
	}
}

func (s *simulation) follow(add func(int, func()), weight int, pod *corev1.Pod, component string) {
	there := slices.Contains(pod.Finalizers, finalizer(component))
	gate := world.Condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady)
	closed := gate != nil && gate.Status == corev1.ConditionFalse
	set := s.set()
	owned := set != nil && metav1.IsControlledBy(pod, set)
	asked := owned && slices.Contains(declared(set), component) && pod.DeletionTimestamp == nil
	switch {
	case there && (closed || !owned && pod.DeletionTimestamp != nil):
		add(weight, func() { s.route(pod, component, false, "lets go of") })
	case !there && asked && world.Ready(pod):
		add(weight, func() { s.route(pod, component, true, "takes on") })
	case !there && asked && closed && !s.Calm && s.Misfortunes > 0 && weight > 0:
		add(1, func() {
			s.Misfortunes--
			s.route(pod, component, true, "has not seen that the gate is closed, and takes on")
		})
	}
}

// route adds or removes the finalizer of a component.
func (s *simulation) route(pod *corev1.Pod, component string, on bool, says string) {
	s.Must(s.Server.Modify(component, api.Pods, client.ObjectKeyFromObject(pod), api.Main, func(o client.Object) {
		left := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer(component) })
		if on {
			left = append(left, finalizer(component))
		}
		o.SetFinalizers(left)
	}))
	s.Tell("%s: %s %s", component, says, pod.Name)
	s.Notice()
}
