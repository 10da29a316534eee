// SPDX-License-Identifier: Apache-2.0

package sets

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/tree"
)

// Kind is one kind of sets.
type Kind[T client.Object] struct {
	GVK schema.GroupVersionKind
	// New makes an empty object, NewList an empty list of them.
	New     func() T
	NewList func() client.ObjectList
	// Selector finds the pods and revisions of a set.
	Selector func(T) *metav1.LabelSelector
	// HasClaims says that the set asks for claims, so that they are worth reading. Nil: no claim is ever read.
	HasClaims func(T) bool
	// View looks at one set with what it owns.
	View func(Snapshot[T], time.Time) View
	// Summary looks at a set alone: the numbers are those of its status, and there are no rows.
	Summary func(T, time.Time) View
}

// Snapshot is what was read about one set. Revisions, pods and claims may hold those of others; only the set's own
// count. Nothing in it is changed.
type Snapshot[T client.Object] struct {
	Set       T
	Revisions []*appsv1.ControllerRevision
	Pods      []*corev1.Pod
	// Claims are those of the namespace; nil when nobody looked.
	Claims []*corev1.PersistentVolumeClaim
}

// Name is the kind as people write it.
func (k Kind[T]) Name() string { return k.GVK.Kind }

// GroupVersionKind is the kind in full.
func (k Kind[T]) GroupVersionKind() schema.GroupVersionKind { return k.GVK }

// Reads are the resources that are read besides the sets.
func (k Kind[T]) Reads() []string {
	if k.HasClaims != nil {
		return []string{"pods", "persistentvolumeclaims", "controllerrevisions.apps"}
	}
	return []string{"pods", "controllerrevisions.apps"}
}

// Table lays many sets out.
func (k Kind[T]) Table(views []View, namespaces, wide bool) ([]tree.Column, []tree.Node) {
	return Table(views, namespaces, wide)
}

func (k Kind[T]) asksForClaims(set T) bool { return k.HasClaims != nil && k.HasClaims(set) }

// Look reads one set and looks at it.
func (k Kind[T]) Look(ctx context.Context, c client.Reader, key types.NamespacedName, now time.Time) (View, error) {
	snapshot, err := k.Read(ctx, c, key)
	if err != nil {
		return View{}, err
	}
	return k.View(snapshot, now), nil
}

// List looks at many sets.
func (k Kind[T]) List(ctx context.Context, c client.Reader, now time.Time, options ...client.ListOption) ([]View, error) {
	list := k.NewList()
	if err := c.List(ctx, list, options...); err != nil {
		return nil, err
	}
	found, err := items[T](list)
	if err != nil {
		return nil, err
	}
	return k.summaries(found, now), nil
}

func (k Kind[T]) summaries(found []T, now time.Time) []View {
	views := make([]View, 0, len(found))
	for _, set := range found {
		views = append(views, k.Summary(set, now))
	}
	return views
}

// Watch follows one set until the context ends; see Follow.
func (k Kind[T]) Watch(ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal) (Source, error) {
	return k.Follow(ctx, c, key, changed, nil)
}

// WatchAll follows many sets until the context ends. The first function looks at them, the second says what keeps
// them from being followed at the moment.
func (k Kind[T]) WatchAll(
	ctx context.Context, c client.WithWatch, options feed.Options, changed feed.Signal,
) (func(time.Time) []View, func() error, error) {
	followed, err := feed.Start(ctx, c, k.New(), k.NewList, options, changed)
	if err != nil {
		return nil, nil, fmt.Errorf("following the %ss: %w", k.Name(), err)
	}
	return func(now time.Time) []View { return k.summaries(followed.Items(), now) }, followed.Err, nil
}
