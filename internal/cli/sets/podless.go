// SPDX-License-Identifier: Apache-2.0

package sets

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/tree"
)

// Podless is a kind of objects that have no pods of their own: they are read, and nothing else.
type Podless[T client.Object] struct {
	GVK schema.GroupVersionKind
	// New makes an empty object, NewList an empty list of them.
	New     func() T
	NewList func() client.ObjectList
	// View looks at one object.
	View func(T, time.Time) View
	// Lay lays many out as a table.
	Lay func(views []View, namespaces, wide bool) ([]tree.Column, []tree.Node)
}

// Name is the kind as people write it.
func (k Podless[T]) Name() string { return k.GVK.Kind }

// GroupVersionKind is the kind in full.
func (k Podless[T]) GroupVersionKind() schema.GroupVersionKind { return k.GVK }

// Reads are the resources that are read besides the objects.
func (k Podless[T]) Reads() []string { return nil }

// Table lays many objects out.
func (k Podless[T]) Table(views []View, namespaces, wide bool) ([]tree.Column, []tree.Node) {
	return k.Lay(views, namespaces, wide)
}

// Look reads one object and looks at it.
func (k Podless[T]) Look(ctx context.Context, c client.Reader, key types.NamespacedName, now time.Time) (View, error) {
	object := k.New()
	if err := c.Get(ctx, key, object); err != nil {
		return View{}, err
	}
	return k.View(object, now), nil
}

// List looks at many objects.
func (k Podless[T]) List(ctx context.Context, c client.Reader, now time.Time, options ...client.ListOption) ([]View, error) {
	found, err := list[T](ctx, c, k.NewList(), options...)
	if err != nil {
		return nil, err
	}
	return k.views(found, now), nil
}

func (k Podless[T]) views(objects []T, now time.Time) []View {
	views := make([]View, 0, len(objects))
	for _, o := range objects {
		views = append(views, k.View(o, now))
	}
	return views
}

// WatchAll follows many objects until the context ends. The first function looks at them, the second says what keeps them
// from being followed at the moment.
func (k Podless[T]) WatchAll(
	ctx context.Context, c client.WithWatch, options feed.Options, changed feed.Signal,
) (func(time.Time) []View, func() error, error) {
	followed, err := k.follow(ctx, c, options, changed)
	if err != nil {
		return nil, nil, fmt.Errorf("following the %ss: %w", k.Name(), err)
	}
	return func(now time.Time) []View { return k.views(followed.Items(), now) }, followed.Err, nil
}

func (k Podless[T]) follow(ctx context.Context, c client.WithWatch, options feed.Options, changed feed.Signal) (*feed.Feed[T], error) {
	return feed.Start(ctx, c, k.New(), k.NewList, options, changed)
}

// Watch follows one object until the context ends; see Follow.
func (k Podless[T]) Watch(ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal) (Source, error) {
	return k.Follow(ctx, c, key, changed)
}

// Follow starts to follow an object until the context ends, and gives changed whenever something did. It needs get, list and
// watch of objects of the kind.
func (k Podless[T]) Follow(ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal) (*Followed[T], error) {
	object := k.New()
	if err := c.Get(ctx, key, object); err != nil {
		return nil, err
	}
	only := feed.Options{Namespace: key.Namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name)}
	objects, err := k.follow(ctx, c, only, changed)
	if err != nil {
		return nil, fmt.Errorf("following %s %s: %w", k.Name(), key, err)
	}
	return &Followed[T]{kind: k, uid: object.GetUID(), objects: objects}, nil
}

// Followed is one object that is followed.
type Followed[T client.Object] struct {
	kind    Podless[T]
	uid     types.UID
	objects *feed.Feed[T]
}

// Object is the newest known state. The error is ErrGone, also when another object has the name by now.
func (f *Followed[T]) Object() (T, error) {
	for _, o := range f.objects.Items() {
		if o.GetUID() == f.uid {
			return o, nil
		}
	}
	var none T
	return none, fmt.Errorf("the %s %w", f.kind.Name(), ErrGone)
}

// View looks at the newest known state. The error is ErrGone.
func (f *Followed[T]) View(now time.Time) (View, error) {
	o, err := f.Object()
	if err != nil {
		return View{}, err
	}
	return f.kind.View(o, now), nil
}

// Err is what keeps the object from being followed at the moment; it is tried on.
func (f *Followed[T]) Err() error { return f.objects.Err() }
