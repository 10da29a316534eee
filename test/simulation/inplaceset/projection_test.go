// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/inplaceset/project"
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/node"
	"slipway.dev/slipway/test/simulation/world"
)

// step lets everybody have their turn; see world.Story.InStep.
func (s *simulation) step(t *testing.T) bool {
	t.Helper()
	more, err := s.InStep(s.letGo)
	if err != nil {
		t.Fatal(err)
	}
	return more
}

// letGo is what components do that work the moment they are asked: they also let go of pods that somebody has deleted.
func (s *simulation) letGo(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return s.Provide(pod)
	}
	for _, component := range routed(pod) {
		s.route(pod, component, false, "lets go of")
		return true // the rest when the pod is seen as it is now
	}
	return false
}

// keepPace has all images start at once, or never. Who is slow cannot be foretold.
func (s *simulation) keepPace(set *cafev1alpha1.InPlaceSet) {
	r := wanted(set)
	version, _, _ := strings.Cut(r.App, "-")
	r.CPU, r.Memory = "", ""
	switch {
	case !r.Healthy():
		r.App = version + "-missing"
	case r.App != version:
		r.App = version
	}
	s.Releases[len(s.Releases)-1] = r
	s.Roll(&set.Spec.Template, r)
}

// randomWorld is a set in the middle of a life, about to get one more edit. Everything is healthy, except for images
// that cannot be pulled.
func randomWorld(t *testing.T, seed uint64) *simulation {
	s := &simulation{Story: world.Still(seed, kind{}, nil)}
	s.Model = node.Model{}
	first := world.Release{App: "v1"}
	if s.Random.IntN(3) == 0 {
		first.Sidecar = "s1"
	}
	s.Releases = []world.Release{first}
	set := newSet(int32(1+s.Random.IntN(8)), first)
	if s.Random.IntN(2) == 0 {
		declare("lb")(set)
	}
	s.Create(set)
	s.Manager.Start(nil)
	for range 1 + s.Random.IntN(6) {
		for range s.Random.IntN(12) {
			s.step(t)
		}
		s.edit(s.pacedEdit)
	}
	for range s.Random.IntN(12) {
		s.step(t)
		if pods := s.Pods(); len(pods) > 0 && s.Random.IntN(6) == 0 {
			s.DisturbPod(pods[s.Random.IntN(len(pods))])
		}
	}
	s.edit(func(set *cafev1alpha1.InPlaceSet) {
		s.pacedEdit(set)
		for s.Random.IntN(3) > 0 || !wanted(set).Healthy() {
			s.NewTemplate(&set.Spec.Template)
			s.keepPace(set)
		}
	})
	return s
}

func (s *simulation) pacedEdit(set *cafev1alpha1.InPlaceSet) {
	s.randomEdit(set)
	s.keepPace(set)
}

// TestProjection compares what is foretold with what then happens, for many worlds.
func TestProjection(t *testing.T) {
	var all world.Happened
	for seed, compared := uint64(0), 0; compared < world.Projections(); seed++ {
		s := randomWorld(t, seed)
		if slices.ContainsFunc(s.Pods(), func(pod *corev1.Pod) bool { return pod.Labels[world.LabelApp] != world.SetName }) {
			continue // a pod that was given up keeps its name, and a manager finds that out only when it is refused
		}
		compared++
		s.Manager.Start(nil) // it forgets which names were taken when it wanted them
		set := typed(s.Set())
		_, diff := s.CompareForetold(&all, func() bool { return s.step(t) }, func(o story.Objects, now time.Time) story.Story { return project.Of(set, o, now) })
		if diff != "" {
			t.Errorf("seed %d, %s: the projection errs %s", seed, describeSpec(set), diff)
		}
	}
	t.Log(&all)
	if n := world.Projections(); all.Passes < 2*n || all.InPlace < n/4 || all.Deleted < n/2 || all.Prepared < n/8 {
		t.Errorf("the worlds are too quiet: %s", &all)
	}
}
