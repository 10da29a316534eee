// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/world"
)

type spec = kruisev1alpha1.CloneSet

// inPlace is a set that is updated in place where it can be, one pod at a time.
func inPlace(replicas int32, changes ...func(*spec)) *spec {
	set := newSet(replicas, world.Release{App: "v1"})
	set.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
	set.Spec.UpdateStrategy.MaxUnavailable = world.Number(1)
	for _, change := range changes {
		change(set)
	}
	return set
}

func image(app string) func(*spec) {
	return func(s *spec) { s.Spec.Template = world.Release{App: app}.Template() }
}

func released(r world.Release) func(*spec) {
	return func(s *spec) { s.Spec.Template = r.Template() }
}

var sizedV1 = world.Release{App: "v1", CPU: "100m", Memory: "64Mi"}

func partition(n int) func(*spec) {
	return func(s *spec) { s.Spec.UpdateStrategy.Partition = world.Number(n) }
}

func surge(unavailable, surge int) func(*spec) {
	return func(s *spec) {
		s.Spec.UpdateStrategy.MaxUnavailable, s.Spec.UpdateStrategy.MaxSurge = world.Number(unavailable), world.Number(surge)
	}
}

func recreate(s *spec) {
	s.Spec.UpdateStrategy.Type = kruisev1alpha1.ReCreateCloneSetUpdateStrategyType
}

func all(changes ...func(*spec)) func(*spec) {
	return func(s *spec) {
		for _, change := range changes {
			change(s)
		}
	}
}

// held gives the template handlers of hooks.
func held(letters string) func(*spec) {
	return func(s *spec) {
		r := wanted(s)
		r.Held = letters
		s.Spec.Template = r.Template()
	}
}

func replicas(n int32) func(*spec) { return func(s *spec) { s.Spec.Replicas = &n } }

func labelled(key string, marks bool) *world.Hook {
	return &world.Hook{LabelsHandler: map[string]string{key: world.HandlerValue}, MarkPodNotReady: marks}
}

// in changes the pods that are in a state.
func in(state kruisev1alpha1.LifecycleState, change func(*corev1.Pod)) func([]*corev1.Pod) {
	return func(pods []*corev1.Pod) {
		for _, pod := range pods {
			if world.StateOf(pod) == state {
				change(pod)
			}
		}
	}
}

func with(key string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels[key] = world.HandlerValue }
}

func without(key string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { delete(pod.Labels, key) }
}

// TestRelease tells whole releases. A change of a transcript is a change of behaviour: read the difference as a user would.
func TestRelease(t *testing.T) {
	for name, scenario := range map[string]world.Scenario[*spec]{
		"create-five": {Set: inPlace(5)},
		"in-place": {Set: inPlace(4), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
		}},
		"recreate": {Set: inPlace(3, recreate), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
		}},
		"recreate-with-surge": {Set: inPlace(3, recreate, surge(0, 1)), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
		}},
		"in-place-with-surge-only": {Set: inPlace(3, surge(0, 1)), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
		}},
		"surge-and-unavailable": {Set: inPlace(6, recreate, func(s *spec) {
			s.Spec.UpdateStrategy.MaxUnavailable, s.Spec.UpdateStrategy.MaxSurge = world.Percent(25), world.Percent(25)
		}), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
		}},
		"canary-then-all": {Set: inPlace(5), Moments: []world.Moment[*spec]{
			{Says: "releases v2 to one pod", Edit: all(image("v2"), partition(4))},
			{Says: "is content and lets it go on", Edit: partition(0)},
		}},
		"paused": {Set: inPlace(3), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
			{After: 3, Says: "pauses and scales", Edit: func(s *spec) {
				s.Spec.UpdateStrategy.Paused, s.Spec.Replicas = true, ptr.To[int32](4)
			}},
			{Says: "lets it go on", Edit: func(s *spec) { s.Spec.UpdateStrategy.Paused = false }},
		}},
		"scale-in-by-cost": {Set: inPlace(4), Moments: []world.Moment[*spec]{
			{Says: "says that the first two pods are worth more", Pods: func(pods []*corev1.Pod) {
				for _, pod := range pods[:2] {
					pod.Annotations = world.Merged(pod.Annotations, kruisev1alpha1.AnnotationPodDeletionCost, "100")
				}
			}},
			{Says: "wants two pods", Edit: func(s *spec) { s.Spec.Replicas = ptr.To[int32](2) }},
		}},
		"broken-then-fixed": {Set: inPlace(4, func(s *spec) { s.Spec.UpdateStrategy.MaxUnavailable = world.Number(2) }), Moments: []world.Moment[*spec]{
			{Says: "releases a version that never becomes ready", Edit: image("v2-broken")},
			{Says: "releases the fix", Edit: image("v3")},
		}},
		"crashing-then-back": {Set: inPlace(3, recreate), Moments: []world.Moment[*spec]{
			{Says: "releases a version that crashes", Edit: image("v2-crash")},
			{Says: "rolls back", Edit: image("v1")},
		}},
		"missing-image-then-fixed": {Set: inPlace(3), Moments: []world.Moment[*spec]{
			{Says: "releases an image that does not exist", Edit: image("v2-missing")},
			{Says: "releases the right one", Edit: image("v2")},
		}},
		"rollback-in-the-middle": {Set: inPlace(4), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
			{After: 4, Says: "rolls back", Edit: image("v1")},
		}},
		"newer-in-the-middle": {Set: inPlace(3), Moments: []world.Moment[*spec]{
			{Says: "releases v2, which is slow", Edit: image("v2-slow-60s")},
			{After: 2, Says: "releases v3 before v2 runs", Edit: image("v3")},
		}},
		"grace-period": {Set: inPlace(2, func(s *spec) {
			s.Spec.UpdateStrategy.InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: 10}
		}), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
		}},
		"late-nodes": {Set: inPlace(2, func(s *spec) {
			s.Spec.UpdateStrategy.InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: 10}
		}), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
			{After: 2, Says: "the node has not seen the drain, and reports the pod ready", Resends: true},
			{After: 1, Says: "and once more", Resends: true},
		}},
		"percentages": {Set: inPlace(5, func(s *spec) {
			s.Spec.UpdateStrategy.MaxUnavailable = world.Percent(33)
		}), Moments: []world.Moment[*spec]{
			{Says: "releases v2 to a part", Edit: all(image("v2"), func(s *spec) { s.Spec.UpdateStrategy.Partition = world.Percent(50) })},
		}},
		"minimum-ready-time": {Set: inPlace(2, func(s *spec) { s.Spec.MinReadySeconds = 5 }), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
		}},
		"what-cannot-change-in-place": {Set: inPlace(2), Moments: []world.Moment[*spec]{
			{Says: "changes an environment variable", Edit: func(s *spec) { s.Spec.Template = world.Release{App: "v1", Env: "new"}.Template() }},
			{Says: "allows only changes in place, and changes it again", Edit: func(s *spec) {
				s.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType
				s.Spec.Template = world.Release{App: "v1", Env: "newer"}.Template()
			}},
		}},
		"chosen-pods": {Set: inPlace(3), Moments: []world.Moment[*spec]{
			{Says: "chooses the last pod for deletion", Pods: func(pods []*corev1.Pod) {
				last := pods[len(pods)-1]
				last.Labels = world.Merged(last.Labels, kruisev1alpha1.LabelSpecifiedDelete, "true")
			}},
		}},
		"in-place-with-a-hook": {Set: inPlace(2, held("u"), func(s *spec) {
			s.Spec.Lifecycle = &kruisev1alpha1.Lifecycle{InPlaceUpdate: labelled(world.HandlerUpdate, true)}
		}), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: all(image("v2"), held("u"))},
			{Says: "plays the hook: lets the pod go that waits", Pods: in(kruisev1alpha1.LifecyclePreparingUpdate, without(world.HandlerUpdate))},
			{Says: "plays the hook: has checked the pod", Pods: in(kruisev1alpha1.LifecycleUpdated, with(world.HandlerUpdate))},
			{Says: "wants no more of it", Edit: partition(1)},
			{Says: "goes on", Edit: partition(0)},
			{Says: "plays the hook: lets the other one go", Pods: in(kruisev1alpha1.LifecyclePreparingUpdate, without(world.HandlerUpdate))},
			{Says: "plays the hook: has checked it, too", Pods: in(kruisev1alpha1.LifecycleUpdated, with(world.HandlerUpdate))},
		}},
		"scale-in-with-a-hook": {Set: inPlace(3, held("d"), func(s *spec) {
			s.Spec.Lifecycle = &kruisev1alpha1.Lifecycle{PreDelete: labelled(world.HandlerDelete, false)}
		}), Moments: []world.Moment[*spec]{
			{Says: "wants one pod less", Edit: replicas(2)},
			{Says: "wants it again before the hook let it go", Edit: replicas(3)},
			{Says: "wants one pod less after all", Edit: replicas(2)},
			{Says: "plays the hook: lets the pod go", Pods: in(kruisev1alpha1.LifecyclePreparingDelete, without(world.HandlerDelete))},
		}},
		"claims": {Set: inPlace(3, recreate, func(s *spec) {
			s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{world.ClaimTemplate("data")}
		}), Moments: []world.Moment[*spec]{
			{Says: "releases v2", Edit: image("v2")},
			{Says: "wants two pods", Edit: func(s *spec) { s.Spec.Replicas = ptr.To[int32](2) }},
		}},
		"a-label-of-the-template": {Set: inPlace(3), Moments: []world.Moment[*spec]{
			{Says: "changes a label", Edit: func(s *spec) { s.Spec.Template = world.Release{App: "v1", Label: "stable"}.Template() }},
		}},
		"more-cpu-without-a-restart": {Set: inPlace(2, released(sizedV1)), Moments: []world.Moment[*spec]{
			{Says: "gives more CPU", Edit: released(world.Release{App: "v1", CPU: "200m", Memory: "64Mi"})},
		}},
		"more-memory-with-a-restart": {Set: inPlace(2, released(sizedV1)), Moments: []world.Moment[*spec]{
			{Says: "gives more memory, and releases v2", Edit: released(world.Release{App: "v2", CPU: "100m", Memory: "128Mi"})},
		}},
		"a-size-that-no-node-can-give": {Set: inPlace(2, released(sizedV1)), Moments: []world.Moment[*spec]{
			{Says: "gives more CPU than a node has left", Edit: released(world.Release{App: "v1", CPU: world.TooMuch, Memory: "64Mi"})},
		}},
		"containers-in-an-order": {Set: inPlace(2, released(world.Release{App: "v1", Sidecar: "s1", Ordered: true})), Moments: []world.Moment[*spec]{
			{Says: "releases both containers", Edit: released(world.Release{App: "v2", Sidecar: "s2", Ordered: true})},
		}},
		"newer-between-two-batches": {Set: inPlace(1, released(world.Release{App: "v1", Sidecar: "s1", Ordered: true})), Moments: []world.Moment[*spec]{
			{Says: "releases both containers, the first broken", Edit: released(world.Release{App: "v2-broken", Sidecar: "s2", Ordered: true})},
			{Says: "fixes the first", Edit: released(world.Release{App: "v3", Sidecar: "s2", Ordered: true})},
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
