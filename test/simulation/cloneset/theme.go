// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/world"
)

// Themes of CloneSets alone.
const (
	Surging  world.Theme = "surge"
	Ordering world.Theme = "orders, sizes and grace"
)

// themes are drawn from for a story that was not given one.
var themes = []world.Theme{world.Anything, world.Anything, world.Anything, world.Hooked, world.Hooked, world.Claiming, world.Draining, Surging, Ordering, Ordering, world.Together, world.Together, world.Together}

// firstRelease is what the set begins with.
func (s *simulation) firstRelease() world.Release {
	first := world.Release{App: "v1"}
	if s.Random.IntN(3) == 0 || s.About(Ordering, world.Together) {
		first.Sidecar, first.Ordered = "s1", s.Random.IntN(2) == 0 || s.About(Ordering, world.Together)
	}
	if s.About(world.Hooked, world.Together) {
		first.Held = []string{"u", "du", "du", "dun"}[s.Random.IntN(4)]
	} else if s.hooked && s.Random.IntN(4) != 0 {
		first.Held = s.RandomHeld()
	}
	if s.Random.IntN(3) == 0 || s.About(Ordering, world.Together) {
		first.CPU, first.Memory = "100m", "64Mi"
	}
	first.Reads = s.Random.IntN(6) == 0
	return first
}

// dwell makes a new set fit its theme.
func (s *simulation) dwell(set *kruisev1alpha1.CloneSet) {
	u := &set.Spec.UpdateStrategy
	if !s.About(world.Anything) {
		s.Edits += 3
		s.Weights.Edit = max(s.Weights.Edit, 2)
		u.Paused = false
	}
	if s.About(world.Hooked, Ordering, world.Together) && s.Random.IntN(4) != 0 {
		u.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
	}
	if s.About(world.Hooked, world.Together) {
		set.Spec.Lifecycle = s.FullLifecycle()
		s.Weights.Hook = []int{0, 1, 5}[s.Random.IntN(3)]
	}
	if s.About(world.Claiming, world.Together) {
		s.Misfortunes += 3
	}
	if s.About(world.Claiming) && s.Random.IntN(2) == 0 {
		s.Deaths = 0 // what a dead manager owes its claims is forgiven
	}
	if s.About(Surging, world.Together) {
		s.surge(set)
	}
	if s.About(Ordering, world.Together) {
		set.Spec.Replicas = ptr.To(int32(3 + s.Random.IntN(4)))
		s.order(set)
	}
	if s.About(world.Draining) {
		u.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
		u.InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: s.SomeGrace()}
	}
	if s.About(world.Together) {
		u.Partition = world.Number(s.Random.IntN(3))
		set.Spec.ScaleStrategy.MaxUnavailable = []*intstr.IntOrString{world.Number(1), world.Number(2), world.Percent(50)}[s.Random.IntN(3)]
		set.Spec.ProgressDeadlineSeconds = ptr.To[int32](30)
		s.Deaths++
	}
}

// themedEdit is an edit that goes with the theme.
func (s *simulation) themedEdit(set *kruisev1alpha1.CloneSet) {
	theme := s.Theme
	if theme == world.Together {
		theme = []world.Theme{world.Hooked, world.Claiming, Surging, Ordering}[s.Random.IntN(4)]
	}
	spec := &set.Spec
	switch n := s.Random.IntN(8); {
	case n < 3, theme == world.Draining && n > 4:
		s.NewTemplate(&set.Spec.Template)
	case n == 3:
		spec.Replicas = ptr.To(int32(1 + s.Random.IntN(6)))
	case n == 4:
		s.RollBack(&set.Spec.Template)
	case theme == Ordering:
		s.variant(set)
	case theme == world.Hooked && n == 5:
		spec.UpdateStrategy.Partition = world.Number(s.Random.IntN(7))
	case theme == world.Hooked && n == 6:
		spec.Replicas = ptr.To(int32(s.Random.IntN(7)))
	case theme == world.Hooked:
		spec.Lifecycle = s.FullLifecycle()
	case theme == world.Claiming && n == 5:
		spec.Replicas = ptr.To(int32(s.Random.IntN(4)))
	case theme == world.Claiming:
		s.editClaims(set)
	default:
		s.surge(set)
	}
}

// surge lets nearly no pod be unavailable, and some be too many.
func (s *simulation) surge(set *kruisev1alpha1.CloneSet) {
	u := &set.Spec.UpdateStrategy
	if u.Type == kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType {
		u.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
	}
	u.MaxUnavailable = []*intstr.IntOrString{world.Number(0), world.Number(0), world.Percent(0), world.Percent(10), world.Number(1)}[s.Random.IntN(5)]
	u.MaxSurge = []*intstr.IntOrString{world.Number(1), world.Number(2), world.Percent(25), world.Percent(50)}[s.Random.IntN(4)]
}

// order gives pods reasons to go before others, and updates several parts.
func (s *simulation) order(set *kruisev1alpha1.CloneSet) {
	u := &set.Spec.UpdateStrategy
	u.PriorityStrategy = s.Priority()
	if u.PriorityStrategy == nil || s.Random.IntN(2) == 0 {
		u.ScatterStrategy = kruisev1alpha1.UpdateScatterStrategy{{Key: world.LabelTrack, Value: "v2"}}
	}
	u.InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: []int32{0, 2, 10}[s.Random.IntN(3)]}
}

// variant leaves pods that orders tell apart, by a partition that stops each release halfway.
func (s *simulation) variant(set *kruisev1alpha1.CloneSet) {
	next := fmt.Sprintf("v%d", len(s.Releases)+1)
	r, n := wanted(set), numbersOf(set)
	r.Label = []string{"v1", "v2", "v3"}[s.Random.IntN(3)]
	switch s.Random.IntN(3) {
	case 0:
		s.NewSize(&r)
	case 1:
		r.App = next
		if r.Sidecar != "" {
			r.Sidecar = next
		}
	default:
		r.App = next
	}
	s.Roll(&set.Spec.Template, r)
	s.order(set)
	set.Spec.UpdateStrategy.Partition = world.Number(s.Random.IntN(n.Replicas + 1))
	set.Spec.UpdateStrategy.Paused = s.Random.IntN(5) == 0
}
