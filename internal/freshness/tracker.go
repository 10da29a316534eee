// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// DefaultTimeout is how long a write that the cache does not show may hold its owner up, when the
	// API server confirms that it was made.
	DefaultTimeout = 5 * time.Minute
	// verifyEvery is how often a write that the cache does not show is looked up live.
	verifyEvery = 10 * time.Second
	// retryLive is how soon a live read that failed is tried again.
	retryLive = time.Second
)

// Tracker notes writes and tells whether the cache shows them. It is safe for concurrent use, except that
// Unseen is called by one goroutine at a time for one owner (as a work queue does). A nil tracker notes nothing: it is for
// who reads live what it writes.
type Tracker struct {
	cache, live client.Reader
	clock       clock.PassiveClock
	timeout     time.Duration

	mu     sync.Mutex
	owners map[types.UID]map[key]*write
	// empty holds an object of each kind: one for every write would be most of what the tracker weighs.
	empty map[string]client.Object
}

type key struct {
	kind string
	name types.NamespacedName
}

type write struct {
	object          client.Object // an empty object of the kind, shared, to make objects like it
	uid             types.UID
	resourceVersion string
	deleted         bool
	patched         bool // of what the cache has shown before
	unsure          bool // whether it was made at all
	made, verify    time.Time
}

// New returns a tracker that compares the cache with what it is told. A timeout of 0 means DefaultTimeout.
func New(cache, live client.Reader, clock clock.PassiveClock, timeout time.Duration) *Tracker {
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	return &Tracker{cache: cache, live: live, clock: clock, timeout: timeout, owners: map[types.UID]map[key]*write{}, empty: map[string]client.Object{}}
}

// Wrote notes that object was created for owner, or that it is there and the cache may never have shown it; it holds what the
// server answered.
func (t *Tracker) Wrote(owner types.UID, object client.Object) {
	t.note(owner, object, &write{uid: object.GetUID(), resourceVersion: object.GetResourceVersion()})
}

// Patched notes that object, which the cache has shown or which was created for owner just now, was patched; it holds what the server
// answered. When the cache has shown it and shows it no longer, it is gone by now, and that counts as seen.
func (t *Tracker) Patched(owner types.UID, object client.Object) {
	t.note(owner, object, &write{uid: object.GetUID(), resourceVersion: object.GetResourceVersion(), patched: true})
}

// Deleted notes that object, at the version that it holds, was deleted for owner. It counts as seen when the cache shows it terminating.
func (t *Tracker) Deleted(owner types.UID, object client.Object) {
	t.note(owner, object, &write{uid: object.GetUID(), resourceVersion: object.GetResourceVersion(), deleted: true})
}

// Unsure notes that a write to object was made for owner of which nobody knows whether it reached the
// API server: the answer was lost. The next question after it is answered by a live read. The object
// holds the UID and version that the write was conditional on; a creation has neither.
func (t *Tracker) Unsure(owner types.UID, object client.Object) {
	t.note(owner, object, &write{uid: object.GetUID(), resourceVersion: object.GetResourceVersion(), unsure: true})
}

// Forget drops what was noted for an owner that is gone.
func (t *Tracker) Forget(owner types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.owners, owner)
}

func (t *Tracker) note(owner types.UID, object client.Object, w *write) {
	if t == nil {
		return
	}
	now := t.clock.Now()
	w.made, w.verify = now, now.Add(verifyEvery)
	k := key{kind: kindOf(object), name: client.ObjectKeyFromObject(object)}

	t.mu.Lock()
	defer t.mu.Unlock()
	if t.empty[k.kind] == nil {
		t.empty[k.kind] = EmptyLike(object)
	}
	w.object = t.empty[k.kind]
	if t.owners[owner] == nil {
		t.owners[owner] = map[key]*write{}
	}
	if before := t.owners[owner][k]; before != nil && before.uid == w.uid && !before.patched {
		w.patched = false // the cache may not have shown yet what was patched
	}
	t.owners[owner][k] = w
}

// Unseen tells whether the cache is older than a write made for owner. Then wait is how long to sleep at
// most before asking again; the event that brings the cache up to date usually comes sooner.
func (t *Tracker) Unseen(ctx context.Context, owner types.UID) (wait time.Duration, stale bool) {
	t.mu.Lock()
	pending := maps.Clone(t.owners[owner])
	t.mu.Unlock()
	if len(pending) == 0 {
		return 0, false
	}
	now := t.clock.Now()
	wait = verifyEvery
	var seen []key
	for _, k := range slices.SortedFunc(maps.Keys(pending), compareKeys) {
		w := pending[k]
		if w.unsure && !w.settle(ctx, t.live, k.name) {
			stale, wait = true, min(wait, retryLive)
			continue
		}
		if w.shownBy(ctx, t.cache, k.name) || t.expired(ctx, k, w, now) {
			seen = append(seen, k)
			continue
		}
		stale = true
		wait = min(wait, max(w.verify.Sub(now), 0))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range seen {
		if t.owners[owner][k] == pending[k] { // not written again meanwhile
			delete(t.owners[owner], k)
		}
	}
	if len(t.owners[owner]) == 0 {
		delete(t.owners, owner)
	}
	return wait, stale
}

// settle finds out what became of a write of which nobody knows. It returns false when the API server
// does not say; the question stays open then.
func (w *write) settle(ctx context.Context, live client.Reader, name types.NamespacedName) bool {
	object := EmptyLike(w.object)
	switch err := live.Get(ctx, name, object); {
	case apierrors.IsNotFound(err):
		w.deleted = true // it was never created, or it is gone by now
	case err != nil:
		return false
	case w.uid == "" || object.GetUID() == w.uid:
		w.uid, w.resourceVersion = object.GetUID(), object.GetResourceVersion()
	default:
		w.deleted = true // a namesake has taken its place
	}
	w.unsure = false
	return true
}

// shownBy tells whether the reader shows the write or something newer.
func (w *write) shownBy(ctx context.Context, reader client.Reader, name types.NamespacedName) bool {
	object := EmptyLike(w.object)
	err := reader.Get(ctx, name, object, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return w.deleted || w.patched
	case err != nil:
		return false
	case object.GetUID() != w.uid:
		return !w.isNewerThan(object) // a later namesake: ours is gone; an earlier one: the cache is far behind
	case object.GetDeletionTimestamp() != nil:
		return true
	}
	return !w.deleted && !w.isNewerThan(object)
}

// isNewerThan tells whether the write came after the version of object. Of what cannot be compared it came
// before, so that nothing is waited for that cannot be recognised.
func (w *write) isNewerThan(object client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), w.resourceVersion)
	return err == nil && order < 0
}

// expired tells whether a write that the cache does not show may be dropped: because the object is gone
// or replaced, so that no event for this write will come any more, or because the cache had its time. As
// long as the cache shows something older under the name, that event is still to come: to decide on what
// it shows would be to count on a pod that is gone.
func (t *Tracker) expired(ctx context.Context, k key, w *write, now time.Time) bool {
	if now.Before(w.verify) {
		return false
	}
	w.verify = now.Add(verifyEvery)
	object := EmptyLike(w.object)
	err := t.live.Get(ctx, k.name, object)
	if err != nil && !apierrors.IsNotFound(err) {
		return false // asked again later: the API server is not well, and acting now would not help
	}
	if gone := err != nil || object.GetUID() != w.uid; gone && !exists(ctx, t.cache, k.name, EmptyLike(w.object)) {
		return true
	}
	return now.Sub(w.made) >= t.timeout
}

func exists(ctx context.Context, reader client.Reader, name types.NamespacedName, object client.Object) bool {
	return reader.Get(ctx, name, object, client.UnsafeDisableDeepCopy) == nil
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name.Namespace, b.name.Namespace), cmp.Compare(a.name.Name, b.name.Name))
}
