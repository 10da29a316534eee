// SPDX-License-Identifier: Apache-2.0

package clonesets

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/pod"
)

// Read takes one snapshot of a set. It needs get of the set and list of pods and revisions.
func Read(ctx context.Context, c client.Reader, key types.NamespacedName) (Snapshot, error) {
	set := &kruisev1alpha1.CloneSet{}
	if err := c.Get(ctx, key, set); err != nil {
		return Snapshot{}, err
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return Snapshot{}, fmt.Errorf("reading the selector of CloneSet %s: %w", key, err)
	}
	mine := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: selector}}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, mine...); err != nil {
		return Snapshot{}, fmt.Errorf("listing pods: %w", err)
	}
	var revisions appsv1.ControllerRevisionList
	if err := c.List(ctx, &revisions, mine...); err != nil {
		return Snapshot{}, fmt.Errorf("listing revisions: %w", err)
	}
	s := Snapshot{Set: set}
	for i := range pods.Items {
		s.Pods = append(s.Pods, &pods.Items[i])
	}
	for i := range revisions.Items {
		s.Revisions = append(s.Revisions, &revisions.Items[i])
	}
	return s, nil
}

// Watch follows one set, its revisions and its pods.
type Watch struct {
	uid       types.UID
	sets      *feed.Feed[*kruisev1alpha1.CloneSet]
	pods      *feed.Feed[*corev1.Pod]
	revisions *feed.Feed[*appsv1.ControllerRevision]
}

// Follow starts to follow a set until the context ends, and gives changed whenever something did.
// seenPod, which may be nil, is called with every state of every pod of the set.
// It needs get, list and watch of the set, and list and watch of pods and revisions.
func Follow(
	ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal, seenPod func(p *corev1.Pod, removed bool),
) (*Watch, error) {
	set := &kruisev1alpha1.CloneSet{}
	if err := c.Get(ctx, key, set); err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of CloneSet %s: %w", key, err)
	}
	mine := feed.Options{Namespace: key.Namespace, LabelSelector: selector}
	w := &Watch{uid: set.UID}
	w.sets, err = feed.Start(ctx, c, &kruisev1alpha1.CloneSet{}, func() client.ObjectList { return &kruisev1alpha1.CloneSetList{} },
		feed.Options{Namespace: key.Namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name)}, changed)
	if err != nil {
		return nil, fmt.Errorf("following CloneSet %s: %w", key, err)
	}
	w.revisions, err = feed.Start(ctx, c, &appsv1.ControllerRevision{},
		func() client.ObjectList { return &appsv1.ControllerRevisionList{} }, mine, changed)
	if err != nil {
		return nil, fmt.Errorf("following the revisions of CloneSet %s: %w", key, err)
	}
	if seenPod != nil {
		mine.Seen = func(object client.Object, removed bool) {
			if p, ok := object.(*corev1.Pod); ok && pod.IsControlledBy(p, w.uid) {
				seenPod(p, removed)
			}
		}
	}
	w.pods, err = feed.Start(ctx, c, &corev1.Pod{}, func() client.ObjectList { return &corev1.PodList{} }, mine, changed)
	if err != nil {
		return nil, fmt.Errorf("following the pods of CloneSet %s: %w", key, err)
	}
	return w, nil
}

// Snapshot is the newest known state; false when the set is gone, also when another one has its name by now.
func (w *Watch) Snapshot() (Snapshot, bool) {
	for _, set := range w.sets.Items() {
		if set.UID == w.uid {
			return Snapshot{Set: set, Revisions: w.revisions.Items(), Pods: w.pods.Items()}, true
		}
	}
	return Snapshot{}, false
}

// Err is what keeps the watch from following at the moment; it tries on.
func (w *Watch) Err() error {
	for _, err := range []error{w.sets.Err(), w.pods.Err(), w.revisions.Err()} {
		if err != nil {
			return err
		}
	}
	return nil
}
