// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// Theme is what a story is about more than others. It makes things likelier and rules nothing out: whatever the theme, everything may
// happen. Faults that need several features at once would otherwise show in one story of a thousand.
type Theme string

// The themes.
const (
	Anything Theme = "anything"
	Hooked   Theme = "hooks"
	Claiming Theme = "claims"
	Surging  Theme = "surge"
	Ordering Theme = "orders, sizes and grace"
	Together Theme = "everything together" // all features are on from the beginning
)

// drawTheme chooses the theme of a story that was not given one.
func drawTheme(r *rand.Rand) Theme {
	return []Theme{Anything, Anything, Anything, Hooked, Hooked, Claiming, Surging, Ordering, Ordering, Together, Together, Together}[r.IntN(12)]
}

// about tells whether the story is about one of the themes.
func (s *simulation) about(themes ...Theme) bool { return slices.Contains(themes, s.theme) }

// firstRelease is what the set begins with.
func (s *simulation) firstRelease() Release {
	first := Release{App: "v1"}
	if s.random.IntN(3) == 0 || s.about(Ordering, Together) {
		first.Sidecar, first.Ordered = "s1", s.random.IntN(2) == 0 || s.about(Ordering, Together)
	}
	if s.about(Hooked, Together) {
		first.Held = []string{"u", "du", "du", "dun"}[s.random.IntN(4)]
	} else if s.hooked && s.random.IntN(4) != 0 {
		first.Held = s.randomHeld()
	}
	if s.random.IntN(3) == 0 || s.about(Ordering, Together) {
		first.CPU, first.Memory = "100m", "64Mi"
	}
	first.Reads = s.random.IntN(6) == 0
	return first
}

// dwell makes a new set fit its theme.
func (s *simulation) dwell(set *kruisev1alpha1.CloneSet) {
	u := &set.Spec.UpdateStrategy
	if !s.about(Anything) {
		s.edits += 3
		s.weights.edit = max(s.weights.edit, 2)
		u.Paused = false
	}
	if s.about(Hooked, Ordering, Together) && s.random.IntN(4) != 0 {
		u.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
	}
	if s.about(Hooked, Together) {
		set.Spec.Lifecycle = s.fullLifecycle()
		s.weights.hook = []int{0, 1, 5}[s.random.IntN(3)]
	}
	if s.about(Claiming, Together) {
		s.misfortunes += 3
	}
	if s.about(Claiming) && s.random.IntN(2) == 0 {
		s.deaths = 0 // what a dead manager owes its claims is forgiven
	}
	if s.about(Surging, Together) {
		s.surge(set)
	}
	if s.about(Ordering, Together) {
		set.Spec.Replicas = ptr.To(int32(3 + s.random.IntN(4)))
		s.order(set)
	}
	if s.about(Together) {
		u.Partition = number(s.random.IntN(3))
		set.Spec.ScaleStrategy.MaxUnavailable = []*intstr.IntOrString{number(1), number(2), percent(50)}[s.random.IntN(3)]
		set.Spec.ProgressDeadlineSeconds = ptr.To[int32](30)
		s.deaths++
	}
}

// themedEdit is an edit that goes with the theme.
func (s *simulation) themedEdit(set *kruisev1alpha1.CloneSet) {
	theme := s.theme
	if theme == Together {
		theme = []Theme{Hooked, Claiming, Surging, Ordering}[s.random.IntN(4)]
	}
	spec := &set.Spec
	switch n := s.random.IntN(8); {
	case n < 3:
		s.newTemplate(set)
	case n == 3:
		spec.Replicas = ptr.To(int32(1 + s.random.IntN(6)))
	case n == 4:
		s.rollBack(set)
	case theme == Ordering:
		s.variant(set)
	case theme == Hooked && n == 5:
		spec.UpdateStrategy.Partition = number(s.random.IntN(7))
	case theme == Hooked && n == 6:
		spec.Replicas = ptr.To(int32(s.random.IntN(7)))
	case theme == Hooked:
		spec.Lifecycle = s.fullLifecycle()
	case theme == Claiming && n == 5:
		spec.Replicas = ptr.To(int32(s.random.IntN(4)))
	case theme == Claiming:
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
	u.MaxUnavailable = []*intstr.IntOrString{number(0), number(0), percent(0), percent(10), number(1)}[s.random.IntN(5)]
	u.MaxSurge = []*intstr.IntOrString{number(1), number(2), percent(25), percent(50)}[s.random.IntN(4)]
}

// order gives pods reasons to go before others, and updates several parts.
func (s *simulation) order(set *kruisev1alpha1.CloneSet) {
	u := &set.Spec.UpdateStrategy
	u.PriorityStrategy = s.priority()
	if u.PriorityStrategy == nil || s.random.IntN(2) == 0 {
		u.ScatterStrategy = kruisev1alpha1.UpdateScatterStrategy{{Key: labelTrack, Value: "v2"}}
	}
	u.InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: []int32{0, 2, 10}[s.random.IntN(3)]}
}

// variant leaves pods that orders tell apart, by a partition that stops each release halfway.
func (s *simulation) variant(set *kruisev1alpha1.CloneSet) {
	next := fmt.Sprintf("v%d", len(s.releases)+1)
	r, n := wanted(set), numbersOf(set)
	r.Label = []string{"v1", "v2", "v3"}[s.random.IntN(3)]
	switch s.random.IntN(3) {
	case 0:
		s.newSize(&r)
	case 1:
		r.App = next
		if r.Sidecar != "" {
			r.Sidecar = next
		}
	default:
		r.App = next
	}
	s.roll(set, r)
	s.order(set)
	set.Spec.UpdateStrategy.Partition = number(s.random.IntN(n.Replicas + 1))
	set.Spec.UpdateStrategy.Paused = s.random.IntN(5) == 0
}

// fullLifecycle has all hooks, each with its own handler.
func (s *simulation) fullLifecycle() *kruisev1alpha1.Lifecycle {
	marks := s.random.IntN(2) == 0
	draw := func(name string) *hook {
		h := &hook{MarkPodNotReady: marks && s.random.IntN(3) != 0}
		if kind := s.random.IntN(4); kind != 0 {
			h.LabelsHandler = map[string]string{name: handlerValue}
			if kind != 1 {
				return h
			}
		}
		h.FinalizersHandler = []string{handlerDomain + name}
		return h
	}
	l := &kruisev1alpha1.Lifecycle{PreDelete: draw(handlerDelete), InPlaceUpdate: draw(handlerUpdate)}
	if s.random.IntN(2) == 0 {
		l.PreNormal = draw(handlerNormal)
	}
	return l
}

// overtaken begins a release that the last edit overtakes, as soon as a pod is on its way.
func (s *simulation) overtaken() error {
	s.tell("-- a release that will be overtaken")
	s.edits, s.misfortunes, s.deaths = 0, 0, 0
	s.edit(func(set *kruisev1alpha1.CloneSet) {
		r := wanted(set)
		r.App = "overtaken"
		s.roll(set, r)
		set.Spec.UpdateStrategy.Paused = false
		if s.about(Hooked) {
			set.Spec.Lifecycle = s.fullLifecycle()
			set.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
		}
	})
	for range stormSteps {
		if _, preparing := s.preparing(); preparing || !s.next() {
			break
		}
		if s.judge.err != nil {
			break
		}
	}
	return s.judge.err
}
