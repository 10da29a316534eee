// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"context"
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

	mu            sync.Mutex
	seen, indexed map[schema.GroupVersionKind]bool
}

// Ref names one of the objects that an owner has in its namespace.
type Ref struct {
	Kind schema.GroupKind
	Name string
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
	metadata := metadataOf(kind)
	if err := k.controller.Watch(source.Kind(k.shown, metadata, handler.EnqueueRequestsFromMapFunc(k.owners.Requests), k.owners.Changes())); err != nil {
		return fmt.Errorf("watching %s: %w", kind.GroupKind(), err)
	}
	if k.seen == nil {
		k.seen = map[schema.GroupVersionKind]bool{}
	}
	k.seen[kind] = true
	return nil
}

// Versions are the resourceVersions of what an object controls, as far as they are of the kinds. It is false as long as not all of
// these are watched and shown; it never waits for that.
func (k *Kinds) Versions(ctx context.Context, owner client.Object, kinds []schema.GroupVersionKind) (map[Ref]string, bool, error) {
	versions := map[Ref]string{}
	for _, kind := range kinds {
		if shown, err := k.shows(ctx, kind); err != nil || !shown {
			return nil, false, err
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := k.shown.List(ctx, list, listed(owner.GetNamespace(), string(owner.GetUID()))...); err != nil {
			return nil, false, fmt.Errorf("listing what %s owns of %s: %w", owner.GetName(), kind.GroupKind(), err)
		}
		for i := range list.Items {
			versions[Ref{kind.GroupKind(), list.Items[i].Name}] = list.Items[i].ResourceVersion
		}
	}
	return versions, true, nil
}

// shows tells whether a kind is watched, and can be listed by owner without a wait.
func (k *Kinds) shows(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.seen[kind] {
		return false, nil
	}
	metadata := metadataOf(kind)
	if !k.indexed[kind] {
		if err := k.shown.IndexField(ctx, metadata, OwnerIndex, OwnerOf); err != nil {
			return false, fmt.Errorf("indexing %s by owner: %w", kind.GroupKind(), err)
		}
		if k.indexed == nil {
			k.indexed = map[schema.GroupVersionKind]bool{}
		}
		k.indexed[kind] = true
	}
	informer, err := k.shown.GetInformer(ctx, metadata, cache.BlockUntilSynced(false))
	if err != nil {
		return false, fmt.Errorf("looking up who shows %s: %w", kind.GroupKind(), err)
	}
	return informer.HasSynced(), nil
}

func metadataOf(kind schema.GroupVersionKind) client.Object {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(kind)
	return metadata
}
