// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/revision"
)

// Memory is what is remembered of one object between reconciles: work that need not be done again, and
// names that others have. Losing it costs time and nothing else. A work queue hands one object to one
// goroutine at a time, so it needs no lock. Its zero value remembers nothing.
type Memory struct {
	// Taken are names that others have.
	Taken map[string]bool
	// Unresizable are pods whose node is too small for the resize that this generation of the object asks for,
	// with the server's words.
	Unresizable map[types.UID]string

	Pace

	// quietUntil is when the object is looked at next, whatever happens before.
	quietUntil time.Time
	// size is how many pods the last look has shown.
	size       int
	decoded    map[string]revision.Revision
	readings   map[types.UID]inplace.Reading
	generation int64
	template   revision.Revision
}

const (
	// smallSet is how many pods can be looked at upon every event.
	smallSet = 100
	// restPerPod is how much longer a set rests for each pod beyond that. To look at a pod takes a microsecond or two, so
	// looking takes a small part of the time, however large the set is and however many events it has.
	restPerPod = 50 * time.Microsecond
)

// Rest is how long not to look at the object, because it was just looked at. Events of many pods come faster
// than all its pods can be judged anew.
func (m *Memory) Rest(now time.Time) time.Duration {
	if left := m.quietUntil.Sub(now); left > 0 {
		return left
	}
	m.quietUntil = now.Add(time.Duration(max(m.size-smallSet, 0)) * restPerPod)
	return 0
}

// Wake ends the rest after a look that failed: the queue waits longer from failure to failure, and would begin anew after
// an answer that is none.
func (m *Memory) Wake() { m.quietUntil = time.Time{} }

// Template reads the template of the spec once for each generation of the owner. What was learnt about
// resizes for an earlier generation is forgotten.
func (m *Memory) Template(owner client.Object, template *corev1.PodTemplateSpec) revision.Revision {
	if m.generation != owner.GetGeneration() || m.generation == 0 {
		m.template, m.generation = revision.FromTemplate(template), owner.GetGeneration()
		m.Unresizable = nil
	}
	return m.template
}

// Decode reads revisions once for each version of them, not once for each reconcile, and sorts each list.
// Revisions that are in none of the lists are forgotten.
func (m *Memory) Decode(lists ...[]appsv1.ControllerRevision) [][]revision.Revision {
	known := m.decoded
	m.decoded = map[string]revision.Revision{}
	read := make([][]revision.Revision, len(lists))
	for n, list := range lists {
		for i := range list {
			key := string(list[i].UID) + "/" + list[i].ResourceVersion
			decoded, done := known[key]
			if !done {
				decoded = revision.Decode(&list[i])
			}
			m.decoded[key] = decoded
			read[n] = append(read[n], decoded)
		}
		revision.Sort(read[n])
	}
	return read
}

// Readings decode the annotations of a pod when they have changed, not once for each reconcile.
func (m *Memory) Readings(pods []*corev1.Pod) map[types.UID]inplace.Reading {
	m.size = len(pods)
	known := m.readings
	m.readings = make(map[types.UID]inplace.Reading, len(known))
	for _, p := range pods {
		reading, read := known[p.UID]
		if !read || !reading.Holds(p) {
			reading = inplace.Read(p)
		}
		if reading.Found() {
			m.readings[p.UID] = reading
		}
	}
	return m.readings
}

// Memories keep one T for each object until the object is gone or a namesake takes its place. They are safe
// for concurrent use; what is remembered is not. The zero value is ready for use.
type Memories[T any] struct {
	// Gone is told of each object of which nothing is remembered any more; nil for nobody.
	Gone func(types.UID)

	mu    sync.Mutex
	known map[types.NamespacedName]remembered[T]
}

type remembered[T any] struct {
	uid  types.UID
	what *T
}

// Of is what is remembered of an object.
func (m *Memories[T]) Of(owner client.Object) *T {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(owner)
	if known, has := m.known[key]; has && known.uid == owner.GetUID() {
		return known.what
	}
	m.drop(key)
	if m.known == nil {
		m.known = map[types.NamespacedName]remembered[T]{}
	}
	fresh := remembered[T]{uid: owner.GetUID(), what: new(T)}
	m.known[key] = fresh
	return fresh.what
}

// Forget drops what is remembered under a name.
func (m *Memories[T]) Forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(name)
}

func (m *Memories[T]) drop(name types.NamespacedName) {
	known, has := m.known[name]
	delete(m.known, name)
	if has && m.Gone != nil {
		m.Gone(known.uid)
	}
}
