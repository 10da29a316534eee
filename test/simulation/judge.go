// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

// manager is the actor name of the writes that are judged.
const manager = "manager"

// judge compares each write of the manager with what the spec that it had seen allows, in the true state of the world.
type judge struct {
	server *api.Server
	clock  clock.PassiveClock
	view   *api.Cache                 // what the manager sees
	saw    []*kruisev1alpha1.CloneSet // the versions of the set that the running reconcile may act on
	done   int                        // how much of the log was judged
	caught map[api.Kind]int           // how much of the history the manager's first process after a death must know again
	ours   map[types.UID]*deeds
	data   map[types.UID]Release // of revisions
	// deleted are the names of pods that the manager deleted while they were active.
	deleted map[string]bool
	err     error // the first violation
	tell    func(format string, args ...any)
}

// deeds are what the manager did to a pod, by the version of its write.
type deeds struct {
	removed   bool
	disrupted int64 // taken out of service
	moved     int64 // given another revision
}

func newJudge(server *api.Server, c clock.PassiveClock, tell func(string, ...any)) *judge {
	return &judge{server: server, clock: c, ours: map[types.UID]*deeds{}, data: map[types.UID]Release{}, deleted: map[string]bool{}, tell: tell}
}

// begin starts a reconcile that looks at view.
func (j *judge) begin(view *api.Cache, key types.NamespacedName) {
	j.view, j.saw = view, nil
	if set, ok := view.Peek(api.CloneSets, key).(*kruisev1alpha1.CloneSet); ok {
		j.saw = append(j.saw, set)
	}
}

// reborn notes that a new manager begins with a view that is older than what a former one has done. Until it has caught up,
// nobody can expect it to count right: its memory is gone, and its cache does not show everything. What must hold even then is
// what can be judged by the one object that is written, since such writes are conditional on its version.
func (j *judge) reborn() {
	j.caught = map[api.Kind]int{}
	for _, kind := range api.Kinds() {
		j.caught[kind] = len(j.server.History(kind))
	}
}

func (j *judge) catchingUp() bool {
	for kind, n := range j.caught {
		if len(j.server.History(kind))-j.view.Pending(kind) < n {
			return true
		}
	}
	j.caught = nil
	return false
}

// readLive adds a version of the set that the manager read from the server.
func (j *judge) readLive(set *kruisev1alpha1.CloneSet) { j.saw = append(j.saw, set) }

// look judges the writes since the last look.
func (j *judge) look() {
	log := j.server.Log()
	for ; j.done < len(log); j.done++ {
		w := log[j.done]
		if w.Actor != manager {
			continue
		}
		j.tell("manager: %s of %s %s %s, version %d", w.Verb, w.Kind, w.After.GetName(), w.Subresource, w.Version)
		if err := j.write(w); err != nil && j.err == nil {
			j.err = fmt.Errorf("%s %s %s (version %d): %w", w.Verb, w.Kind, w.After.GetName(), w.Version, err)
		}
		j.remember(w)
	}
}

// write is in order when it is for one of the specs that the manager may have acted on.
func (j *judge) write(w api.Write) error {
	if len(j.saw) == 0 {
		return fmt.Errorf("the manager writes for a set that it does not see")
	}
	var err error
	for _, set := range j.saw {
		if !j.exists(set) {
			return nil // what is done for a set that is gone is collected with it
		}
		if err = j.writeFor(w, j.scene(w, set)); err == nil {
			return nil
		}
	}
	return err
}

func (j *judge) writeFor(w api.Write, s *scene) error {
	switch w.Kind {
	case api.Pods:
		return j.podWrite(w, s)
	case api.CloneSets:
		if w.Subresource == api.Main {
			return s.trims(w.Before.(*kruisev1alpha1.CloneSet), w.After.(*kruisev1alpha1.CloneSet))
		}
		return j.setWrite(w, s)
	case api.Claims:
		return s.claimWrite(w)
	case api.Revisions:
		return j.revisionWrite(w, s)
	default:
		return nil
	}
}

func (j *judge) podWrite(w api.Write, s *scene) error {
	switch {
	case w.Verb == api.Create:
		return s.creates(w.After.(*corev1.Pod))
	case w.Verb == api.Mark || w.Verb == api.Remove && w.Before.GetDeletionTimestamp() == nil:
		return s.deletes(w.Before.(*corev1.Pod))
	case w.Verb == api.Update && w.Subresource == api.Main:
		return s.patches(w.Before.(*corev1.Pod), w.After.(*corev1.Pod))
	case w.Verb == api.Update && w.Subresource == api.Resize:
		return s.resizes(w.Before.(*corev1.Pod), w.After.(*corev1.Pod))
	case w.Verb == api.Update:
		return s.setsStatus(w.Before.(*corev1.Pod), w.After.(*corev1.Pod))
	}
	return nil
}

func (j *judge) remember(w api.Write) {
	if w.Kind != api.Pods {
		return
	}
	d := j.ours[w.After.GetUID()]
	if d == nil {
		d = &deeds{}
		j.ours[w.After.GetUID()] = d
	}
	after := w.After.(*corev1.Pod)
	if w.Verb == api.Create {
		j.deleted[after.Name] = false
	} else if w.Verb != api.Update {
		j.deleted[after.Name] = active(w.Before.(*corev1.Pod))
	}
	if w.Verb != api.Create && w.Verb != api.Update {
		d.removed = true
		return
	}
	if before, existed := w.Before.(*corev1.Pod); existed {
		if len(before.OwnerReferences) > len(after.OwnerReferences) {
			d.removed = true
		}
		if inService(before) && !inService(after) {
			d.disrupted = w.Version
		}
		if before.Labels[kruisev1alpha1.LabelRevision] != after.Labels[kruisev1alpha1.LabelRevision] {
			d.moved = w.Version
		}
	}
}

// release returns what the named revision holds; false when the set, as it is now, has no such revision.
func (j *judge) release(name string) (Release, bool) {
	revision, ok := j.server.Get(api.Revisions, types.NamespacedName{Namespace: namespace, Name: name}).(*appsv1.ControllerRevision)
	set := j.server.Get(api.CloneSets, theSet)
	if !ok || set == nil || !metav1.IsControlledBy(revision, set) {
		return Release{}, false
	}
	if r, known := j.data[revision.UID]; known {
		return r, true
	}
	r, err := recorded(revision)
	if err != nil {
		j.err = err
		return Release{}, false
	}
	j.data[revision.UID] = r
	return r, true
}

// exists tells whether the set that the manager saw is still there.
func (j *judge) exists(set *kruisev1alpha1.CloneSet) bool {
	o := j.server.Get(api.CloneSets, client.ObjectKeyFromObject(set))
	return o != nil && o.GetUID() == set.UID
}

// revisionWrite: history may go, but nothing that is in use.
func (j *judge) revisionWrite(w api.Write, s *scene) error {
	if w.Verb != api.Remove || s.catchingUp {
		return nil
	}
	name := w.After.GetName()
	if r, err := recorded(w.After.(*appsv1.ControllerRevision)); err == nil && r == s.wants {
		return fmt.Errorf("the update revision is forgotten")
	}
	if s.set.Status.CurrentRevision == name {
		return fmt.Errorf("the current revision is forgotten")
	}
	for _, pod := range s.pods {
		if active(pod) && pod.Labels[kruisev1alpha1.LabelRevision] == name {
			return fmt.Errorf("revision is forgotten while pod %s carries it", pod.Name)
		}
	}
	return nil
}

// scene is the world just before one write, for one version of the spec.
type scene struct {
	judge *judge
	set   *kruisev1alpha1.CloneSet
	numbers
	wants Release
	now   time.Time
	pods  []*corev1.Pod // members of the set, in truth
	// catchingUp: the manager's view is older than its own former life.
	catchingUp bool
	blind      []*corev1.Pod // members that others have taken away, which the manager's view still shows as active
}

func (j *judge) scene(w api.Write, set *kruisev1alpha1.CloneSet) *scene {
	s := &scene{judge: j, set: set, numbers: numbersOf(set), wants: wanted(set), now: j.clock.Now(), catchingUp: j.catchingUp()}
	alive := map[types.UID]bool{}
	add := func(o client.Object) {
		if pod := o.(*corev1.Pod); member(pod, set.UID) {
			s.pods = append(s.pods, pod)
			alive[pod.UID] = active(pod)
		}
	}
	for _, o := range j.server.List(api.Pods) {
		if w.Kind != api.Pods || o.GetUID() != w.After.GetUID() {
			add(o)
		}
	}
	if w.Kind == api.Pods && w.Before != nil {
		add(w.Before)
	}
	for _, o := range j.view.All(api.Pods) {
		pod := o.(*corev1.Pod)
		if d := j.ours[pod.UID]; member(pod, set.UID) && active(pod) && !alive[pod.UID] && (d == nil || !d.removed) {
			s.blind = append(s.blind, pod)
		}
	}
	return s
}

// old tells whether a pod counts on the old side: whatever does not carry the wanted revision.
func (s *scene) old(pod *corev1.Pod) bool {
	r, exists := s.judge.release(pod.Labels[kruisev1alpha1.LabelRevision])
	return !exists || r != s.wants
}

// counts holds what the manager may fairly believe to be there: the truth, and what others took away without its knowledge.
type counts struct{ active, old, new, available int }

func (s *scene) counts() counts {
	var c counts
	for _, pod := range s.pods {
		if !active(pod) {
			continue
		}
		c.active++
		if s.old(pod) {
			c.old++
		} else {
			c.new++
		}
		if available(pod, s.set.Spec.MinReadySeconds, s.now) || s.believedAvailable(pod.UID) {
			c.available++
		}
	}
	for _, pod := range s.blind {
		c.active++
		if d := s.judge.ours[pod.UID]; s.old(pod) && (d == nil || d.moved <= version(pod)) {
			c.old++
		}
		if s.believedAvailable(pod.UID) {
			c.available++
		}
	}
	return c
}

// believedAvailable: the view shows the pod as available, and nothing that the manager did since speaks against it.
func (s *scene) believedAvailable(uid types.UID) bool {
	for _, o := range s.judge.view.All(api.Pods) {
		pod := o.(*corev1.Pod)
		if pod.UID != uid {
			continue
		}
		d := s.judge.ours[uid]
		return member(pod, s.set.UID) && available(pod, s.set.Spec.MinReadySeconds, s.now) && (d == nil || d.disrupted <= version(pod))
	}
	return false
}

func version(o client.Object) int64 {
	v, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("resource version %q of %s is not a number", o.GetResourceVersion(), o.GetName()))
	}
	return v
}
