// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/statefulset/plan"
)

// askAgain is how soon to look again who has a name that the set wants. The cache does not show the pods of other
// controllers, so no event tells when one of them goes.
const askAgain = 10 * time.Second

// memory is what is remembered of one set between reconciles.
type memory struct {
	owned.Memory
	// strangers are pods of others that have a name which the set wants, as they were when they were last asked for.
	strangers map[string]*corev1.Pod
	asked     time.Time
	// told are claims of which people know already that they cannot become what their template asks for.
	told map[string]bool
	// blocked is what people know already of a scaling in that waits for them.
	blocked string
}

// observe builds the world that one decision depends on. It reads only.
func (r *Reconciler) observe(ctx context.Context, set *kruisev1beta1.StatefulSet, m *memory, now time.Time) (plan.World, error) {
	world := plan.World{Set: set, Live: m.Template(set, &set.Spec.Template), ResizeOff: r.ResizeOff, Unresizable: m.Unresizable}
	var err error
	if world.Pods, err = r.reader.Pods(ctx, set); err != nil {
		return world, err
	}
	own, err := r.reader.Revisions(ctx, set, set.Status.CurrentRevision)
	if err != nil {
		return world, err
	}
	orphans, err := r.reader.OrphanRevisions(ctx, set, set.Spec.Selector)
	if err != nil {
		return world, err
	}
	decoded := m.Decode(own, orphans)
	world.Revisions, world.Orphans = decoded[0], decoded[1]
	world.Readings = m.Readings(world.Pods)
	if err := r.observeOthers(ctx, m, &world, now); err != nil {
		return world, err
	}
	return world, r.observeClaims(ctx, &world)
}

// observeOthers adds the pods that have a name which the set wants and are not its own. Those that nobody controls are
// in the cache; of those that others control the server has told when a name was refused.
func (r *Reconciler) observeOthers(ctx context.Context, m *memory, world *plan.World, now time.Time) error {
	strays, others, err := r.reader.OrphanPods(ctx, world.Set, world.Set.Spec.Selector)
	if err != nil {
		return err
	}
	world.Strays, world.Others = strays, map[string]*corev1.Pod{}
	for _, p := range others {
		world.Others[p.Name] = p
	}
	for _, shown := range slices.Concat(world.Pods, strays, others) {
		delete(m.Taken, shown.Name)
		delete(m.strangers, shown.Name)
	}
	if err := r.askForStrangers(ctx, m, world.Set, now); err != nil {
		return err
	}
	maps.Copy(world.Others, m.strangers)
	world.Taken = m.Taken
	return nil
}

// askForStrangers finds out whether the names that others had are still theirs, and no more often than it has to.
func (r *Reconciler) askForStrangers(ctx context.Context, m *memory, set *kruisev1beta1.StatefulSet, now time.Time) error {
	overdue := now.Sub(m.asked) >= askAgain
	for _, name := range slices.Sorted(maps.Keys(m.Taken)) {
		if _, isPod := ordinal.Of(set.Name, name); !isPod || m.strangers[name] != nil && !overdue {
			continue
		}
		found := &corev1.Pod{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, found)
		switch {
		case apierrors.IsNotFound(err), err == nil && pod.IsControlledBy(found, set.UID):
			delete(m.Taken, name)
			delete(m.strangers, name)
		case err != nil:
			return fmt.Errorf("looking up who has the name %s: %w", name, err)
		default:
			if m.strangers == nil {
				m.strangers = map[string]*corev1.Pod{}
			}
			m.strangers[name] = found
		}
	}
	if overdue {
		m.asked = now
	}
	return nil
}

// askAgainIn is how long it takes until names that others have are to be asked for again; 0 when there are none.
func (m *memory) askAgainIn(now time.Time) time.Duration {
	if len(m.Taken) == 0 {
		return 0
	}
	return max(m.asked.Add(askAgain).Sub(now), time.Second)
}
