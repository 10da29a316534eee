// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"flag"
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
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/node"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

var projections = flag.Int("projections", 200, "in how many random worlds what is foretold is compared with what happens")

// course is what a release does, in the words of the comparison: pass by pass, pod by pod.
type course struct {
	Passes []string
	Least  int
}

// projected reads the story of a projection.
func projected(s story.Story) course {
	r := course{Passes: []string{}, Least: s.Least}
	for _, m := range s.Moments {
		var did []string
		for _, a := range m.Actions {
			switch a.Verb {
			case story.Create:
				did = append(did, "create "+a.Object)
			case story.Recreate, story.Delete, story.CleanUp:
				did = append(did, "delete "+a.Object)
			case story.InPlace, story.Drain:
				did = append(did, "in place "+a.Object)
			case story.Resume, story.Advance:
				did = append(did, "resume "+a.Object)
			case story.Release:
				did = append(did, "release "+a.Object)
			case story.Prepare:
				did = append(did, "prepare "+a.Object)
			case story.Label:
				did = append(did, "label "+a.Object)
			default: // revisions are not compared
			}
		}
		if len(did) > 0 {
			r.Passes = append(r.Passes, deletionsFirst(strings.Join(did, ", ")))
		}
	}
	return r
}

// deletionsFirst is the order in which a pass is compared: what happens to pods that exist is done at once, and a pod that goes with its
// claims may be tried before others.
func deletionsFirst(pass string) string {
	did := strings.Split(pass, ", ")
	slices.SortStableFunc(did, func(a, b string) int {
		first := func(s string) int {
			if strings.HasPrefix(s, "delete ") {
				return 0
			}
			return 1
		}
		return first(a) - first(b)
	})
	return strings.Join(did, ", ")
}

// inStep lets everybody have their turn, one after the other: the cache learns all, the manager looks once, the scheduler
// and the nodes do all that there is to do, and a second passes. It returns false when there was nothing for anybody.
func (s *simulation) inStep(t *testing.T) bool {
	t.Helper()
	for _, kind := range api.Kinds() {
		for s.Manager.Cache.Pending(kind) > 0 {
			s.Manager.Deliver(kind)
		}
	}
	before := len(s.Server.Log())
	if len(s.Manager.Queued()) > 0 {
		if err := s.Manager.Reconcile(); err != nil {
			t.Fatal(err)
		}
	}
	s.bindAndRun()
	if len(s.Server.Log()) > before {
		s.Advance(time.Second)
		return true
	}
	at, some := s.NextAlarm()
	if !some {
		return false
	}
	s.Advance(max(at.Sub(s.Clock.Now()), 0))
	return true
}

func (s *simulation) bindAndRun() {
	for busy := true; busy; {
		busy = false
		for _, pod := range s.Pods() {
			if pod.Spec.NodeName == "" && world.Active(pod) {
				s.bindFairly(pod)
				busy = true
			}
		}
		for _, pod := range s.Pods() {
			if s.Kubelet[pod.UID] != nil && s.Kubelet[pod.UID].Busy {
				s.StepNode(pod)
				busy = true
			}
		}
		for _, pod := range s.Pods() {
			busy = s.letGo(pod) || busy
		}
		s.collectClaims()
	}
}

// collectClaims lets claims go that nobody holds any more.
func (s *simulation) collectClaims() {
	for o := s.Orphan(); o != nil; o = s.Orphan() {
		s.Collect(o)
	}
	for c := s.Unused(); c != nil; c = s.Unused() {
		s.Unprotect(c)
	}
}

// letGo is a provider of hooks that does its work the moment it is asked. It returns whether there was any.
func (s *simulation) letGo(pod *corev1.Pod) bool {
	says, change := world.Provision(pod, kind{}.Asks(s.Set()).Hooks)
	if change == nil {
		return false
	}
	s.Provider(pod, says, change)
	return true
}

// bindFairly gives a pod the node with the fewest, the first by name of several.
func (s *simulation) bindFairly(pod *corev1.Pod) {
	used := map[string]int{}
	for _, other := range s.Pods() {
		if world.Active(other) {
			used[other.Spec.NodeName]++
		}
	}
	name := slices.MinFunc(nodeNames, func(a, b string) int { return used[a] - used[b] })
	s.Must(s.Server.Modify("scheduler", api.Pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, api.Binding,
		func(o client.Object) { o.(*corev1.Pod).Spec.NodeName = name }))
	s.Notice()
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
			if world.Member(pod, set.UID) && world.Available(pod, set.Spec.MinReadySeconds, now) {
				n++
			}
		}
		return n
	}
	r.Least = count(from)
	var at time.Time
	log := slices.DeleteFunc(slices.Clone(s.Server.Log()[since:]), func(w api.Write) bool { return w.Kind != api.Pods })
	for i, w := range log {
		pod := w.After.(*corev1.Pod)
		if w.Actor == world.Actor {
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
		// The writes of one pass have no order among them: the pass is counted when it is over.
		if w.Actor != world.Actor || i == len(log)-1 || log[i+1].Actor != world.Actor || !log[i+1].Time.Equal(w.Time) {
			r.Least = min(r.Least, count(w.Time))
		}
	}
	for i, did := range r.Passes {
		r.Passes[i] = deletionsFirst(did)
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
	case world.StateOf(before) != world.StateOf(after) && (world.StateOf(after) == kruisev1alpha1.LifecyclePreparingUpdate || world.StateOf(after) == kruisev1alpha1.LifecyclePreparingDelete):
		return "prepare " + after.Name
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
	hooked := s.Random.IntN(2) == 0
	if hooked {
		first.Held = []string{"", "u", "du", "du", "dun"}[s.Random.IntN(5)]
	}
	s.Releases = []world.Release{first}
	set := newSet(int32(1+s.Random.IntN(12)), first)
	set.Spec.UpdateStrategy.Type = updateTypes[s.Random.IntN(len(updateTypes))]
	if hooked {
		set.Spec.Lifecycle = s.FullLifecycle()
	}
	if s.Random.IntN(3) == 0 {
		set.Spec.VolumeClaimTemplates = s.ClaimTemplates()
		set.Spec.ScaleStrategy.DisablePVCReuse = s.Random.IntN(3) == 0
	}
	s.create(set)
	s.Manager.Start(nil)
	for range 1 + s.Random.IntN(6) {
		for range s.Random.IntN(12) {
			s.inStep(t)
		}
		s.edit(func(set *kruisev1alpha1.CloneSet) {
			s.randomEdit(set)
			s.keepPace(set)
		})
	}
	for range s.Random.IntN(12) {
		s.inStep(t)
		if pods := s.Pods(); len(pods) > 0 && s.Random.IntN(6) == 0 {
			s.DisturbPod(pods[s.Random.IntN(len(pods))])
		}
	}
	s.edit(func(set *kruisev1alpha1.CloneSet) {
		s.randomEdit(set)
		s.keepPace(set)
		for s.Random.IntN(3) > 0 || !wanted(set).Healthy() {
			s.NewTemplate(&set.Spec.Template)
			s.keepPace(set)
		}
	})
	return s
}

// TestProjection compares what is foretold with what then happens, for many worlds: the same pods, in the same passes and
// order, in place or not, with the same fewest pods available.
func TestProjection(t *testing.T) {
	passes, inPlace, recreated, prepared, onClaims := 0, 0, 0, 0, 0
	for seed, compared := uint64(0), 0; compared < *projections; seed++ {
		s := randomWorld(t, seed)
		if slices.ContainsFunc(s.Pods(), func(pod *corev1.Pod) bool { return pod.Labels[world.LabelApp] != world.SetName }) {
			continue // a pod that was given up keeps its name, and a manager finds that out only when it is refused
		}
		if len(s.set().Spec.ScaleStrategy.PodsToDelete) > 0 {
			continue // a name is free for a new pod when it leaves this list, which waits for a pass without a new status
		}
		compared++
		objects := story.Objects{Pods: s.Pods()}
		for _, o := range s.Server.List(api.Revisions) {
			objects.Revisions = append(objects.Revisions, o.(*appsv1.ControllerRevision))
		}
		for _, o := range s.Server.List(api.Claims) {
			objects.Claims = append(objects.Claims, o.(*corev1.PersistentVolumeClaim))
		}
		before := map[types.UID]*corev1.Pod{}
		for _, pod := range objects.Pods {
			before[pod.UID] = pod
		}
		since, from := len(s.Server.Log()), s.Clock.Now()
		told := project.Of(project.World(s.set(), objects), s.Clock.Now(), project.Options{Nodes: nodeNames})
		for steps := 0; s.inStep(t); steps++ {
			if steps > 2000 {
				break // a pod whose image is missing is looked at for ever
			}
		}
		want := s.carriedOut(since, from, before)
		if diff := cmp.Diff(want, projected(told)); diff != "" {
			t.Errorf("seed %d, %s: the projection errs (-happened +foretold):\n%s\nleft: %v", seed, describeSpec(s.set()), diff, told.Left)
		}
		for _, did := range want.Passes {
			passes++
			inPlace += strings.Count(did, "in place ")
			recreated += strings.Count(did, "delete ")
			prepared += strings.Count(did, "prepare ")
		}
		if len(s.set().Spec.VolumeClaimTemplates) > 0 && strings.Contains(strings.Join(want.Passes, " "), "create ") {
			onClaims++
		}
	}
	t.Logf("%d passes, %d pods in place, %d deleted, %d prepared for their hooks, %d sets made pods with claims", passes, inPlace, recreated, prepared, onClaims)
	if passes < 400 || inPlace < 100 || recreated < 200 || prepared < 100 || onClaims < 20 {
		t.Errorf("the worlds are too world.Quiet: %s", fmt.Sprint(passes, inPlace, recreated, prepared, onClaims))
	}
}
