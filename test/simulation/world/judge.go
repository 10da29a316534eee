// SPDX-License-Identifier: Apache-2.0

package world

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
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/simulation/api"
)

// Actor is the name under which the manager writes.
const Actor = "manager"

// Judge compares each write of the manager with what the spec that it had seen allows, in the true state of the world.
type Judge struct {
	*Clerk
	Server *api.Server
	clock  clock.PassiveClock
	kind   SetKind
	View   *api.Cache // what the manager sees
	past   Past
	Began  int64           // the last version before the running reconcile
	Meant  []step.Step     // what it has decided on so far
	saw    []client.Object // the versions of the set that the running reconcile may act on
	Ours   map[types.UID]*Deeds
	served map[types.UID]time.Time // until when pods were ready, as far as endpoints know
	data   map[types.UID]Release   // of revisions
	// Deleted are the names of pods that the manager deleted while they were active.
	Deleted map[string]bool
}

// Deeds are what the manager did to a pod, by the version of its write.
type Deeds struct {
	Adopted   int64
	Removed   bool
	Disrupted int64 // taken out of service
	Moved     int64 // given another revision
}

func newJudge(w *World, kind SetKind) *Judge {
	j := &Judge{Server: w.Server, clock: w.Clock, kind: kind, Ours: map[types.UID]*Deeds{}, served: map[types.UID]time.Time{}, data: map[types.UID]Release{}, Deleted: map[string]bool{}}
	j.Clerk = NewClerk(w, j.hear)
	return j
}

// Begin starts a reconcile that looks at view.
func (j *Judge) Begin(view *api.Cache) {
	j.View, j.saw, j.Began, j.Meant = view, nil, 0, nil
	if log := j.Server.Log(); len(log) > 0 {
		j.Began = log[len(log)-1].Version
	}
	if set := view.Peek(j.kind.Stored(), TheSet); set != nil {
		j.saw = append(j.saw, set)
	}
}

// Reborn notes that a new manager begins with a view that is older than what a former one has done. Until it has caught up,
// nobody can expect it to count right: its memory is gone, and its cache does not show everything. What must hold even then is
// what can be judged by the one object that is written, since such writes are conditional on its version.
func (j *Judge) Reborn() { j.past = PastOf(j.Server) }

// Past is how much of the history of each kind the first process after a death must know again.
type Past map[api.Kind]int

// PastOf is all that has happened so far.
func PastOf(server *api.Server) Past {
	p := Past{}
	for _, kind := range api.Kinds() {
		p[kind] = len(server.History(kind))
	}
	return p
}

// IsAheadOf tells whether a view does not show all of it yet. Once it does, the past is forgotten.
func (p Past) IsAheadOf(server *api.Server, view *api.Cache) bool {
	for kind, n := range p {
		if len(server.History(kind))-view.Pending(kind) < n {
			return true
		}
	}
	clear(p)
	return false
}

// Read adds a version of the set that the manager read from the server.
func (j *Judge) Read(o client.Object) {
	if api.KindOf(o) == j.kind.Stored() {
		j.saw = append(j.saw, o)
	}
}

// hear judges a write of the manager, and notes what the next ones are judged by.
func (j *Judge) hear(w api.Write) error {
	j.serve(w)
	if w.Actor != Actor {
		return nil
	}
	defer j.remember(w)
	return j.write(w)
}

// write is in order when it is for one of the specs that the manager may have acted on.
func (j *Judge) write(w api.Write) error {
	if len(j.saw) == 0 {
		return fmt.Errorf("the manager writes for a set that it does not see")
	}
	var err error
	for _, set := range j.saw {
		if !j.Exists(set) {
			return nil // what is done for a set that is gone is collected with it
		}
		if err = j.writeFor(w, j.scene(w, set)); err == nil {
			return nil
		}
	}
	return err
}

func (j *Judge) writeFor(w api.Write, s *Scene) error {
	switch w.Kind {
	case api.Pods:
		return j.podWrite(w, s)
	case j.kind.Stored():
		return s.Rules.Set(w)
	case api.Claims:
		return s.Rules.Claim(w)
	case api.Revisions:
		return j.revisionWrite(w, s)
	default:
		return nil
	}
}

func (j *Judge) podWrite(w api.Write, s *Scene) error {
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

func (j *Judge) remember(w api.Write) {
	if w.Kind != api.Pods {
		return
	}
	d := j.Ours[w.After.GetUID()]
	if d == nil {
		d = &Deeds{}
		j.Ours[w.After.GetUID()] = d
	}
	after := w.After.(*corev1.Pod)
	if w.Verb == api.Create {
		j.Deleted[after.Name] = false
	} else if w.Verb != api.Update {
		j.Deleted[after.Name] = Active(w.Before.(*corev1.Pod))
	}
	if w.Verb != api.Create && w.Verb != api.Update {
		d.Removed = true
		if before, was := w.Before.(*corev1.Pod); was && InService(before) {
			d.Disrupted = w.Version
		}
		return
	}
	if before, existed := w.Before.(*corev1.Pod); existed {
		if len(before.OwnerReferences) > len(after.OwnerReferences) {
			d.Removed = true
		}
		if len(before.OwnerReferences) < len(after.OwnerReferences) {
			d.Removed, d.Adopted = false, w.Version
		}
		if InService(before) && !InService(after) {
			d.Disrupted = w.Version
		}
		if before.Labels[kruisev1alpha1.LabelRevision] != after.Labels[kruisev1alpha1.LabelRevision] {
			d.Moved = w.Version
		}
	}
}

// Release returns what the named revision holds; false when the set, as it is now, has no such revision.
func (j *Judge) Release(name string) (Release, bool) {
	revision, ok := j.Server.Get(api.Revisions, types.NamespacedName{Namespace: Namespace, Name: name}).(*appsv1.ControllerRevision)
	set := j.Server.Get(j.kind.Stored(), TheSet)
	if !ok || set == nil || !metav1.IsControlledBy(revision, set) {
		return Release{}, false
	}
	if r, known := j.data[revision.UID]; known {
		return r, true
	}
	r, err := Recorded(revision)
	if err != nil {
		j.Accuse(err)
		return Release{}, false
	}
	j.data[revision.UID] = r
	return r, true
}

// Exists tells whether the set that the manager saw is still there.
func (j *Judge) Exists(set client.Object) bool {
	o := j.Server.Get(j.kind.Stored(), client.ObjectKeyFromObject(set))
	return o != nil && o.GetUID() == set.GetUID()
}

// revisionWrite: history may go, but nothing that is in use.
func (j *Judge) revisionWrite(w api.Write, s *Scene) error {
	if w.Verb != api.Remove || s.CatchingUp {
		return nil
	}
	name := w.After.GetName()
	if r, err := Recorded(w.After.(*appsv1.ControllerRevision)); err == nil && r == s.Wants {
		return fmt.Errorf("the update revision is forgotten")
	}
	if s.Current == name {
		return fmt.Errorf("the current revision is forgotten")
	}
	for _, pod := range s.Pods {
		if Active(pod) && pod.Labels[kruisev1alpha1.LabelRevision] == name {
			return fmt.Errorf("revision is forgotten while pod %s carries it", pod.Name)
		}
	}
	return nil
}

// Scene is the world just before one write, for one version of the spec.
type Scene struct {
	Judge *Judge
	Owner client.Object // the set
	Spec
	Rules Rules
	Wants Release
	Now   time.Time
	Pods  []*corev1.Pod // members of the set, in truth
	// CatchingUp: the manager's view is older than its own former life.
	CatchingUp bool
	Blind      []*corev1.Pod // members that others have taken away, which the manager's view still shows as active
}

func (j *Judge) scene(w api.Write, set client.Object) *Scene {
	asks := j.kind.Asks(set)
	s := &Scene{Judge: j, Owner: set, Spec: asks, Wants: asks.Wanted(), Now: j.clock.Now(), CatchingUp: j.past.IsAheadOf(j.Server, j.View)}
	alive := map[types.UID]bool{}
	add := func(o client.Object) {
		if pod := o.(*corev1.Pod); Member(pod, set.GetUID()) {
			s.Pods = append(s.Pods, pod)
			alive[pod.UID] = Active(pod)
		}
	}
	for _, o := range j.Server.List(api.Pods) {
		if w.Kind != api.Pods || o.GetUID() != w.After.GetUID() {
			add(o)
		}
	}
	if w.Kind == api.Pods && w.Before != nil {
		add(w.Before)
	}
	for _, o := range j.View.All(api.Pods) {
		pod := o.(*corev1.Pod)
		if d := j.Ours[pod.UID]; Member(pod, set.GetUID()) && Active(pod) && !alive[pod.UID] && (d == nil || !d.Removed) {
			s.Blind = append(s.Blind, pod)
		}
	}
	s.Rules = j.kind.Rules(s)
	return s
}

// Old tells whether a pod counts on the old side: whatever does not carry the wanted revision.
func (s *Scene) Old(pod *corev1.Pod) bool {
	r, exists := s.Judge.Release(pod.Labels[kruisev1alpha1.LabelRevision])
	return !exists || r != s.Wants
}

// Counts hold what the manager may fairly believe to be there: the truth, and what others took away without its knowledge.
type Counts struct{ Active, Old, New, Available int }

// Counts counts the active pods of the set.
func (s *Scene) Counts() Counts {
	var c Counts
	for _, pod := range s.Pods {
		if !Active(pod) {
			continue
		}
		c.Active++
		if s.Old(pod) {
			c.Old++
		} else {
			c.New++
		}
		if Available(pod, s.MinReadySeconds, s.Now) || s.BelievedAvailable(pod.UID) {
			c.Available++
		}
	}
	for _, pod := range s.Blind {
		c.Active++
		if d := s.Judge.Ours[pod.UID]; s.Old(pod) && (d == nil || d.Moved <= Version(pod)) {
			c.Old++
		}
		if s.BelievedAvailable(pod.UID) {
			c.Available++
		}
	}
	return c
}

// BelievedAvailable: the view shows the pod as available, and nothing that the manager did since speaks against it.
func (s *Scene) BelievedAvailable(uid types.UID) bool {
	for _, o := range s.Judge.View.All(api.Pods) {
		pod := o.(*corev1.Pod)
		if pod.UID != uid {
			continue
		}
		d := s.Judge.Ours[uid]
		return Member(pod, s.Owner.GetUID()) && Available(pod, s.MinReadySeconds, s.Now) && (d == nil || d.Disrupted <= Version(pod))
	}
	return false
}

// Version is the resource version of an object as a number.
func Version(o client.Object) int64 {
	v, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("resource version %q of %s is not a number", o.GetResourceVersion(), o.GetName()))
	}
	return v
}
