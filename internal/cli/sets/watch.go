// SPDX-License-Identifier: Apache-2.0

package sets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/pod"
)

// ErrGone says that the set that was followed has been deleted.
var ErrGone = errors.New("has been deleted")

// Read takes one snapshot of a set. It needs get of the set and list of pods and revisions, and of claims if the set asks
// for some.
func (k Kind[T]) Read(ctx context.Context, c client.Reader, key types.NamespacedName) (Snapshot[T], error) {
	set, selector, err := k.get(ctx, c, key)
	if err != nil {
		return Snapshot[T]{}, err
	}
	s := Snapshot[T]{Set: set}
	here := client.InNamespace(key.Namespace)
	mine := client.MatchingLabelsSelector{Selector: selector}
	if s.Pods, err = list[*corev1.Pod](ctx, c, &corev1.PodList{}, here, mine); err != nil {
		return Snapshot[T]{}, fmt.Errorf("listing pods: %w", err)
	}
	if s.Revisions, err = list[*appsv1.ControllerRevision](ctx, c, &appsv1.ControllerRevisionList{}, here, mine); err != nil {
		return Snapshot[T]{}, fmt.Errorf("listing revisions: %w", err)
	}
	if k.asksForClaims(set) {
		// By name, not by labels: a set uses a claim of the right name whoever made it.
		if s.Claims, err = list[*corev1.PersistentVolumeClaim](ctx, c, &corev1.PersistentVolumeClaimList{}, here); err != nil {
			return Snapshot[T]{}, fmt.Errorf("listing claims: %w", err)
		}
	}
	return s, nil
}

func (k Kind[T]) get(ctx context.Context, c client.Reader, key types.NamespacedName) (T, labels.Selector, error) {
	set := k.New()
	if err := c.Get(ctx, key, set); err != nil {
		return set, nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(k.Selector(set))
	if err != nil {
		return set, nil, fmt.Errorf("reading the selector of %s %s: %w", k.Name(), key, err)
	}
	return set, selector, nil
}

func list[T runtime.Object](ctx context.Context, c client.Reader, into client.ObjectList, options ...client.ListOption) ([]T, error) {
	if err := c.List(ctx, into, options...); err != nil {
		return nil, err
	}
	return items[T](into)
}

func items[T runtime.Object](of runtime.Object) ([]T, error) {
	found := []T{}
	err := meta.EachListItem(of, func(o runtime.Object) error {
		item, ok := o.(T)
		if !ok {
			return fmt.Errorf("the list holds a %T", o)
		}
		found = append(found, item)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the items of a list: %w", err)
	}
	return found, nil
}

// Watch follows one set and what it owns.
type Watch[T client.Object] struct {
	kind      Kind[T]
	uid       types.UID
	sets      *feed.Feed[T]
	pods      *feed.Feed[*corev1.Pod]
	revisions *feed.Feed[*appsv1.ControllerRevision]
	claims    *feed.Feed[*corev1.PersistentVolumeClaim] // nil when the set asked for none at the beginning
}

// Follow starts to follow a set until the context ends, and gives changed whenever something did.
// seenPod, which may be nil, is called with every state of every pod of the set.
// It needs get, list and watch of the set, and list and watch of pods and revisions, and of claims if the set asks for some.
func (k Kind[T]) Follow(
	ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal, seenPod func(p *corev1.Pod, removed bool),
) (*Watch[T], error) {
	set, selector, err := k.get(ctx, c, key)
	if err != nil {
		return nil, err
	}
	mine := feed.Options{Namespace: key.Namespace, LabelSelector: selector}
	w := &Watch[T]{kind: k, uid: set.GetUID()}
	if w.sets, err = feed.Start(ctx, c, k.New(), k.NewList,
		feed.Options{Namespace: key.Namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name)}, changed); err != nil {
		return nil, fmt.Errorf("following %s %s: %w", k.Name(), key, err)
	}
	if w.revisions, err = feed.Start(ctx, c, &appsv1.ControllerRevision{},
		func() client.ObjectList { return &appsv1.ControllerRevisionList{} }, mine, changed); err != nil {
		return nil, fmt.Errorf("following the revisions of %s %s: %w", k.Name(), key, err)
	}
	if k.asksForClaims(set) {
		if w.claims, err = feed.Start(ctx, c, &corev1.PersistentVolumeClaim{},
			func() client.ObjectList { return &corev1.PersistentVolumeClaimList{} }, feed.Options{Namespace: key.Namespace}, changed); err != nil {
			return nil, fmt.Errorf("following the claims of %s %s: %w", k.Name(), key, err)
		}
	}
	if seenPod != nil {
		mine.Seen = func(object client.Object, removed bool) {
			if p, ok := object.(*corev1.Pod); ok && pod.IsControlledBy(p, w.uid) {
				seenPod(p, removed)
			}
		}
	}
	if w.pods, err = feed.Start(ctx, c, &corev1.Pod{}, func() client.ObjectList { return &corev1.PodList{} }, mine, changed); err != nil {
		return nil, fmt.Errorf("following the pods of %s %s: %w", k.Name(), key, err)
	}
	return w, nil
}

// Snapshot is the newest known state; false when the set is gone, also when another one has its name by now.
func (w *Watch[T]) Snapshot() (Snapshot[T], bool) {
	for _, set := range w.sets.Items() {
		if set.GetUID() != w.uid {
			continue
		}
		s := Snapshot[T]{Set: set, Revisions: w.revisions.Items(), Pods: w.pods.Items()}
		if w.claims != nil {
			s.Claims = append([]*corev1.PersistentVolumeClaim{}, w.claims.Items()...)
		}
		return s, true
	}
	return Snapshot[T]{}, false
}

// Pods are the pods of the set as they are known now. The error is ErrGone.
func (w *Watch[T]) Pods() ([]*corev1.Pod, error) {
	snapshot, found := w.Snapshot()
	if !found {
		return nil, w.gone()
	}
	return slices.DeleteFunc(snapshot.Pods, func(p *corev1.Pod) bool { return !pod.IsControlledBy(p, w.uid) }), nil
}

func (w *Watch[T]) gone() error { return fmt.Errorf("the %s %w", w.kind.Name(), ErrGone) }

// View looks at the newest known state. The error is ErrGone.
func (w *Watch[T]) View(now time.Time) (View, error) {
	snapshot, found := w.Snapshot()
	if !found {
		return View{}, w.gone()
	}
	return w.kind.View(snapshot, now), nil
}

// Err is what keeps the watch from following at the moment; it tries on.
func (w *Watch[T]) Err() error {
	failures := []error{w.sets.Err(), w.pods.Err(), w.revisions.Err()}
	if w.claims != nil {
		failures = append(failures, w.claims.Err())
	}
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}
