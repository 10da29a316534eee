// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/simulation/api"
)

// Course is what a release does, in the words of the comparison with what was foretold: pass by pass, pod by pod.
type Course struct {
	Passes []string
	Least  int
}

// Foretold reads a story.
func Foretold(s story.Story) Course {
	r := Course{Passes: []string{}, Least: s.Least}
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

// InStep lets everybody have their turn, one after the other: the cache learns all, the manager looks once, the scheduler
// and the nodes do all that there is to do, and a second passes. It returns false when there was nothing for anybody.
//
// LetGo does for a pod what whoever holds it for the set does at once, and returns whether there was anything.
func (s *Story) InStep(letGo func(*corev1.Pod) bool) (more bool, err error) {
	for _, kind := range api.Kinds() {
		for s.Manager.Cache.Pending(kind) > 0 {
			s.Manager.Deliver(kind)
		}
	}
	before := len(s.Server.Log())
	if len(s.Manager.Queued()) > 0 {
		if err := s.Manager.Reconcile(); err != nil {
			return false, err
		}
	}
	s.bindAndRun(letGo)
	if len(s.Server.Log()) > before {
		s.Advance(time.Second)
		return true, nil
	}
	at, some := s.NextAlarm()
	if !some {
		return false, nil
	}
	s.Advance(max(at.Sub(s.Clock.Now()), 0))
	return true, nil
}

func (s *Story) bindAndRun(letGo func(*corev1.Pod) bool) {
	for busy := true; busy; {
		busy = false
		for _, pod := range s.Pods() {
			if pod.Spec.NodeName == "" && Active(pod) {
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
			busy = letGo(pod) || busy
		}
		s.collectClaims()
	}
}

// collectClaims lets claims go that nobody holds any more.
func (s *Story) collectClaims() {
	for o := s.Orphan(); o != nil; o = s.Orphan() {
		s.Collect(o)
	}
	for c := s.Unused(); c != nil; c = s.Unused() {
		s.Unprotect(c)
	}
}

// Provide is a provider of hooks that does its work the moment it is asked. It returns whether there was any.
func (s *Story) Provide(pod *corev1.Pod) bool {
	says, change := Provision(pod, s.asks(s.Set()).Hooks)
	if change == nil {
		return false
	}
	s.Provider(pod, says, change)
	return true
}

// bindFairly gives a pod the node with the fewest, the first by name of several.
func (s *Story) bindFairly(pod *corev1.Pod) {
	used := map[string]int{}
	for _, other := range s.Pods() {
		if Active(other) {
			used[other.Spec.NodeName]++
		}
	}
	name := slices.MinFunc(Nodes, func(a, b string) int { return used[a] - used[b] })
	s.Must(s.Server.Modify("scheduler", api.Pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, api.Binding,
		func(o client.Object) { o.(*corev1.Pod).Spec.NodeName = name }))
	s.Notice()
}

// asks is what a set asks for. Only sets are foretold.
func (s *Story) asks(set client.Object) Spec { return s.Kind.(SetKind).Asks(set) }

// Nodes are where pods may go.
var Nodes = []string{"node-0", "node-1", "node-2"}

// CarriedOut reads what the manager did since then from the log of the API server.
func (s *Story) CarriedOut(since int, from time.Time, before map[types.UID]*corev1.Pod) Course {
	r := Course{Passes: []string{}}
	set := s.Set()
	pods := before
	count := func(now time.Time) int {
		n := 0
		for _, pod := range pods {
			if Member(pod, set.GetUID()) && Available(pod, s.asks(set).MinReadySeconds, now) {
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
		if w.Actor == Actor {
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
		if w.Actor != Actor || i == len(log)-1 || log[i+1].Actor != Actor || !log[i+1].Time.Equal(w.Time) {
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
	case StateOf(before) != StateOf(after) && (StateOf(after) == kruisev1alpha1.LifecyclePreparingUpdate || StateOf(after) == kruisev1alpha1.LifecyclePreparingDelete):
		return "prepare " + after.Name
	}
	return "label " + after.Name
}
