// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Signal tells several feeds' reader that something changed. Changes that come before the
// reader looked become one.
type Signal chan struct{}

// NewSignal is a signal that is not given.
func NewSignal() Signal { return make(Signal, 1) }

// Give gives the signal; it never blocks.
func (s Signal) Give() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Feed holds the current objects of one list.
type Feed[T client.Object] struct {
	store   cache.Store
	stopped chan struct{}

	mu  sync.Mutex
	err error // of the last list or watch; nil while it works
}

// Options choose what is watched.
type Options struct {
	Namespace     string // empty: all
	LabelSelector labels.Selector
	FieldSelector fields.Selector
	// Seen is called with every state in the order of the API server, with the last
	// known one for a removal, from one goroutine. May be nil.
	Seen func(object client.Object, removed bool)
}

// Start lists the objects once, which tells early that something is not allowed or does not
// exist, and then follows them until the context ends. newList makes an empty list of the kind, and
// example is an object of it. The returned feed already holds the objects.
func Start[T client.Object](
	ctx context.Context, c client.WithWatch, example T, newList func() client.ObjectList, opt Options, changed Signal,
) (*Feed[T], error) {
	if err := c.List(ctx, newList(), opt.list(metav1.ListOptions{Limit: 1})); err != nil {
		return nil, fmt.Errorf("listing: %w", err)
	}
	// The watching machinery logs what it retries; that would end up in the middle of a live view.
	ctx = klog.NewContext(ctx, logr.Discard())
	f := &Feed[T]{stopped: make(chan struct{})}
	informer := cache.NewSharedIndexInformer(source(c, newList, opt, f), example, 0, cache.Indexers{})
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		// A watch that is too old is taken up again by listing; nobody needs to know.
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			f.fail(err)
			changed.Give()
		}
	}); err != nil {
		return nil, fmt.Errorf("preparing to watch: %w", err)
	}
	tell := func(object any, removed bool) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if o, ok := object.(client.Object); ok && opt.Seen != nil {
			opt.Seen(o, removed)
		}
		changed.Give()
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell(object, false) },
		UpdateFunc: func(_, object any) { tell(object, false) },
		DeleteFunc: func(object any) { tell(object, true) },
	})
	if err != nil {
		return nil, fmt.Errorf("preparing to watch: %w", err)
	}
	f.store = informer.GetStore()
	go func() {
		defer close(f.stopped)
		informer.RunWithContext(ctx)
	}()
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil, fmt.Errorf("waiting for the first list: %w", errors.Join(context.Cause(ctx), f.Err()))
	}
	return f, nil
}

// Items are the objects as they are known now, in no order. They are shared: do not change them.
func (f *Feed[T]) Items() []T {
	var items []T
	for _, object := range f.store.List() {
		if item, ok := object.(T); ok {
			items = append(items, item)
		}
	}
	return items
}

// Err is what keeps the feed from following the API server at the moment; it tries on.
func (f *Feed[T]) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Stopped is closed when the feed ended, after its context did.
func (f *Feed[T]) Stopped() <-chan struct{} { return f.stopped }

func (f *Feed[T]) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (o Options) list(raw metav1.ListOptions) client.ListOption {
	return &client.ListOptions{
		Namespace: o.Namespace, LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector,
		Limit: raw.Limit, Continue: raw.Continue, Raw: &raw,
	}
}

// lister also says that it does not stream lists: the lists here are small, and not every client can.
type lister struct{ *cache.ListWatch }

func (lister) IsWatchListSemanticsUnSupported() bool { return true }

func source[T client.Object](c client.WithWatch, newList func() client.ObjectList, opt Options, f *Feed[T]) cache.ListerWatcher {
	return lister{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			list := newList()
			err := c.List(ctx, list, opt.list(raw))
			f.fail(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			w, err := c.Watch(ctx, newList(), opt.list(raw))
			f.fail(err)
			return w, err
		},
	}}
}
