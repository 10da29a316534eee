// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// memory is what is remembered of one set between reconciles.
type memory struct {
	owned.Memory
	// owed are claims whose pod we have deleted.
	owed map[types.UID]bool
	// prepared are pods whose claims we have created, and which could not be created themselves.
	prepared map[string]bool
}

// observeClaims adds the claims to the world, and the pods that have to be looked for before anything is
// given up because of their absence.
func (r *Reconciler) observeClaims(ctx context.Context, set *kruisev1alpha1.CloneSet, m *memory, world *plan.World) (err error) {
	if world.Claims, err = r.reader.Claims(ctx, set); err != nil {
		return err
	}
	m.settleClaims(world)
	world.Owed, world.Prepared = m.owed, m.prepared
	return r.lookForPods(ctx, set, m, world)
}

// settleClaims forgets what is no longer so: a claim that is gone, or whose pod was not deleted after all,
// is not owed, and a pod that is there has its claims.
func (m *memory) settleClaims(world *plan.World) {
	if len(m.owed)+len(m.prepared) == 0 {
		return
	}
	stays := map[string]bool{}
	for _, p := range world.Pods {
		stays[p.Name] = stays[p.Name] || !pod.IsTerminating(p) // also one that has finished meanwhile: its successor takes its claims over
		delete(m.prepared, p.Name)
	}
	left := map[types.UID]bool{}
	for _, claim := range world.Claims {
		if m.owed[claim.UID] && !stays[podOfClaim(world.Set, claim)] {
			left[claim.UID] = true
		}
	}
	m.owed = left
}

// podOfClaim is the name of the pod that a claim belongs to.
func podOfClaim(set *kruisev1alpha1.CloneSet, claim *corev1.PersistentVolumeClaim) string {
	return set.Name + "-" + claim.Labels[kruisev1alpha1.LabelInstanceID]
}

// lookForPods looks for pods that the set's own pods in the cache do not show. What is deleted because a
// pod is gone cannot be brought back, and a name that a person gave must not be dropped before its pod
// was seen: there the API server is asked.
func (r *Reconciler) lookForPods(ctx context.Context, set *kruisev1alpha1.CloneSet, m *memory, world *plan.World) error {
	seen := map[string]*corev1.Pod{}
	if len(world.Claims)+len(set.Spec.ScaleStrategy.PodsToDelete) == 0 {
		return nil
	}
	for _, p := range world.Pods {
		seen[p.Name] = p
	}
	live := map[string]bool{}
	for _, name := range set.Spec.ScaleStrategy.PodsToDelete {
		if seen[name] == nil {
			live[name] = true
		}
	}
	for _, claim := range world.Claims {
		name := podOfClaim(set, claim)
		shown := seen[name]
		if claim.DeletionTimestamp != nil || claim.Labels[kruisev1alpha1.LabelInstanceID] == "" || shown != nil && pod.IsActive(shown) {
			continue
		}
		live[name] = live[name] || set.Spec.ScaleStrategy.DisablePVCReuse || m.owed[claim.UID]
	}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		found, err := r.reader.Pod(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, live[name])
		if err != nil {
			return err
		}
		shown := seen[name]
		if found == nil || shown != nil && shown.UID == found.UID && !pod.IsActive(found) {
			continue
		}
		if world.Unseen == nil {
			world.Unseen = map[string]*corev1.Pod{}
		}
		world.Unseen[name] = found
	}
	return nil
}

// learnClaims remembers what a pass has left undone.
func (m *memory) learnClaims(steps []step.Step, outcomes []apply.Outcome) {
	if m.owed == nil {
		m.owed = map[types.UID]bool{}
	}
	if m.prepared == nil {
		m.prepared = map[string]bool{}
	}
	deleted, created := map[string]bool{}, map[string]bool{}
	for _, o := range outcomes {
		switch s := o.Step.(type) {
		case step.DeletePod:
			deleted[s.Name] = o.Err == nil || !apply.IsConflict(o.Err)
		case step.CreatePod:
			created[s.Pod.Name] = o.Err == nil
		default: // says nothing about whether a pod is there
		}
	}
	for _, s := range steps {
		switch s := s.(type) {
		case step.DeleteClaim:
			if deleted[s.Pod] { // or perhaps deleted: the next look at the pod tells
				m.owed[s.UID] = true
			}
		case step.CreateClaim:
			if !created[s.Pod] {
				m.prepared[s.Pod] = true
			}
		default: // leaves no claim behind
		}
	}
}
