// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// newInformer is what the cache is filled by. Pods that another controller owns are let go as soon as they are decoded:
// in most clusters that is nearly all of them, and nobody here ever looks at one.
func newInformer(source toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if _, ofPods := object.(*corev1.Pod); ofPods {
		f := &foreign{source: toolscache.ToListerWatcherWithContext(source), shown: map[types.UID]bool{}}
		source = &toolscache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch}
	}
	return toolscache.NewSharedIndexInformer(source, object, resync, indexers)
}

// foreign leaves the pods of other controllers out. A pod that was shown stays shown until it is gone, so that the loss
// of its owner is seen.
type foreign struct {
	source toolscache.ListerWatcherWithContext

	mu    sync.Mutex
	shown map[types.UID]bool
}

func (f *foreign) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := f.source.ListWithContext(ctx, options)
	pods, arePods := list.(*corev1.PodList)
	if err != nil || !arePods {
		return list, err //nolint:wrapcheck // the informer asks what kind of error it is
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if options.Continue == "" { // what is listed replaces all that was seen
		clear(f.shown)
	}
	pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return isForeign(&p) })
	for i := range pods.Items {
		f.shown[pods.Items[i].UID] = true
	}
	return pods, nil
}

func (f *foreign) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	events, err := f.source.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err //nolint:wrapcheck // the informer asks what kind of error it is
	}
	if options.SendInitialEvents != nil && *options.SendInitialEvents { // a list in the form of a watch
		f.mu.Lock()
		clear(f.shown)
		f.mu.Unlock()
	}
	return watch.Filter(events, f.pass), nil
}

// pass tells whether an event is let through.
func (f *foreign) pass(e watch.Event) (watch.Event, bool) {
	p, isPod := e.Object.(*corev1.Pod)
	if !isPod || e.Type == watch.Bookmark || e.Type == watch.Error {
		return e, true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.shown[p.UID]
	switch {
	case e.Type == watch.Deleted:
		delete(f.shown, p.UID)
	case !isForeign(p):
		f.shown[p.UID] = true
	}
	return e, known || !isForeign(p)
}

// isForeign tells whether another controller than ours owns the pod. A pod without any may be adopted, and those of the
// built-in sets of a CafeDeployment are counted.
func isForeign(p *corev1.Pod) bool {
	if _, ofUnit := p.Labels[cafev1alpha1.LabelUnit]; ofUnit {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return false
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return true
	}
	for _, c := range controllers { // whether or not it is enabled here
		if c.owner.Group == version.Group && c.owner.Kind == owner.Kind {
			return false
		}
	}
	return true
}
