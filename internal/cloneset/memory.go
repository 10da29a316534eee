// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// memory is what is remembered of one set between reconciles: work that need not be done again, and
// names that others have. Losing it costs time and nothing else. A work queue hands one set to one
// goroutine at a time, so it needs no lock.
type memory struct {
	uid types.UID
	// quietUntil is when the set is looked at next, whatever happens before.
	quietUntil time.Time
	// size is how many pods the last look has shown.
	size  int
	taken map[string]bool
	// unresizable are pods whose node is too small for the resize that this generation of the set asks for.
	unresizable map[types.UID]string
	decoded     map[string]revision.Revision
	readings    map[types.UID]inplace.Reading
	generation  int64
	live        revision.Revision
	// owed are claims whose pod we have deleted.
	owed map[types.UID]bool
	// prepared are pods whose claims we have created, and which could not be created themselves.
	prepared map[string]bool
}

const (
	// smallSet is how many pods can be looked at upon every event.
	smallSet = 100
	// restPerPod is how much longer a set rests for each pod beyond that. To look at a pod takes a microsecond or two, so
	// looking takes a small part of the time, however large the set is and however many events it has.
	restPerPod = 50 * time.Microsecond
)

// rest is how long not to look at the set, because it was just looked at. Events of many pods come faster than all its
// pods can be judged anew.
func (m *memory) rest(now time.Time) time.Duration {
	if left := m.quietUntil.Sub(now); left > 0 {
		return left
	}
	m.quietUntil = now.Add(time.Duration(max(m.size-smallSet, 0)) * restPerPod)
	return 0
}

type memories struct {
	mu   sync.Mutex
	sets map[types.NamespacedName]*memory
}

func (m *memories) of(set *kruisev1alpha1.CloneSet) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(set)
	if known := m.sets[key]; known != nil && known.uid == set.UID {
		return known
	}
	if m.sets == nil {
		m.sets = map[types.NamespacedName]*memory{}
	}
	m.sets[key] = &memory{uid: set.UID, taken: map[string]bool{}, owed: map[types.UID]bool{}, prepared: map[string]bool{}}
	return m.sets[key]
}

// forget returns the UID of the set that had the name.
func (m *memories) forget(name types.NamespacedName) types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.sets[name]
	delete(m.sets, name)
	if known == nil {
		return ""
	}
	return known.uid
}

// template reads the template of the spec once for each generation.
func (m *memory) template(set *kruisev1alpha1.CloneSet) revision.Revision {
	if m.generation != set.Generation || m.generation == 0 {
		m.live, m.generation = revision.FromTemplate(&set.Spec.Template), set.Generation
		m.unresizable = map[types.UID]string{}
	}
	return m.live
}

// learn finds out about names that were taken. When the object is our own, the cache has not shown it
// yet, and the next decision has to wait for it; when it is somebody else's, the name is of no use.
func (r *Reconciler) learn(ctx context.Context, set *kruisev1alpha1.CloneSet, m *memory, outcomes []apply.Outcome) error {
	for _, o := range outcomes {
		if s, is := o.Step.(step.UpdateInPlace); is && apply.IsInfeasible(o.Err) {
			m.unresizable[s.UID] = o.Err.Error()
		}
		if o.Err == nil || !apierrors.IsAlreadyExists(o.Err) {
			continue
		}
		var existing client.Object
		switch s := o.Step.(type) {
		case step.CreatePod:
			existing = &corev1.Pod{}
		case step.CreateClaim:
			existing = &corev1.PersistentVolumeClaim{}
		case step.CreateRevision:
			existing = &appsv1.ControllerRevision{}
		default:
			return fmt.Errorf("step %T was answered with: %w", s, o.Err)
		}
		key := client.ObjectKey{Namespace: set.Namespace, Name: o.Step.Subject()}
		switch err := r.Live.Get(ctx, key, existing); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("looking up who has the name %s: %w", key.Name, err)
		case pod.IsControlledBy(existing, set.UID):
			r.Writes.Wrote(set.UID, existing)
		default:
			m.taken[key.Name] = true
		}
	}
	return nil
}
