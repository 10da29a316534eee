// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/project"
	"slipway.dev/slipway/test/node"
	"slipway.dev/slipway/test/simulation/api"
)

// course is what a release does, in the words of the comparison: pass by pass, pod by pod.
type course struct {
	Passes []string
	Least  int
}

// projected reads the story of a projection.
func projected(s project.Story) course {
	r := course{Passes: []string{}, Least: s.Least}
	for _, m := range s.Moments {
		var did []string
		for _, a := range m.Actions {
			switch a.Verb {
			case project.Create:
				did = append(did, "create "+a.Object)
			case project.Recreate, project.Delete, project.CleanUp:
				did = append(did, "delete "+a.Object)
			case project.InPlace, project.Drain:
				did = append(did, "in place "+a.Object)
			case project.Resume:
				did = append(did, "resume "+a.Object)
			case project.Release:
				did = append(did, "release "+a.Object)
			case project.Label, project.Prepare:
				did = append(did, "label "+a.Object)
			default: // revisions are not compared
			}
		}
		if len(did) > 0 {
			r.Passes = append(r.Passes, strings.Join(did, ", "))
		}
	}
	return r
}

// inStep lets everybody have their turn, one after the other: the cache learns all, the manager looks once, the scheduler
// and the nodes do all that there is to do, and a second passes. It returns false when there was nothing for anybody.
func (s *simulation) inStep(t *testing.T) bool {
	t.Helper()
	for _, kind := range api.Kinds() {
		for s.manager.cache.Pending(kind) > 0 {
			s.manager.deliver(kind)
		}
	}
	before := len(s.server.Log())
	if s.manager.queued {
		s.reconcileWith(fault{})
		if s.judge.err != nil {
			t.Fatal(s.judge.err)
		}
	}
	s.bindAndRun()
	if len(s.server.Log()) > before {
		s.advance(time.Second)
		return true
	}
	at, some := s.nextAlarm()
	if !some {
		return false
	}
	s.advance(max(at.Sub(s.clock.Now()), 0))
	return true
}

func (s *simulation) bindAndRun() {
	for busy := true; busy; {
		busy = false
		for _, pod := range s.pods() {
			if pod.Spec.NodeName == "" && active(pod) {
				s.bindFairly(pod)
				busy = true
			}
		}
		for _, pod := range s.pods() {
			if s.kubelet[pod.UID] != nil && s.kubelet[pod.UID].busy {
				s.stepNode(pod)
				busy = true
			}
		}
	}
}

// bindFairly gives a pod the node with the fewest, the first by name of several.
func (s *simulation) bindFairly(pod *corev1.Pod) {
	used := map[string]int{}
	for _, other := range s.pods() {
		if active(other) {
			used[other.Spec.NodeName]++
		}
	}
	name := slices.MinFunc(nodeNames, func(a, b string) int { return used[a] - used[b] })
	s.must(s.server.Modify("scheduler", api.Pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, api.Binding,
		func(o client.Object) { o.(*corev1.Pod).Spec.NodeName = name }))
	s.notice()
}

var nodeNames = []string{"node-0", "node-1", "node-2"}

// carriedOut reads what the manager did since then from the log of the API server.
func (s *simulation) carriedOut(since int, from time.Time, before map[types.UID]*corev1.Pod) course {
	r := course{Passes: []string{}}
	set := s.set()
	pods := before
	count := func(now time.Time) int {
		n := 0
		for _, pod := range pods {
			if member(pod, set.UID) && available(pod, set.Spec.MinReadySeconds, now) {
				n++
			}
		}
		return n
	}
	r.Least = count(from)
	var at time.Time
	for _, w := range s.server.Log()[since:] {
		if w.Kind != api.Pods {
			continue
		}
		pod := w.After.(*corev1.Pod)
		if w.Actor == manager {
			if did := act(w); did != "" {
				if w.Time.Equal(at) { // one pass, one second
					did = r.Passes[len(r.Passes)-1] + ", " + did
					r.Passes = r.Passes[:len(r.Passes)-1]
				}
				r.Passes, at = append(r.Passes, did), w.Time
			}
		}
		if w.Verb == api.Remove {
			delete(pods, pod.UID)
		} else {
			pods[pod.UID] = pod
		}
		r.Least = min(r.Least, count(w.Time))
	}
	return r
}

// act names what a write of the manager does to a pod; empty for a part of something.
func act(w api.Write) string {
	after := w.After.(*corev1.Pod)
	switch {
	case w.Verb == api.Create:
		return "create " + after.Name
	case w.Verb == api.Mark, w.Verb == api.Remove:
		return "delete " + after.Name
	case w.Subresource == api.Status, w.Subresource == api.Resize: // parts of what is named by its last write
		return ""
	}
	before := w.Before.(*corev1.Pod)
	_, held := before.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]
	_, holds := after.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]
	switch {
	case len(after.OwnerReferences) < len(before.OwnerReferences):
		return "release " + after.Name
	case held && !holds && before.Labels[kruisev1alpha1.LabelRevision] == after.Labels[kruisev1alpha1.LabelRevision]:
		return "resume " + after.Name
	case before.Annotations[kruisev1alpha1.AnnotationInPlaceState] != after.Annotations[kruisev1alpha1.AnnotationInPlaceState]:
		return "in place " + after.Name
	}
	return "label " + after.Name
}

// keepPace has all images start at once, or never. Who is slow cannot be foretold.
func (s *simulation) keepPace(set *kruisev1alpha1.CloneSet) {
	r := wanted(set)
	version, _, _ := strings.Cut(r.App, "-")
	switch {
	case !r.Healthy():
		r.App = version + "-missing"
	case r.App != version:
		r.App = version
	default:
		return
	}
	s.releases[len(s.releases)-1] = r
	s.roll(set, r)
}

// randomWorld is a set in the middle of a life, about to get one more edit. Everything is healthy, except for images
// that cannot be pulled.
func randomWorld(t *testing.T, seed uint64) *simulation {
	s := &simulation{world: newWorld(seed, Hooks{}, nil)}
	s.model = node.Model{}
	first := Release{App: "v1"}
	if s.random.IntN(3) == 0 {
		first.Sidecar = "s1"
	}
	s.releases = []Release{first}
	set := newSet(int32(1+s.random.IntN(12)), first)
	set.Spec.UpdateStrategy.Type = updateTypes[s.random.IntN(len(updateTypes))]
	s.create(set)
	s.manager.start(nil)
	for range 1 + s.random.IntN(6) {
		for range s.random.IntN(12) {
			s.inStep(t)
		}
		s.edit(func(set *kruisev1alpha1.CloneSet) {
			s.randomEdit(set)
			set.Spec.Lifecycle = nil // nobody plays the provider of hooks here
			s.keepPace(set)
		})
	}
	for range s.random.IntN(12) {
		s.inStep(t)
		if pods := s.pods(); len(pods) > 0 && s.random.IntN(6) == 0 {
			s.disturbPod(pods[s.random.IntN(len(pods))])
		}
	}
	s.edit(func(set *kruisev1alpha1.CloneSet) {
		s.randomEdit(set)
		set.Spec.Lifecycle = nil // nobody plays the provider of hooks here
		for s.random.IntN(3) > 0 || !wanted(set).Healthy() {
			s.newTemplate(set)
			s.keepPace(set)
		}
	})
	return s
}

// TestProjection compares what is foretold with what then happens, for many worlds: the same pods, in the same passes and
// order, in place or not, with the same fewest pods available.
func TestProjection(t *testing.T) {
	passes, inPlace, recreated := 0, 0, 0
	for seed, compared := uint64(0), 0; compared < 200; seed++ {
		s := randomWorld(t, seed)
		if slices.ContainsFunc(s.pods(), func(pod *corev1.Pod) bool { return pod.Labels[labelApp] != setName }) {
			continue // a pod that was given up keeps its name, and a manager finds that out only when it is refused
		}
		if len(s.set().Spec.ScaleStrategy.PodsToDelete) > 0 {
			continue // a name is free for a new pod when it leaves this list, which waits for a pass without a new status
		}
		compared++
		objects := project.Objects{Set: s.set(), Pods: s.pods()}
		for _, o := range s.server.List(api.Revisions) {
			objects.Revisions = append(objects.Revisions, o.(*appsv1.ControllerRevision))
		}
		for _, o := range s.server.List(api.Claims) {
			objects.Claims = append(objects.Claims, o.(*corev1.PersistentVolumeClaim))
		}
		before := map[types.UID]*corev1.Pod{}
		for _, pod := range objects.Pods {
			before[pod.UID] = pod
		}
		since, from := len(s.server.Log()), s.clock.Now()
		story := project.Of(objects.World(), s.clock.Now(), project.Options{Nodes: nodeNames})
		for steps := 0; s.inStep(t); steps++ {
			if steps > 2000 {
				break // a pod whose image is missing is looked at for ever
			}
		}
		want := s.carriedOut(since, from, before)
		if diff := cmp.Diff(want, projected(story)); diff != "" {
			t.Errorf("seed %d, %s: the projection errs (-happened +foretold):\n%s\nleft: %v", seed, describeSpec(s.set()), diff, story.Left)
		}
		for _, did := range want.Passes {
			passes++
			inPlace += strings.Count(did, "in place ")
			recreated += strings.Count(did, "delete ")
		}
	}
	t.Logf("%d passes, %d pods in place, %d deleted", passes, inPlace, recreated)
	if passes < 400 || inPlace < 100 || recreated < 200 {
		t.Errorf("the worlds are too quiet: %s", fmt.Sprint(passes, inPlace, recreated))
	}
}
