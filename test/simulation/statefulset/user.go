// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/world"
)

// newSet is a set as a client that sets no defaults sends it.
func newSet(replicas int32, r world.Release) *kruisev1beta1.StatefulSet {
	return &kruisev1beta1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: world.SetName},
		Spec: kruisev1beta1.StatefulSetSpec{
			Replicas:    &replicas,
			Selector:    &metav1.LabelSelector{MatchLabels: map[string]string{world.LabelApp: world.SetName}},
			ServiceName: "peers",
			Template:    r.Template(),
		},
	}
}

// admit makes a spec pass the rules of the schema, by giving way where two fields contradict each other.
func admit(set *kruisev1beta1.StatefulSet) {
	r := roll(set)
	if set.Spec.PodManagementPolicy != kruisev1beta1.ParallelPodManagement {
		set.Spec.ScaleStrategy, r.MaxUnavailable, r.UnorderedUpdate = nil, nil, nil
	}
}

// roll is the tuning of updates, to be changed.
func roll(set *kruisev1beta1.StatefulSet) *kruisev1beta1.RollingUpdateStatefulSetStrategy {
	if set.Spec.UpdateStrategy.RollingUpdate == nil {
		set.Spec.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{}
	}
	return set.Spec.UpdateStrategy.RollingUpdate
}

func describeSpec(set *kruisev1beta1.StatefulSet) string {
	n, r := numbersOf(set), rolling(set)
	text := fmt.Sprintf("%q ordinals=%v partition=%d", wanted(set), n.Live, n.Partition)
	if n.Ordered {
		text += " OrderedReady"
	} else {
		text += fmt.Sprintf(" Parallel unavailable=%d", n.Unavailable)
	}
	for _, extra := range []string{string(r.PodUpdatePolicy), string(set.Spec.UpdateStrategy.Type)} {
		if extra != "" {
			text += " " + extra
		}
	}
	for _, extra := range []struct {
		name string
		is   bool
	}{{"paused", r.Paused}, {"unordered", n.Unordered}, {"resizing", resizes(set)}} {
		if extra.is {
			text += " " + extra.name
		}
	}
	for _, extra := range []struct {
		name  string
		value int
	}{{"scaleUnavailable", max(n.Create, 0)}, {"minReady", int(ptr.Deref(r.MinReadySeconds, 0))}, {"grace", grace(r)}, {"history", int(ptr.Deref(set.Spec.RevisionHistoryLimit, 0))}} {
		if extra.value != 0 {
			text += fmt.Sprintf(" %s=%d", extra.name, extra.value)
		}
	}
	for i := range set.Spec.VolumeClaimTemplates {
		t := &set.Spec.VolumeClaimTemplates[i]
		text += fmt.Sprintf(" claim=%s:%s", t.Name, t.Spec.Resources.Requests.Storage())
	}
	if keeps := set.Spec.PersistentVolumeClaimRetentionPolicy; keeps != nil {
		text += strings.TrimRight(fmt.Sprintf(" scaled:%s deleted:%s", keeps.WhenScaled, keeps.WhenDeleted), " ")
	}
	return text + world.DescribeHooks(ptr.Deref(set.Spec.Lifecycle, kruisev1alpha1.Lifecycle{}))
}

func grace(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) int {
	if r.InPlaceUpdateStrategy == nil {
		return 0
	}
	return int(r.InPlaceUpdateStrategy.GracePeriodSeconds)
}

func resizes(set *kruisev1beta1.StatefulSet) bool {
	return set.Spec.VolumeClaimUpdateStrategy.Type == kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
}

// In place comes more often, since it has more to go wrong.
var policies = []kruisev1beta1.PodUpdateStrategyType{
	"", kruisev1beta1.RecreatePodUpdateStrategyType, kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType,
	kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType, kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType, kruisev1beta1.InPlaceOnlyPodUpdateStrategyType,
}

// randomEdit is one thing that a user may do to the spec at any time.
func (s *simulation) randomEdit(set *kruisev1beta1.StatefulSet) {
	spec, u, r := &set.Spec, roll(set), s.Random
	oneOf := func(values ...*intstr.IntOrString) *intstr.IntOrString { return values[r.IntN(len(values))] }
	switch r.IntN(30) {
	case 0, 1, 2, 3, 4:
		s.NewTemplate(&spec.Template)
	case 5, 6:
		s.BadTemplate(&spec.Template)
	case 7, 8:
		s.RollBack(&spec.Template)
	case 9, 10, 11:
		spec.Replicas = ptr.To(int32(r.IntN(6)))
	case 12, 13:
		u.Partition = []*int32{nil, ptr.To[int32](0), ptr.To(int32(r.IntN(6)))}[r.IntN(3)]
	case 14:
		u.MaxUnavailable = oneOf(nil, world.Number(1), world.Number(2), world.Number(3), world.Percent(50))
	case 15:
		spec.ScaleStrategy = &kruisev1beta1.StatefulSetScaleStrategy{MaxUnavailable: oneOf(nil, world.Number(1), world.Number(2), world.Percent(50))}
	case 16:
		u.Paused = !u.Paused
	case 17:
		u.PodUpdatePolicy = policies[r.IntN(len(policies))]
	case 18:
		spec.UpdateStrategy.Type = []kruisev1beta1.StatefulSetUpdateStrategyType{"", kruisev1beta1.RollingUpdateStatefulSetStrategyType, kruisev1beta1.OnDeleteStatefulSetStrategyType}[r.IntN(3)]
	case 19:
		u.MinReadySeconds = ptr.To(int32([]int{0, 3, 10}[r.IntN(3)]))
	case 20:
		u.InPlaceUpdateStrategy = []*kruisev1alpha1.InPlaceUpdateStrategy{nil, {}, {GracePeriodSeconds: 2}, {GracePeriodSeconds: 10}}[r.IntN(4)]
	case 21:
		spec.RevisionHistoryLimit = ptr.To(int32(r.IntN(4)))
	case 22:
		u.UnorderedUpdate = []*kruisev1beta1.UnorderedUpdateStrategy{nil, {PriorityStrategy: s.Priority()}}[r.IntN(2)]
	case 23, 24:
		spec.Ordinals = []*kruisev1beta1.StatefulSetOrdinals{nil, {Start: int32(r.IntN(3))}}[r.IntN(2)]
	case 25, 26:
		s.reserve(set)
	case 27:
		spec.Lifecycle = s.RandomLifecycle()
	case 28:
		if spec.Lifecycle != nil {
			next := wanted(set)
			next.Held = s.RandomHeld()
			s.Roll(&spec.Template, next)
		}
	default:
		s.editClaims(set)
	}
}

// reserve changes which ordinals are used.
func (s *simulation) reserve(set *kruisev1beta1.StatefulSet) {
	n := s.Random.IntN(5)
	set.Spec.ReserveOrdinals = [][]intstr.IntOrString{
		nil, {intstr.FromInt32(int32(n))}, {intstr.FromInt32(int32(n)), intstr.FromInt32(int32(n + 2))}, {intstr.FromString(fmt.Sprintf("%d-%d", n, n+1))},
	}[s.Random.IntN(4)]
}

// editClaims changes sizes of claims and with whom they go; rarely, which there are.
func (s *simulation) editClaims(set *kruisev1beta1.StatefulSet) {
	retention := func() kruisev1beta1.PersistentVolumeClaimRetentionPolicyType {
		return []kruisev1beta1.PersistentVolumeClaimRetentionPolicyType{kruisev1beta1.RetainPersistentVolumeClaimRetentionPolicyType, kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType}[s.Random.IntN(2)]
	}
	switch n := s.Random.IntN(8); {
	case n < 2:
		set.Spec.PersistentVolumeClaimRetentionPolicy = &kruisev1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: retention(), WhenScaled: retention()}
	case n == 2:
		set.Spec.VolumeClaimUpdateStrategy.Type = []kruisev1beta1.VolumeClaimUpdateStrategyType{
			"", kruisev1beta1.OnPVCDeleteVolumeClaimUpdateStrategyType, kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType}[s.Random.IntN(3)]
	case n == 3:
		set.Spec.VolumeClaimTemplates = s.ClaimTemplates()
	default:
		resize(set, s.Random.IntN(5)+1)
	}
}

// resize asks for other sizes of claims.
func resize(set *kruisev1beta1.StatefulSet, gigabytes int) {
	for i := range set.Spec.VolumeClaimTemplates {
		set.Spec.VolumeClaimTemplates[i].Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(fmt.Sprintf("%dGi", gigabytes))}
	}
}
