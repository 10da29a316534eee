// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/world"
)

type spec = cafev1alpha1.InPlaceSet

// oneByOne is a set that updates one pod at a time.
func oneByOne(replicas int32, changes ...func(*spec)) *spec {
	set := newSet(replicas, world.Release{App: "v1"})
	set.Spec.Strategy.MaxUnavailable = world.Number(1)
	for _, change := range changes {
		change(set)
	}
	return set
}

func image(app string) func(*spec) {
	return func(s *spec) { s.Spec.Template = world.Release{App: app}.Template() }
}

func partition(n int) func(*spec) {
	return func(s *spec) { s.Spec.Strategy.Partition = world.Number(n) }
}

func replicas(n int32) func(*spec) { return func(s *spec) { s.Spec.Replicas = &n } }

func all(changes ...func(*spec)) func(*spec) {
	return func(s *spec) {
		for _, change := range changes {
			change(s)
		}
	}
}

func gateIs(pod *corev1.Pod, status corev1.ConditionStatus) bool {
	gate := world.Condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady)
	return gate != nil && gate.Status == status
}

// takesOn has a component route to every pod that it is asked to.
func takesOn(component string) func([]*corev1.Pod) {
	return func(pods []*corev1.Pod) {
		for _, pod := range pods {
			if world.Ready(pod) && !slices.Contains(routed(pod), component) {
				pod.Finalizers = append(pod.Finalizers, finalizer(component))
			}
		}
	}
}

// letsGo has a component leave every pod whose gate is closed.
func letsGo(component string) func([]*corev1.Pod) {
	return func(pods []*corev1.Pod) {
		for _, pod := range pods {
			if gateIs(pod, corev1.ConditionFalse) {
				pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return f == finalizer(component) })
			}
		}
	}
}

func deleteFirst(pods []*corev1.Pod) { pods[0].DeletionTimestamp = &pods[0].CreationTimestamp }

type moments = []world.Moment[*spec]

// TestRelease tells whole releases. A change of a transcript is a change of behaviour: read the difference as a user would.
func TestRelease(t *testing.T) {
	for name, scenario := range map[string]world.Scenario[*spec]{
		"create-five": {Set: oneByOne(5)},
		"in-place":    {Set: oneByOne(3), Moments: moments{{Says: "releases v2", Edit: image("v2")}}},
		"a-quarter-at-a-time": {Set: newSet(8, world.Release{App: "v1"}), Moments: moments{
			{Says: "releases v2", Edit: image("v2")},
		}},
		"canary-then-all": {Set: oneByOne(4), Moments: moments{
			{Says: "releases v2 to one pod", Edit: all(image("v2"), partition(3))},
			{Says: "is content and lets it go on", Edit: partition(0)},
		}},
		"grace-period": {Set: oneByOne(2, func(s *spec) { s.Spec.Strategy.GracePeriodSeconds = 10 }), Moments: moments{
			{Says: "releases v2", Edit: image("v2")},
		}},
		"what-cannot-change-in-place": {Set: oneByOne(2), Moments: moments{
			{Says: "changes an environment variable", Edit: func(s *spec) { s.Spec.Template = world.Release{App: "v1", Env: "new"}.Template() }},
		}},
		"broken-then-fixed": {Set: oneByOne(3), Moments: moments{
			{Says: "releases a version that never becomes ready", Edit: image("v2-broken")},
			{Says: "releases the fix", Edit: image("v3")},
		}},
		"traffic-leaves-and-comes-back": {Set: oneByOne(2, declare("lb")), Moments: moments{
			{Says: "plays lb: takes the pods on", Pods: takesOn("lb")},
			{Says: "releases v2", Edit: image("v2")},
			{Says: "plays lb: lets go of the first", Pods: letsGo("lb")},
			{Says: "plays lb: takes it on again", Pods: takesOn("lb")},
			{Says: "plays lb: lets go of the second", Pods: letsGo("lb")},
			{Says: "plays lb: takes it on again", Pods: takesOn("lb")},
		}},
		"two-components-and-one-is-declared-no-more": {Set: oneByOne(1, declare("lb", "rpc")), Moments: moments{
			{Says: "plays lb: takes the pod on", Pods: takesOn("lb")},
			{Says: "plays rpc: takes it on, too", Pods: takesOn("rpc")},
			{Says: "releases v2", Edit: image("v2")},
			{Says: "plays lb: lets go of it", Pods: letsGo("lb")},
			{Says: "declares rpc no more", Edit: declare("lb")},
			{Says: "plays lb: takes it on again", Pods: takesOn("lb")},
		}},
		"called-off-before-traffic-left": {Set: oneByOne(2, declare("lb")), Moments: moments{
			{Says: "plays lb: takes the pods on", Pods: takesOn("lb")},
			{Says: "releases v2", Edit: image("v2")},
			{Says: "goes back", Edit: image("v1")},
		}},
		"paused-before-traffic-left": {Set: oneByOne(2, declare("lb")), Moments: moments{
			{Says: "plays lb: takes the pods on", Pods: takesOn("lb")},
			{Says: "releases v2", Edit: image("v2")},
			{Says: "pauses", Edit: func(s *spec) { s.Spec.Strategy.Paused = true }},
		}},
		"broken-then-fixed-with-traffic": {Set: oneByOne(2, declare("lb")), Moments: moments{
			{Says: "plays lb: takes the pods on", Pods: takesOn("lb")},
			{Says: "releases a version that never becomes ready", Edit: image("v2-broken")},
			{Says: "plays lb: lets go of the first", Pods: letsGo("lb")},
			{Says: "releases the fix", Edit: image("v3")},
			{Says: "plays lb: takes the first on again", Pods: takesOn("lb")},
			{Says: "plays lb: lets go of the second", Pods: letsGo("lb")},
			{Says: "plays lb: takes it on again", Pods: takesOn("lb")},
		}},
		"born-broken-and-never-taken-on": {Set: oneByOne(2, declare("lb"), image("v1-broken")), Moments: moments{
			{Says: "releases the fix", Edit: image("v2")},
			{Says: "plays lb: takes the pods on", Pods: takesOn("lb")},
			{Says: "plays lb: takes the last on", Pods: takesOn("lb")},
		}},
		"scale-in-waits-for-traffic": {Set: oneByOne(3, declare("lb")), Moments: moments{
			{Says: "plays lb: takes the pods on", Pods: takesOn("lb")},
			{Says: "wants one pod less", Edit: replicas(2)},
			{Says: "wants it again before lb let go", Edit: replicas(3)},
			{Says: "wants one pod less after all", Edit: replicas(2)},
			{Says: "plays lb: lets go", Pods: letsGo("lb")},
		}},
		"recreated-when-traffic-has-left": {Set: oneByOne(1, declare("lb")), Moments: moments{
			{Says: "plays lb: takes the pod on", Pods: takesOn("lb")},
			{Says: "changes an environment variable", Edit: func(s *spec) { s.Spec.Template = world.Release{App: "v1", Env: "new"}.Template() }},
			{Says: "plays lb: lets go", Pods: letsGo("lb")},
			{Says: "plays lb: takes the new pod on", Pods: takesOn("lb")},
		}},
		"deleted-by-a-person": {Set: oneByOne(2, declare("lb")), Moments: moments{
			{Says: "plays lb: takes the pods on", Pods: takesOn("lb")},
			{Says: "deletes the first pod", Pods: deleteFirst},
			{Says: "plays lb: lets go", Pods: letsGo("lb")},
			{Says: "plays lb: takes the new pod on", Pods: takesOn("lb")},
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
