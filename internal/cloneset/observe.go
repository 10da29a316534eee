// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/revision"
)

// observe builds the world that one decision depends on. It reads only.
func (r *Reconciler) observe(ctx context.Context, set *kruisev1alpha1.CloneSet, m *memory) (plan.World, error) {
	world := plan.World{Set: set, Live: m.template(set), Taken: m.taken, ResizeOff: r.ResizeOff}
	world.Unresizable = m.unresizable
	var pods corev1.PodList
	if err := r.Cache.List(ctx, &pods, ownedBy(set, string(set.UID))...); err != nil {
		return world, fmt.Errorf("listing pods: %w", err)
	}
	world.Pods = make([]*corev1.Pod, len(pods.Items))
	for i := range pods.Items {
		world.Pods[i] = &pods.Items[i]
	}
	m.size = len(world.Pods)
	slices.SortFunc(world.Pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })

	if err := r.observeClaims(ctx, set, m, &world); err != nil {
		return world, err
	}
	owned, err := r.revisions(ctx, set, string(set.UID))
	if err != nil {
		return world, err
	}
	if owned, err = r.withCurrent(ctx, set, owned); err != nil {
		return world, err
	}
	orphans, err := r.orphans(ctx, set)
	if err != nil {
		return world, err
	}
	m.decode(owned, orphans, &world)
	m.read(&world)
	world.NodeLabels, err = r.nodeLabels(ctx, set, world.Pods)
	return world, err
}

func ownedBy(set *kruisev1alpha1.CloneSet, owner string) []client.ListOption {
	return []client.ListOption{client.InNamespace(set.Namespace), client.MatchingFields{OwnerIndex: owner}, client.UnsafeDisableDeepCopy}
}

func (r *Reconciler) revisions(ctx context.Context, set *kruisev1alpha1.CloneSet, owner string) ([]appsv1.ControllerRevision, error) {
	var list appsv1.ControllerRevisionList
	if err := r.Cache.List(ctx, &list, ownedBy(set, owner)...); err != nil {
		return nil, fmt.Errorf("listing revisions: %w", err)
	}
	return list.Items, nil
}

// withCurrent adds the current revision when the cache does not show it, as after a start with a cache
// that is behind: without it, everything would look as if the release had never begun.
func (r *Reconciler) withCurrent(ctx context.Context, set *kruisev1alpha1.CloneSet, owned []appsv1.ControllerRevision) ([]appsv1.ControllerRevision, error) {
	name := set.Status.CurrentRevision
	if name == "" || slices.ContainsFunc(owned, func(known appsv1.ControllerRevision) bool { return known.Name == name }) {
		return owned, nil
	}
	var live appsv1.ControllerRevision
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, &live)
	switch {
	case apierrors.IsNotFound(err):
		return owned, nil
	case err != nil:
		return nil, fmt.Errorf("reading the current revision: %w", err)
	case !metav1.IsControlledBy(&live, set):
		return owned, nil
	}
	return append(owned, live), nil
}

// orphans are the revisions that match the selector and have no controller. They are only reported when
// the API server itself says that the set is still the one that we look at and is not being deleted:
// adopting for a set that is gone would tie them to nothing.
func (r *Reconciler) orphans(ctx context.Context, set *kruisev1alpha1.CloneSet) ([]appsv1.ControllerRevision, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil || selector.Empty() {
		return nil, nil //nolint:nilerr // the planner reports a selector that cannot be read
	}
	found, err := r.revisions(ctx, set, noOwner)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(candidate appsv1.ControllerRevision) bool {
		return !selector.Matches(labels.Set(candidate.Labels)) || candidate.DeletionTimestamp != nil
	})
	if len(found) == 0 {
		return nil, nil
	}
	var live kruisev1alpha1.CloneSet
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(set), &live); err != nil {
		return nil, fmt.Errorf("confirming that the set may adopt revisions: %w", err)
	}
	if live.UID != set.UID || live.DeletionTimestamp != nil {
		return nil, nil
	}
	return found, nil
}

// nodeLabels are needed only to rank pods by topology spread constraints.
func (r *Reconciler) nodeLabels(ctx context.Context, set *kruisev1alpha1.CloneSet, pods []*corev1.Pod) (map[string]map[string]string, error) {
	if len(set.Spec.Template.Spec.TopologySpreadConstraints) == 0 {
		return nil, nil
	}
	found := map[string]map[string]string{}
	for _, p := range pods {
		name := p.Spec.NodeName
		if _, known := found[name]; known || name == "" {
			continue
		}
		var node corev1.Node
		err := r.Cache.Get(ctx, client.ObjectKey{Name: name}, &node, client.UnsafeDisableDeepCopy)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading node %s: %w", name, err)
		}
		found[name] = node.Labels
	}
	return found, nil
}

// decode reads revisions once for each version of them, not once for each reconcile.
func (m *memory) decode(owned, orphans []appsv1.ControllerRevision, world *plan.World) {
	known := m.decoded
	m.decoded = map[string]revision.Revision{}
	read := func(list []appsv1.ControllerRevision) (revisions []revision.Revision) {
		for i := range list {
			key := string(list[i].UID) + "/" + list[i].ResourceVersion
			decoded, done := known[key]
			if !done {
				decoded = revision.Decode(&list[i])
			}
			m.decoded[key] = decoded
			revisions = append(revisions, decoded)
		}
		revision.Sort(revisions)
		return revisions
	}
	world.Revisions, world.Orphans = read(owned), read(orphans)
}

// read decodes the annotations of a pod when they have changed, not once for each reconcile.
func (m *memory) read(world *plan.World) {
	known := m.readings
	m.readings = make(map[types.UID]inplace.Reading, len(known))
	for _, p := range world.Pods {
		reading, read := known[p.UID]
		if !read || !reading.Holds(p) {
			reading = inplace.Read(p)
		}
		if reading.Found() {
			m.readings[p.UID] = reading
		}
	}
	world.Readings = m.readings
}
