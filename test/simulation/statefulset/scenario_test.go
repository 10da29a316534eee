// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/world"
)

type set = kruisev1beta1.StatefulSet

const (
	retain = kruisev1beta1.RetainPersistentVolumeClaimRetentionPolicyType
	remove = kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType
)

func ordered(replicas int32, changes ...func(*set)) *set {
	s := newSet(replicas, world.Release{App: "v1"})
	all(changes...)(s)
	return s
}

func all(changes ...func(*set)) func(*set) {
	return func(s *set) {
		for _, change := range changes {
			change(s)
		}
	}
}

func parallel(unavailable int) func(*set) {
	return func(s *set) {
		s.Spec.PodManagementPolicy = kruisev1beta1.ParallelPodManagement
		roll(s).MaxUnavailable = world.Number(unavailable)
	}
}

func inPlace(s *set) {
	roll(s).PodUpdatePolicy = kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType
}

func image(app string) func(*set) {
	return func(s *set) { s.Spec.Template = world.Release{App: app}.Template() }
}

func replicas(n int32) func(*set) { return func(s *set) { s.Spec.Replicas = ptr.To(n) } }

func partition(n int32) func(*set) { return func(s *set) { roll(s).Partition = ptr.To(n) } }

func reserving(ordinals ...int32) func(*set) {
	return func(s *set) {
		s.Spec.ReserveOrdinals = nil
		for _, n := range ordinals {
			s.Spec.ReserveOrdinals = append(s.Spec.ReserveOrdinals, intstr.FromInt32(n))
		}
	}
}

func claims(scaled, deleted kruisev1beta1.PersistentVolumeClaimRetentionPolicyType) func(*set) {
	return func(s *set) {
		s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{world.ClaimTemplate("data")}
		s.Spec.PersistentVolumeClaimRetentionPolicy = &kruisev1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: scaled, WhenDeleted: deleted}
	}
}

func resizing(s *set) {
	s.Spec.VolumeClaimUpdateStrategy.Type = kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
}

// TestRelease tells whole releases. A change of a transcript is a change of behaviour: read the difference as a user would.
func TestRelease(t *testing.T) {
	broken := []world.Moment[*set]{
		{Says: "releases a version that never becomes ready", Edit: image("v2-broken")},
		{Says: "goes back", Edit: image("v1")},
	}
	scaled := []world.Moment[*set]{
		{Says: "wants one pod", Edit: replicas(1)},
		{Says: "wants two again", Edit: replicas(2)},
		{Says: "wants one pod", Edit: replicas(1)},
		{Says: "deletes the set", Deletes: true},
	}
	for name, scenario := range map[string]world.Scenario[*set]{
		"ordered-scale-up-and-down": {Set: ordered(3), Moments: []world.Moment[*set]{
			{Says: "wants one pod", Edit: replicas(1)},
			{Says: "wants none", Edit: replicas(0)},
		}},
		"ordered-release":          {Set: ordered(3), Moments: []world.Moment[*set]{{Says: "releases v2", Edit: image("v2")}}},
		"ordered-release-in-place": {Set: ordered(3, inPlace), Moments: []world.Moment[*set]{{Says: "releases v2", Edit: image("v2")}}},
		"parallel-with-budget": {Set: ordered(5, parallel(2)), Moments: []world.Moment[*set]{
			{Says: "releases v2", Edit: image("v2")},
			{Says: "wants two pods", Edit: replicas(2)},
		}},
		"parallel-in-place-with-budget": {Set: ordered(5, parallel(2), inPlace), Moments: []world.Moment[*set]{{Says: "releases v2", Edit: image("v2")}}},
		"canary-then-all": {Set: ordered(4, inPlace), Moments: []world.Moment[*set]{
			{Says: "releases v2 to the last pod", Edit: all(image("v2"), partition(3))},
			{Says: "is content and lets it go on", Edit: partition(0)},
		}},
		"broken-then-back-ordered":           {Set: ordered(3), Moments: broken},
		"broken-then-back-ordered-in-place":  {Set: ordered(3, inPlace), Moments: broken},
		"broken-then-back-parallel":          {Set: ordered(4, parallel(2)), Moments: broken},
		"broken-then-back-parallel-in-place": {Set: ordered(4, parallel(2), inPlace), Moments: broken},
		"broken-from-the-start":              {Set: ordered(2, image("v1-broken")), Moments: []world.Moment[*set]{{Says: "releases the fix", Edit: image("v2")}}},
		"broken-in-the-middle": {Set: ordered(3), Moments: []world.Moment[*set]{
			{Says: "releases v2", Edit: image("v2")},
			{After: 3, Says: "releases a version that crashes", Edit: image("v3-crash")},
			{Says: "releases the fix", Edit: image("v4")},
		}},
		"ordinals-reserved-during-a-release": {Set: ordered(3), Moments: []world.Moment[*set]{
			{Says: "releases v2", Edit: image("v2")},
			{After: 3, Says: "reserves ordinal 1", Edit: reserving(1)},
			{Says: "wants it back", Edit: reserving()},
		}},
		"a-higher-start": {Set: ordered(2), Moments: []world.Moment[*set]{
			{Says: "starts at 2", Edit: func(s *set) { s.Spec.Ordinals = &kruisev1beta1.StatefulSetOrdinals{Start: 2} }},
		}},
		"claims-retained":                      {Set: ordered(2, claims(retain, retain)), Moments: scaled},
		"claims-deleted-with-the-set":          {Set: ordered(2, claims(retain, remove)), Moments: scaled},
		"claims-deleted-when-scaled":           {Set: ordered(2, claims(remove, retain)), Moments: scaled},
		"claims-deleted-when-scaled-and-after": {Set: ordered(2, claims(remove, remove)), Moments: scaled},
		"claims-that-grow": {Set: ordered(2, claims(retain, retain), resizing), Moments: []world.Moment[*set]{
			{Says: "asks for more", Edit: func(s *set) { resize(s, 2) }},
		}},
		"a-chosen-pod": {Set: ordered(3), Moments: []world.Moment[*set]{
			{Says: "chooses pod 1 for deletion", Pods: func(pods []*corev1.Pod) {
				pods[1].Labels = world.Merged(pods[1].Labels, kruisev1alpha1.LabelSpecifiedDelete, "true")
			}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := world.Tell(kind{}, scenario)
			if err != nil {
				t.Errorf("%v\n%s", err, got)
			}
			world.CompareGolden(t, name, got)
		})
	}
}
