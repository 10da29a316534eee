// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Themes of StatefulSets alone.
const (
	Ordered  world.Theme = "ordered pods"
	Parallel world.Theme = "parallel pods"
	Broken   world.Theme = "broken releases and their fixes"
	Moving   world.Theme = "ordinals that move"
	Labelled world.Theme = "pods that are updated by their labels"
)

// themes are drawn from for a story that was not given one.
var themes = []world.Theme{
	world.Anything, world.Anything, world.Draining, world.Hooked, world.Hooked, world.Claiming, world.Claiming, world.Together, world.Together,
	Ordered, Parallel, Broken, Broken, Moving, Labelled,
}

// simulation is one random story of a StatefulSet.
type simulation struct {
	*world.Story
	claimed bool // the set has claims, at least at times
}

var _ world.Users = &simulation{}

// Run plays the story of a seed. It returns the first violation, with what had happened at that point; nil if there is none.
func Run(seed uint64, hooks Hooks, tell func(format string, args ...any)) error {
	_, err := play(seed, "", hooks, tell)
	return err
}

// play plays the story of a seed on a theme; without one, the seed has its own. It returns the world as the story left it.
func play(seed uint64, theme world.Theme, hooks Hooks, tell func(format string, args ...any)) (*simulation, error) {
	s := &simulation{Story: world.NewStory(seed, theme, themes, kind{hooks}, tell)}
	s.Volumes = true
	return s, s.Play(s)
}

func (s *simulation) edit(change func(*kruisev1beta1.StatefulSet)) {
	s.Edit(func(o client.Object) { change(typed(o)) })
}

// Begin creates the set that the story begins with.
func (s *simulation) Begin() {
	hooked := s.Random.IntN(3) == 0 || s.About(world.Hooked, world.Together)
	first := world.Release{App: "v1"}
	if s.About(Broken) && s.Random.IntN(3) == 0 {
		first.App = "v1-broken"
	}
	if s.Random.IntN(3) == 0 {
		first.Sidecar, first.Ordered = "s1", s.Random.IntN(2) == 0
	}
	if s.Random.IntN(3) == 0 {
		first.CPU, first.Memory = "100m", "64Mi"
	}
	if hooked {
		first.Held = []string{"", "d", "u", "du", "du", "dun"}[s.Random.IntN(6)]
	}
	if s.About(world.Hooked) {
		first.Held = []string{"du", "du", "dun"}[s.Random.IntN(3)]
	}
	first.Reads = s.Random.IntN(6) == 0
	s.Releases = []world.Release{first}
	set := newSet(int32(1+s.Random.IntN(5)), first)
	s.shape(set)
	if hooked {
		set.Spec.Lifecycle = s.lifecycle()
	}
	if s.claimed = s.Random.IntN(3) == 0 || s.About(world.Claiming, world.Together); s.claimed {
		set.Spec.VolumeClaimTemplates = s.ClaimTemplates()
		for range s.Random.IntN(4) {
			s.editClaims(set)
		}
	}
	for range s.Random.IntN(4) {
		s.randomEdit(set)
	}
	if !s.About(world.Anything) {
		s.Edits += 3
		s.Weights.Edit = max(s.Weights.Edit, 2)
		roll(set).Paused = false
	}
	s.Create(set)
}

// shape makes a new set fit its theme.
func (s *simulation) shape(set *kruisev1beta1.StatefulSet) {
	if s.About(Parallel, Labelled) || !s.About(Ordered) && s.Random.IntN(2) == 0 {
		set.Spec.PodManagementPolicy = kruisev1beta1.ParallelPodManagement
	}
	roll(set).PodUpdatePolicy = policies[s.Random.IntN(len(policies))]
	if s.About(Parallel, world.Together, Labelled) {
		roll(set).MaxUnavailable = world.Number(1 + s.Random.IntN(3))
		set.Spec.ScaleStrategy = &kruisev1beta1.StatefulSetScaleStrategy{MaxUnavailable: world.Number(1 + s.Random.IntN(3))}
	}
	if s.About(Ordered, Parallel, Moving, world.Together, Labelled) {
		set.Spec.Replicas = ptr.To(int32(3 + s.Random.IntN(3)))
	}
	if s.About(world.Claiming) && s.Random.IntN(2) == 0 {
		set.Spec.VolumeClaimUpdateStrategy.Type = kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
		roll(set).Partition = ptr.To(int32(s.Random.IntN(3)))
	}
	if s.About(Labelled) {
		roll(set).UnorderedUpdate = &kruisev1beta1.UnorderedUpdateStrategy{PriorityStrategy: s.Priority()}
		roll(set).Partition = ptr.To(int32(1 + s.Random.IntN(3)))
		s.Misfortunes += 3
	}
	if s.About(world.Hooked) {
		roll(set).PodUpdatePolicy = kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType
	}
	if s.About(world.Draining) {
		roll(set).PodUpdatePolicy = kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType
		roll(set).InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: s.SomeGrace()}
	}
	if s.About(Moving, world.Together) {
		s.reserve(set)
		set.Spec.Ordinals = &kruisev1beta1.StatefulSetOrdinals{Start: int32(s.Random.IntN(3))}
	}
}

// EditOnce is one edit of many.
func (s *simulation) EditOnce() {
	s.Edits--
	switch {
	case s.Set() == nil:
		set := newSet(int32(1+s.Random.IntN(5)), s.Releases[0])
		s.shape(set)
		if s.claimed {
			set.Spec.VolumeClaimTemplates = s.ClaimTemplates()
		}
		s.Create(set)
	case s.Random.IntN(40) == 0:
		s.DeleteSet()
	case s.claimed && s.Random.IntN(4) == 0:
		s.edit(s.editClaims)
	case !s.About(world.Anything) && s.Random.IntN(2) == 0:
		s.edit(s.themedEdit)
	default:
		s.edit(s.randomEdit)
	}
}

// themedEdit is an edit that goes with the theme.
func (s *simulation) themedEdit(set *kruisev1beta1.StatefulSet) {
	switch n := s.Random.IntN(6); {
	case n < 2, s.About(world.Draining) && n < 5:
		s.NewTemplate(&set.Spec.Template)
	case s.About(world.Hooked) && n < 4:
		s.secondThoughts(set)
	case n == 2:
		set.Spec.Replicas = ptr.To(int32(1 + s.Random.IntN(5)))
	case s.About(Broken) && n < 5:
		s.BadTemplate(&set.Spec.Template)
	case s.About(Broken):
		s.RollBack(&set.Spec.Template)
	case s.About(Moving):
		s.reserve(set)
	case s.About(world.Claiming):
		s.editClaims(set)
	case s.About(world.Hooked) && n < 5:
		set.Spec.Lifecycle = s.lifecycle()
	case s.About(Ordered, Parallel) && n < 5: // a release that pods take over while they serve
		next := wanted(set)
		next.Label = fmt.Sprintf("v%d", len(s.Releases)+1)
		s.Roll(&set.Spec.Template, next)
	default:
		roll(set).Partition = ptr.To(int32(s.Random.IntN(5)))
	}
}

// lifecycle has all hooks, or all but the one that holds updates.
func (s *simulation) lifecycle() *kruisev1alpha1.Lifecycle {
	l := s.FullLifecycle()
	if s.Random.IntN(4) == 0 {
		l.InPlaceUpdate = nil
	}
	return l
}

// between tells of which states there are pods, if any are between two states.
func (s *simulation) between() (states map[kruisev1alpha1.LifecycleState]bool, some bool) {
	states = map[kruisev1alpha1.LifecycleState]bool{}
	for _, pod := range s.Pods() {
		state := world.StateOf(pod)
		states[state] = true
		some = some || state != kruisev1alpha1.LifecycleNormal
	}
	return states, some
}

// secondThoughts take back what pods are prepared for, or ask for something else of them.
func (s *simulation) secondThoughts(set *kruisev1beta1.StatefulSet) {
	states, _ := s.between()
	before, preparing := s.Preparing()
	updating := states[kruisev1alpha1.LifecyclePreparingUpdate] || states[kruisev1alpha1.LifecycleUpdating] || states[kruisev1alpha1.LifecycleUpdated]
	switch {
	case preparing && s.Random.IntN(3) == 0:
		s.Roll(&set.Spec.Template, before)
	case updating && s.Random.IntN(2) == 0:
		set.Spec.Replicas = ptr.To(int32(s.Random.IntN(3)))
	case states[kruisev1alpha1.LifecycleUpdated]:
		next := wanted(set)
		next.App = fmt.Sprintf("v%d", len(s.Releases)+1)
		s.Roll(&set.Spec.Template, next)
	case states[kruisev1alpha1.LifecyclePreparingDelete]:
		set.Spec.Replicas = ptr.To[int32](5)
		roll(set).Partition = ptr.To(int32(5 * s.Random.IntN(2)))
	default:
		set.Spec.Replicas = ptr.To(int32(1 + s.Random.IntN(5)))
	}
}

// DisturbPod is one misfortune of a pod.
func (s *simulation) DisturbPod(pod *corev1.Pod) { s.Story.DisturbPod(pod) }

// Chores: a pod that was taken out of the set goes or comes back, since its name is wanted; and nobody keeps a claim from going for ever.
// Where there are hooks, people change their minds while pods wait for them.
func (s *simulation) Chores(add func(weight int, do func())) {
	weight := 1
	if s.Calm {
		weight = 10
	}
	if claim := s.Stuck(); claim != nil {
		add(weight, func() { s.Unstick(claim) })
	}
	if _, some := s.between(); some && s.Set() != nil && s.About(world.Hooked, world.Together) && !s.Calm && s.Edits > 0 {
		add(5, func() {
			s.Edits--
			s.edit(s.secondThoughts)
		})
	}
	for _, pod := range s.Pods() {
		if metav1.GetControllerOfNoCopy(pod) != nil || pod.DeletionTimestamp != nil {
			continue
		}
		if pod.Labels[world.LabelApp] != world.SetName {
			add(weight, func() {
				if s.Random.IntN(2) == 0 {
					s.Label(pod, world.LabelApp, world.SetName)
					s.Tell("user: gives %s back to the set", pod.Name)
				} else {
					s.Remove(api.Pods, pod.Name)
				}
				s.Notice()
			})
		}
	}
}

// Overtake is an edit by which pods set out for a release.
func (s *simulation) Overtake() {
	s.edit(func(set *kruisev1beta1.StatefulSet) {
		r := wanted(set)
		r.App = "overtaken"
		s.Roll(&set.Spec.Template, r)
		roll(set).Paused = false
		if s.About(world.Hooked) {
			set.Spec.Lifecycle = s.FullLifecycle()
			roll(set).PodUpdatePolicy = kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType
		}
	})
}

// LastEdit is the last edit: something that can be reached.
func (s *simulation) LastEdit() {
	if s.Set() == nil {
		s.Create(newSet(3, world.Release{App: "v1"}))
	}
	s.edit(func(set *kruisev1beta1.StatefulSet) {
		u := roll(set)
		r := wanted(set)
		before, preparing := s.Preparing()
		switch {
		case preparing && s.Random.IntN(2) == 0:
			r = before
		case s.Random.IntN(4) == 0 && s.Releases[0].Healthy():
			r = s.Releases[0] // back to where it began
		case !r.Healthy() || s.Random.IntN(2) == 0:
			r.App = "final"
		}
		if r.CPU == world.TooMuch {
			r.CPU = "100m"
		}
		s.Roll(&set.Spec.Template, r)
		u.Paused = false
		set.Spec.UpdateStrategy.Type = kruisev1beta1.RollingUpdateStatefulSetStrategyType
		if u.PodUpdatePolicy == kruisev1beta1.InPlaceOnlyPodUpdateStrategyType {
			u.PodUpdatePolicy = kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType
		}
		// The partition may keep a pod of a release that was given up and never got ready. Then the set stays as it is, as asked for.
		if !s.sound() || s.Random.IntN(2) == 0 {
			u.Partition = nil
		}
		if s.claimed { // a pod that was made with a claim gets it again
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{world.ClaimTemplate("data"), world.ClaimTemplate("log")}
			resize(set, s.Random.IntN(5)+1)
		}
	})
}

// sound tells whether pods of every release so far become ready on every node.
func (s *simulation) sound() bool {
	for _, r := range s.Releases {
		if !r.Healthy() || r.CPU == world.TooMuch {
			return false
		}
	}
	return true
}
