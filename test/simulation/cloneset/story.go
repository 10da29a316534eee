// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/world"
)

// simulation is one random story of a CloneSet.
type simulation struct {
	*world.Story
	hooked  bool // the set begins with hooks
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
	return s, s.Play(s)
}

func (s *simulation) set() *kruisev1alpha1.CloneSet { return typed(s.Set()) }

func (s *simulation) create(set *kruisev1alpha1.CloneSet) { s.Create(set) }

// edit changes the spec of the set, as a user does.
func (s *simulation) edit(change func(*kruisev1alpha1.CloneSet)) {
	s.Edit(func(o client.Object) { change(typed(o)) })
}

func wanted(set *kruisev1alpha1.CloneSet) world.Release {
	return world.ReleaseOf(set.Spec.Template.Labels, &set.Spec.Template.Spec)
}

func chosen(pod *corev1.Pod, set *kruisev1alpha1.CloneSet) bool {
	if _, marked := pod.Labels[kruisev1alpha1.LabelSpecifiedDelete]; marked {
		return true
	}
	for _, name := range set.Spec.ScaleStrategy.PodsToDelete {
		if name == pod.Name {
			return true
		}
	}
	return false
}

// Begin creates the set that the story begins with.
func (s *simulation) Begin() {
	s.hooked = s.Random.IntN(2) == 0
	first := s.firstRelease()
	s.Releases = []world.Release{first}
	set := newSet(int32(1+s.Random.IntN(6)), first)
	set.Spec.UpdateStrategy.Type = updateTypes[s.Random.IntN(len(updateTypes))]
	if s.hooked {
		set.Spec.Lifecycle = s.RandomLifecycle()
	}
	for range s.Random.IntN(4) {
		s.randomEdit(set)
	}
	if s.claimed = s.Random.IntN(4) == 0 || s.About(world.Claiming, world.Together); s.claimed {
		set.Spec.VolumeClaimTemplates = s.ClaimTemplates()
		set.Spec.ScaleStrategy.DisablePVCReuse = s.Random.IntN(3) == 0
	}
	s.dwell(set)
	s.create(set)
}

// EditOnce is one edit of many.
func (s *simulation) EditOnce() {
	s.Edits--
	if s.set() == nil {
		s.create(newSet(int32(1+s.Random.IntN(6)), s.Releases[0]))
		return
	}
	if s.Random.IntN(40) == 0 {
		s.DeleteSet()
		return
	}
	if s.claimed && s.Random.IntN(4) == 0 {
		s.edit(s.editClaims)
		return
	}
	if !s.About(world.Anything) && s.Random.IntN(2) == 0 {
		s.edit(s.themedEdit)
		return
	}
	s.edit(s.randomEdit)
}

// LastEdit is the last edit: something that can be reached.
func (s *simulation) LastEdit() {
	if s.set() == nil {
		s.create(newSet(3, s.Releases[0]))
	}
	s.edit(func(set *kruisev1alpha1.CloneSet) {
		u := &set.Spec.UpdateStrategy
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
		s.Roll(&set.Spec.Template, r)
		u.Paused = false
		if s.About(world.Claiming) && s.Random.IntN(2) == 0 { // claims go with the pods of the end
			set.Spec.Replicas = ptr.To(max(*set.Spec.Replicas-1, 0))
		}
		if u.Type == kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType || u.Type == kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType {
			u.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
		}
		// The partition may keep a pod of a release that was given up and never got ready. Then the set stays as it is, as asked for.
		if !s.AllHealthy() || s.Random.IntN(2) == 0 {
			u.Partition = nil
		}
		if s.AllHealthy() && s.Random.IntN(5) == 0 { // updates that were prepared are called off
			u.Partition = world.Number(s.Random.IntN(7))
		}
	})
}

// Chores: a CloneSet asks for none.
func (s *simulation) Chores(func(int, func())) {}

// Overtake is an edit by which pods set out for a release.
func (s *simulation) Overtake() {
	s.edit(func(set *kruisev1alpha1.CloneSet) {
		r := wanted(set)
		r.App = "overtaken"
		s.Roll(&set.Spec.Template, r)
		set.Spec.UpdateStrategy.Paused = false
		if s.About(world.Hooked) {
			set.Spec.Lifecycle = s.FullLifecycle()
			set.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
		}
	})
}
