// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Kinds has a controller told of the objects, of any kind, that its own control. A kind is watched from the first object on that
// speaks of it, so kinds that are not installed, and kinds that nobody has told us of before, need nothing. No more is seen of an
// object than its metadata. It is safe for concurrent use.
type Kinds struct {
	owners     By
	shown      cache.Cache
	controller controller.Controller

	mu   sync.Mutex
	seen map[schema.GroupVersionKind]bool
}

// WatchedBy are kinds of objects that those of a kind control.
func WatchedBy(owners schema.GroupKind) *Kinds { return &Kinds{owners: By(owners)} }

// Begin says who is told, and what shows the objects that matter. Before that nothing is watched.
func (k *Kinds) Begin(shown cache.Cache, c controller.Controller) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.shown, k.controller = shown, c
}

// Watch begins to watch a kind, unless it is watched already. Without a controller there is nobody to tell.
func (k *Kinds) Watch(kind schema.GroupVersionKind) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.controller == nil || k.seen[kind] {
		return nil
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(kind)
	var object client.Object = metadata
	if err := k.controller.Watch(source.Kind(k.shown, object, handler.EnqueueRequestsFromMapFunc(k.owners.Requests), k.owners.Changes())); err != nil {
		return fmt.Errorf("watching %s: %w", kind.GroupKind(), err)
	}
	if k.seen == nil {
		k.seen = map[schema.GroupVersionKind]bool{}
	}
	k.seen[kind] = true
	return nil
}
