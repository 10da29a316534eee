// SPDX-License-Identifier: Apache-2.0

package owned

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/pod"
)

// Reader reads what objects own. It is safe for concurrent use.
type Reader struct {
	// Cache has the index of AddIndexes. What it returns is shared with others and never changed.
	Cache client.Reader
	// Live is the API server itself, asked where the cache cannot be trusted.
	Live client.Reader
}

// Pods are the pods that the object controls, by name.
func (r Reader) Pods(ctx context.Context, owner client.Object) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Cache.List(ctx, &list, listed(owner.GetNamespace(), string(owner.GetUID()))...); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return sorted(list.Items, (*corev1.Pod).GetName), nil
}

// LivePods are the pods that the object controls, as the API server has them now, in no order. The selector is the object's: pods that it
// does not match are left out.
func (r Reader) LivePods(ctx context.Context, owner client.Object, selector *metav1.LabelSelector) ([]*corev1.Pod, error) {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of the pods: %w", err)
	}
	var list corev1.PodList
	if err := r.Live.List(ctx, &list, client.InNamespace(owner.GetNamespace()), client.MatchingLabelsSelector{Selector: matching}); err != nil {
		return nil, fmt.Errorf("asking the API server for the pods of %s: %w", owner.GetName(), err)
	}
	var found []*corev1.Pod
	for i := range list.Items {
		if pod.IsControlledBy(&list.Items[i], owner.GetUID()) {
			found = append(found, &list.Items[i])
		}
	}
	return found, nil
}

// Claims are the claims that the object controls, by name.
func (r Reader) Claims(ctx context.Context, owner client.Object) ([]*corev1.PersistentVolumeClaim, error) {
	var list corev1.PersistentVolumeClaimList
	if err := r.Cache.List(ctx, &list, listed(owner.GetNamespace(), string(owner.GetUID()))...); err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	return sorted(list.Items, (*corev1.PersistentVolumeClaim).GetName), nil
}

// Into lists what the object controls of another kind, in no order.
func (r Reader) Into(ctx context.Context, owner client.Object, list client.ObjectList) error {
	if err := r.Cache.List(ctx, list, listed(owner.GetNamespace(), string(owner.GetUID()))...); err != nil {
		return fmt.Errorf("listing what %s owns: %w", owner.GetName(), err)
	}
	return nil
}

func sorted[T any](items []T, name func(*T) string) []*T {
	found := make([]*T, len(items))
	for i := range items {
		found[i] = &items[i]
	}
	slices.SortFunc(found, func(a, b *T) int { return cmp.Compare(name(a), name(b)) })
	return found
}

// Revisions are the revisions that the object controls, in no order. The current one is among them also when
// the cache does not show it, as after a start with a cache that is behind: without it, everything would look
// as if the release had never begun.
func (r Reader) Revisions(ctx context.Context, owner client.Object, current string) ([]appsv1.ControllerRevision, error) {
	found, err := r.revisions(ctx, owner.GetNamespace(), string(owner.GetUID()))
	if err != nil || current == "" || slices.ContainsFunc(found, func(known appsv1.ControllerRevision) bool { return known.Name == current }) {
		return found, err
	}
	var live appsv1.ControllerRevision
	err = r.Live.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: current}, &live)
	switch {
	case apierrors.IsNotFound(err):
		return found, nil
	case err != nil:
		return nil, fmt.Errorf("reading the current revision: %w", err)
	case !metav1.IsControlledBy(&live, owner):
		return found, nil
	}
	return append(found, live), nil
}

func (r Reader) revisions(ctx context.Context, namespace, value string) ([]appsv1.ControllerRevision, error) {
	var list appsv1.ControllerRevisionList
	if err := r.Cache.List(ctx, &list, listed(namespace, value)...); err != nil {
		return nil, fmt.Errorf("listing revisions: %w", err)
	}
	return list.Items, nil
}

// OrphanRevisions are the revisions that match the selector and have no controller. They are only reported
// when the object may adopt.
func (r Reader) OrphanRevisions(ctx context.Context, owner client.Object, selector *metav1.LabelSelector) ([]appsv1.ControllerRevision, error) {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || matching.Empty() {
		return nil, nil //nolint:nilerr // the planner reports a selector that cannot be read
	}
	found, err := r.revisions(ctx, owner.GetNamespace(), noOwner)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(candidate appsv1.ControllerRevision) bool {
		return !matching.Matches(labels.Set(candidate.Labels)) || candidate.DeletionTimestamp != nil
	})
	if len(found) == 0 {
		return nil, nil
	}
	if may, err := r.MayAdopt(ctx, owner); !may {
		return nil, err
	}
	return found, nil
}

// OrphanPods are the pods without a controller that are called like pods of the object with an ordinal, by name.
// Those that can be adopted match the selector and do not terminate; there are none when the object may not adopt.
// The others only have a name that the object wants.
func (r Reader) OrphanPods(ctx context.Context, owner client.Object, selector *metav1.LabelSelector) (adoptable, others []*corev1.Pod, err error) {
	var list corev1.PodList
	if err := r.Cache.List(ctx, &list, listed(owner.GetNamespace(), noOwnerOf+owner.GetName())...); err != nil {
		return nil, nil, fmt.Errorf("listing pods without a controller: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, nil, nil
	}
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || matching.Empty() { // the planner reports a selector that cannot be read
		matching = labels.Nothing()
	}
	for _, candidate := range sorted(list.Items, (*corev1.Pod).GetName) {
		if matching.Matches(labels.Set(candidate.Labels)) && !pod.IsTerminating(candidate) {
			adoptable = append(adoptable, candidate)
		} else {
			others = append(others, candidate)
		}
	}
	if len(adoptable) == 0 {
		return nil, others, nil
	}
	may, err := r.MayAdopt(ctx, owner)
	if err != nil {
		return nil, nil, err
	}
	if !may {
		return nil, append(others, adoptable...), nil
	}
	return adoptable, others, nil
}

// MayAdopt tells whether the API server itself says that the object is still the one that we look at and is
// not being deleted: adopting for an object that is gone would tie others to nothing.
func (r Reader) MayAdopt(ctx context.Context, owner client.Object) (bool, error) {
	live := freshness.EmptyLike(owner)
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(owner), live); err != nil {
		return false, fmt.Errorf("confirming that %s may adopt: %w", owner.GetName(), err)
	}
	return live.GetUID() == owner.GetUID() && live.GetDeletionTimestamp() == nil, nil
}

// Pod looks for a pod in the cache and, with live, where the cache has none or none that is active, on the
// server. It returns nil when there is no such pod.
func (r Reader) Pod(ctx context.Context, key client.ObjectKey, live bool) (*corev1.Pod, error) {
	found := &corev1.Pod{}
	err := r.Cache.Get(ctx, key, found, client.UnsafeDisableDeepCopy)
	if live && (err != nil || !pod.IsActive(found)) {
		found = &corev1.Pod{}
		err = r.Live.Get(ctx, key, found)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("looking for pod %s: %w", key.Name, err)
	}
	return found, nil
}

// NodeLabels are the labels of the nodes that the pods are on, by node.
func (r Reader) NodeLabels(ctx context.Context, pods []*corev1.Pod) (map[string]map[string]string, error) {
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
