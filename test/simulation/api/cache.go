// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Index names the values under which an object is found; an object may have none.
type Index func(client.Object) []string

// Cache is what informers give a controller: a view of each kind that lags behind the server, each kind on its own. It
// moves only by Deliver. Objects of lists with client.UnsafeDisableDeepCopy alias the server's: read only.
type Cache struct {
	server  *Server
	indexes map[string]Index
	seen    [kinds]int // how much of the history of a kind this cache has been told
	view    [kinds]map[types.NamespacedName]client.Object
	shuffle func([]client.Object)
	guarded map[client.Object]client.Object // a copy of each object that was handed out, made when it was delivered
}

var _ client.Reader = (*Cache)(nil)

// NewCache returns a cache that has been told the first start(kind) writes of each kind. A nil start means all of them.
func NewCache(server *Server, indexes map[string]Index, start func(Kind) int) *Cache {
	c := &Cache{server: server, indexes: indexes}
	for _, kind := range Kinds() {
		c.view[kind] = map[types.NamespacedName]client.Object{}
		upTo := len(server.History(kind))
		if start != nil {
			upTo = min(start(kind), upTo)
		}
		for c.seen[kind] < upTo {
			c.Deliver(kind)
		}
	}
	return c
}

// Shuffle makes lists come in the order that the function leaves them in, since informers promise none.
func (c *Cache) Shuffle(f func([]client.Object)) { c.shuffle = f }

// Guard makes Tampered notice changes to cached objects. It costs a copy per delivered object.
func (c *Cache) Guard() {
	c.guarded = map[client.Object]client.Object{}
	for _, kind := range Kinds() {
		for _, o := range c.view[kind] {
			c.guarded[o] = clone(o)
		}
	}
}

// Tampered returns an error when a guarded object of the cache was changed by its readers.
func (c *Cache) Tampered() error {
	for shared, original := range c.guarded {
		if !reflect.DeepEqual(shared, original) {
			return fmt.Errorf("%s %s was changed inside the cache", KindOf(shared), shared.GetName())
		}
	}
	return nil
}

// Pending returns how many writes of a kind this cache has not been told yet.
func (c *Cache) Pending(kind Kind) int { return len(c.server.History(kind)) - c.seen[kind] }

// Next returns the next write that this cache will be told, without telling it; false when there is none.
func (c *Cache) Next(kind Kind) (Write, bool) {
	history := c.server.History(kind)
	if c.seen[kind] == len(history) {
		return Write{}, false
	}
	return history[c.seen[kind]], true
}

// Deliver tells the cache the next write of a kind and returns it; false when there is none.
func (c *Cache) Deliver(kind Kind) (Write, bool) {
	w, some := c.Next(kind)
	if !some {
		return Write{}, false
	}
	c.seen[kind]++
	if w.Verb == Remove {
		delete(c.view[kind], w.Key())
		return w, true
	}
	c.view[kind][w.Key()] = w.After
	if c.guarded != nil {
		c.guarded[w.After] = clone(w.After)
	}
	return w, true
}

// Peek returns the cached object, shared, or nil.
func (c *Cache) Peek(kind Kind, key types.NamespacedName) client.Object { return c.view[kind][key] }

// All returns the cached objects of a kind by name, shared.
func (c *Cache) All(kind Kind) []client.Object { return sorted(c.view[kind]) }

// Get reads the cached object.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	kind := KindOf(obj)
	cached := c.view[kind][key]
	if cached == nil {
		return apierrors.NewNotFound(kind.resource(), key.Name)
	}
	if shared := (&client.GetOptions{}).ApplyOptions(opts).UnsafeDisableDeepCopy; shared != nil && *shared {
		alias(obj, cached)
		return nil
	}
	assign(obj, cached)
	return nil
}

// List reads cached objects by namespace, labels and at most one index.
func (c *Cache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	keep := func(client.Object) bool { return true }
	if options.FieldSelector != nil && !options.FieldSelector.Empty() {
		wanted := options.FieldSelector.Requirements()
		if len(wanted) != 1 || c.indexes[wanted[0].Field] == nil {
			return fmt.Errorf("no index for %s: %w", options.FieldSelector, ErrUnsupported)
		}
		index, value := c.indexes[wanted[0].Field], wanted[0].Value
		keep = func(o client.Object) bool { return slices.Contains(index(o), value) }
	}
	var found []client.Object
	for _, o := range sorted(c.view[kindOfList(list)]) {
		if matches(o, options) && keep(o) {
			found = append(found, o)
		}
	}
	if c.shuffle != nil {
		c.shuffle(found)
	}
	fill(list, found, options.UnsafeDisableDeepCopy != nil && *options.UnsafeDisableDeepCopy)
	return nil
}
