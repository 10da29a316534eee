// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Verb is what a write did to the store.
type Verb string

// The verbs of the log. A graceful deletion is one Mark and, later, one Remove.
const (
	Create Verb = "create"
	Update Verb = "update"
	Mark   Verb = "mark"   // deletionTimestamp set, or brought forward
	Remove Verb = "remove" // the object is gone
)

// Subresource names what part of an object a write may change.
type Subresource string

// The subresources of the simulation. The main resource is the empty one.
const (
	Main    Subresource = ""
	Status  Subresource = "status"
	Binding Subresource = "binding"
	Resize  Subresource = "resize"
)

// Write is one change of the store. Before is nil for a creation. After is the object as written; for a removal it is
// the last state, with the resource version of the removal, as a watch reports it.
type Write struct {
	Version     int64
	Time        time.Time
	Actor       string
	Verb        Verb
	Subresource Subresource
	Kind        Kind
	Before      client.Object
	After       client.Object
}

// Key returns namespace and name of the written object.
func (w Write) Key() types.NamespacedName { return client.ObjectKeyFromObject(w.After) }

// Server stores objects. It may be used by several goroutines.
type Server struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	version int64
	uids    int64
	objects [kinds]map[types.NamespacedName]client.Object
	log     []Write
	byKind  [kinds][]Write
}

// New returns an empty server. Its clock gives the times of creation and deletion.
func New(c clock.PassiveClock) *Server {
	s := &Server{clock: c, version: 100}
	for k := range s.objects {
		s.objects[k] = map[types.NamespacedName]client.Object{}
	}
	return s
}

// Log returns all writes so far, oldest first. The slice is shared: read only.
func (s *Server) Log() []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log[:len(s.log):len(s.log)]
}

// History returns the writes of one kind so far, oldest first. The slice is shared: read only.
func (s *Server) History(kind Kind) []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.byKind[kind]
	return h[:len(h):len(h)]
}

// Get returns the stored object, or nil. It is shared: read only.
func (s *Server) Get(kind Kind, key types.NamespacedName) client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[kind][key]
}

// List returns the stored objects of a kind by namespace and name. They are shared: read only.
func (s *Server) List(kind Kind) []client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sorted(s.objects[kind])
}

func sorted(objects map[types.NamespacedName]client.Object) []client.Object {
	list := make([]client.Object, 0, len(objects))
	for _, o := range objects {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b client.Object) int {
		if c := strings.Compare(a.GetNamespace(), b.GetNamespace()); c != 0 {
			return c
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	return list
}

// Create stores a new object and returns it. The argument is not kept.
func (s *Server) Create(actor string, obj client.Object) (client.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.create(actor, obj)
}

func (s *Server) create(actor string, obj client.Object) (client.Object, error) {
	kind, key := KindOf(obj), client.ObjectKeyFromObject(obj)
	if obj.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if key.Name == "" {
		return nil, apierrors.NewInvalid(kind.groupKind(), "", nil)
	}
	if _, exists := s.objects[kind][key]; exists {
		return nil, apierrors.NewAlreadyExists(kind.resource(), key.Name)
	}
	stored := clone(obj)
	s.uids++
	stored.SetUID(types.UID(fmt.Sprintf("uid-%04d", s.uids)))
	stored.SetCreationTimestamp(s.now())
	stored.SetDeletionTimestamp(nil)
	stored.SetDeletionGracePeriodSeconds(nil)
	stored.SetGeneration(0)
	prepareForCreate(stored)
	if err := validateCreate(stored); err != nil {
		return nil, err
	}
	s.store(Write{Actor: actor, Verb: Create, Kind: kind, After: stored})
	return stored, nil
}

// Modify changes an object through change, which is handed a private copy. It serves the actors that are not under test.
func (s *Server) Modify(actor string, kind Kind, key types.NamespacedName, sub Subresource, change func(client.Object)) (client.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, exists := s.objects[kind][key]
	if !exists {
		return nil, apierrors.NewNotFound(kind.resource(), key.Name)
	}
	after := clone(before)
	change(after)
	return s.replace(actor, kind, sub, before, after, false)
}

// Update replaces an object, or the part of it that the subresource covers. A resource version in obj is a precondition.
func (s *Server) Update(actor string, sub Subresource, obj client.Object) (client.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, key := KindOf(obj), client.ObjectKeyFromObject(obj)
	before, exists := s.objects[kind][key]
	if !exists {
		return nil, apierrors.NewNotFound(kind.resource(), key.Name)
	}
	return s.replace(actor, kind, sub, before, clone(obj), false)
}

// replace stores after, which the caller made and hands over, in the place of before. Who owns the fields of after was decided
// when it was applied; else what differs is the actor's.
func (s *Server) replace(actor string, kind Kind, sub Subresource, before, after client.Object, applied bool) (client.Object, error) {
	if rv := after.GetResourceVersion(); rv != "" && rv != before.GetResourceVersion() {
		return nil, apierrors.NewConflict(kind.resource(), before.GetName(),
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if uid := after.GetUID(); uid != "" && uid != before.GetUID() {
		return nil, immutableUID(kind, before, uid)
	}
	after.SetUID(before.GetUID())
	after.SetResourceVersion(before.GetResourceVersion())
	after.SetCreationTimestamp(before.GetCreationTimestamp())
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	after.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	after.SetGeneration(before.GetGeneration())
	if err := errors.Join(prepareForUpdate(sub, before, after), validateControllers(after)); err != nil {
		return nil, err
	}
	if apiequality.Semantic.DeepEqual(before, after) {
		return before, nil // as the real server does: no change, no new resource version, no event
	}
	if !applied && sub == Main && len(before.GetManagedFields()) > 0 {
		if err := own(actor, before, after); err != nil {
			return nil, err
		}
	}
	if done(after) {
		s.remove(actor, kind, before)
		return after, nil
	}
	s.store(Write{Actor: actor, Verb: Update, Subresource: sub, Kind: kind, Before: before, After: after})
	return after, nil
}

// done tells whether a terminating object was only held by the finalizers that are gone now.
func done(obj client.Object) bool {
	return obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && ptr.Deref(obj.GetDeletionGracePeriodSeconds(), 0) == 0
}

// Delete removes an object, or marks it when it has a grace period or finalizers. A nil grace takes the object's own.
func (s *Server) Delete(actor string, kind Kind, key types.NamespacedName, grace *int64, pre *metav1.Preconditions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, exists := s.objects[kind][key]
	if !exists {
		return apierrors.NewNotFound(kind.resource(), key.Name)
	}
	if err := checkPreconditions(kind, before, pre); err != nil {
		return err
	}
	seconds := gracePeriod(before, grace)
	after := clone(before)
	switch at := before.GetDeletionTimestamp(); {
	case at == nil:
		if seconds == 0 && len(before.GetFinalizers()) == 0 {
			s.remove(actor, kind, before)
			return nil
		}
		if after.GetGeneration() > 0 {
			after.SetGeneration(after.GetGeneration() + 1)
		}
	default:
		old := ptr.Deref(before.GetDeletionGracePeriodSeconds(), 0)
		if grace == nil || seconds >= old {
			return nil // already being deleted, and not slower than asked
		}
		if seconds == 0 && len(before.GetFinalizers()) == 0 {
			s.remove(actor, kind, before)
			return nil
		}
	}
	deadline := metav1.NewTime(s.now().Add(time.Duration(seconds) * time.Second))
	after.SetDeletionTimestamp(&deadline)
	after.SetDeletionGracePeriodSeconds(&seconds)
	s.store(Write{Actor: actor, Verb: Mark, Kind: kind, Before: before, After: after})
	return nil
}

func gracePeriod(obj client.Object, asked *int64) int64 {
	pod, isPod := obj.(*corev1.Pod)
	if !isPod {
		return 0
	}
	seconds := ptr.Deref(asked, ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 30))
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		seconds = 0 // nobody is there to shut anything down
	}
	return seconds
}

func checkPreconditions(kind Kind, obj client.Object, pre *metav1.Preconditions) error {
	if pre == nil {
		return nil
	}
	if pre.UID != nil && *pre.UID != obj.GetUID() {
		return apierrors.NewConflict(kind.resource(), obj.GetName(), fmt.Errorf("the UID in the precondition (%s) is not the UID in record (%s)", *pre.UID, obj.GetUID()))
	}
	if pre.ResourceVersion != nil && *pre.ResourceVersion != obj.GetResourceVersion() {
		return apierrors.NewConflict(kind.resource(), obj.GetName(), fmt.Errorf("the ResourceVersion in the precondition (%s) is not the one in record (%s)",
			*pre.ResourceVersion, obj.GetResourceVersion()))
	}
	return nil
}

// now is the server's time as the wire carries it: whole seconds, UTC.
func (s *Server) now() metav1.Time { return metav1.NewTime(s.clock.Now().UTC().Truncate(time.Second)) }

// store gives w.After its resource version and makes it the current object.
func (s *Server) store(w Write) {
	s.version++
	w.Version = s.version
	w.Time = s.clock.Now()
	w.After.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.objects[w.Kind][w.Key()] = w.After
	s.record(w)
}

func (s *Server) record(w Write) {
	s.log = append(s.log, w)
	s.byKind[w.Kind] = append(s.byKind[w.Kind], w)
}

func (s *Server) remove(actor string, kind Kind, obj client.Object) {
	s.version++
	last := clone(obj)
	last.SetResourceVersion(strconv.FormatInt(s.version, 10))
	delete(s.objects[kind], client.ObjectKeyFromObject(obj))
	s.record(Write{Version: s.version, Time: s.clock.Now(), Actor: actor, Verb: Remove, Kind: kind, Before: obj, After: last})
}
