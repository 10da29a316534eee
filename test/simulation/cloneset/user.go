// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/world"
)

// newSet is a set as a client that sets no defaults sends it.
func newSet(replicas int32, r world.Release) *kruisev1alpha1.CloneSet {
	return &kruisev1alpha1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: world.SetName},
		Spec: kruisev1alpha1.CloneSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{world.LabelApp: world.SetName}},
			Template: r.Template(),
		},
	}
}

// admit makes a spec pass the rules of the schema, by giving way where two fields contradict each other.
func admit(set *kruisev1alpha1.CloneSet) {
	u := &set.Spec.UpdateStrategy
	if u.Type == kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType {
		u.MaxSurge = nil
	}
	if isZero(u.MaxUnavailable) && (u.MaxSurge == nil || isZero(u.MaxSurge)) {
		u.MaxUnavailable = world.Number(1)
	}
	if d := set.Spec.ProgressDeadlineSeconds; d != nil && *d <= set.Spec.MinReadySeconds {
		set.Spec.ProgressDeadlineSeconds = ptr.To(set.Spec.MinReadySeconds + 1)
	}
}

func isZero(v *intstr.IntOrString) bool {
	return v != nil && (v.Type == intstr.Int && v.IntVal == 0 || v.Type == intstr.String && v.StrVal == "0%")
}

func describeSpec(set *kruisev1alpha1.CloneSet) string {
	n, u := numbersOf(set), &set.Spec.UpdateStrategy
	text := fmt.Sprintf("%q replicas=%d partition=%d surge=%d unavailable=%d", wanted(set), n.Replicas, n.Partition, n.Surge, n.Unavailable)
	if u.Type != "" {
		text += " " + string(u.Type)
	}
	if u.Paused {
		text += " paused"
	}
	for _, extra := range []struct {
		name  string
		value int32
	}{{"minReady", set.Spec.MinReadySeconds}, {"grace", grace(set)}, {"history", ptr.Deref(set.Spec.RevisionHistoryLimit, 0)}, {"deadline", ptr.Deref(set.Spec.ProgressDeadlineSeconds, 0)}} {
		if extra.value != 0 {
			text += fmt.Sprintf(" %s=%d", extra.name, extra.value)
		}
	}
	for _, t := range set.Spec.VolumeClaimTemplates {
		text += " claim=" + t.Name
	}
	if set.Spec.ScaleStrategy.DisablePVCReuse {
		text += " disablePVCReuse"
	}
	if u.PriorityStrategy != nil {
		text += " by-priority"
	}
	if u.ScatterStrategy != nil {
		text += " scattered"
	}
	if c := set.Spec.ScaleStrategy.MaxUnavailable; c != nil {
		text += " scaleUnavailable=" + c.String()
	}
	if names := set.Spec.ScaleStrategy.PodsToDelete; len(names) > 0 {
		text += fmt.Sprintf(" podsToDelete=%v", names)
	}
	return text + world.DescribeHooks(ptr.Deref(set.Spec.Lifecycle, kruisev1alpha1.Lifecycle{}))
}

func grace(set *kruisev1alpha1.CloneSet) int32 {
	if s := set.Spec.UpdateStrategy.InPlaceUpdateStrategy; s != nil {
		return s.GracePeriodSeconds
	}
	return 0
}

// randomEdit is one thing that a user may do to the spec at any time.
func (s *simulation) randomEdit(set *kruisev1alpha1.CloneSet) {
	spec, u, r := &set.Spec, &set.Spec.UpdateStrategy, s.Random
	oneOf := func(values ...*intstr.IntOrString) *intstr.IntOrString { return values[r.IntN(len(values))] }
	switch r.IntN(28) {
	case 0, 1, 2, 3, 4:
		s.NewTemplate(&set.Spec.Template)
	case 5:
		s.BadTemplate(&set.Spec.Template)
	case 6, 7:
		s.RollBack(&set.Spec.Template)
	case 8, 9:
		spec.Replicas = ptr.To(int32(r.IntN(7)))
	case 10, 11:
		u.Partition = oneOf(nil, world.Number(0), world.Number(r.IntN(7)), world.Number(r.IntN(7)), world.Percent(25*r.IntN(5)), world.Percent(r.IntN(101)))
	case 12, 13:
		u.MaxUnavailable = oneOf(nil, world.Number(0), world.Number(1), world.Number(2), world.Number(3), world.Percent(r.IntN(101)), world.Percent(25))
	case 14, 15:
		u.MaxSurge = oneOf(nil, world.Number(0), world.Number(1), world.Number(2), world.Percent(r.IntN(101)))
	case 16:
		u.Paused = !u.Paused
	case 17:
		u.Type = updateTypes[r.IntN(len(updateTypes))]
	case 18:
		spec.MinReadySeconds = int32([]int{0, 3, 10}[r.IntN(3)])
	case 19:
		u.InPlaceUpdateStrategy = []*kruisev1alpha1.InPlaceUpdateStrategy{nil, {}, {GracePeriodSeconds: 2}, {GracePeriodSeconds: 10}}[r.IntN(4)]
	case 20:
		spec.ScaleStrategy.MaxUnavailable = oneOf(nil, world.Number(1), world.Number(2), world.Percent(50))
	case 21:
		spec.RevisionHistoryLimit = ptr.To(int32(r.IntN(4)))
		spec.ProgressDeadlineSeconds = []*int32{nil, ptr.To[int32](30), ptr.To[int32](600)}[r.IntN(3)]
	case 22:
		u.PriorityStrategy = s.Priority()
	case 23:
		u.ScatterStrategy = []kruisev1alpha1.UpdateScatterStrategy{nil, {{Key: world.LabelTrack, Value: "v2"}}}[r.IntN(2)]
	case 25:
		spec.Lifecycle = s.RandomLifecycle()
	case 26:
		if spec.Lifecycle != nil { // in the middle of a hooked life, hooks change more often
			spec.Lifecycle = s.RandomLifecycle()
		}
	case 27:
		if spec.Lifecycle != nil {
			next := wanted(set)
			next.Held = s.RandomHeld()
			s.Roll(&set.Spec.Template, next)
		}
	case 24:
		spec.ScaleStrategy.PodsToDelete = []string{"web-nobody"}
		for _, pod := range s.Pods() {
			if r.IntN(3) == 0 {
				spec.ScaleStrategy.PodsToDelete = append(spec.ScaleStrategy.PodsToDelete, pod.Name)
			}
		}
	}
}

// In place comes more often, since it has more to go wrong.
var updateTypes = []kruisev1alpha1.CloneSetUpdateStrategyType{
	"", kruisev1alpha1.ReCreateCloneSetUpdateStrategyType, kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType,
	kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType, kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType,
	kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType, kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType,
}
