// SPDX-License-Identifier: Apache-2.0

package rollout

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

	"slipway.dev/slipway/internal/owned"
)

// watches follow the workloads that rollouts hold. A kind is watched from the first rollout on that speaks of it, so kinds that
// are not installed, and kinds that nobody has told us of before, need nothing. They are safe for concurrent use.
type watches struct {
	// holders are what an owner reference to a rollout names.
	holders owned.By
	// held shows workloads that a rollout holds, and no others.
	held       cache.Cache
	controller controller.Controller

	mu   sync.Mutex
	seen map[schema.GroupVersionKind]bool
}

func newWatches(kind Kind) *watches { return &watches{holders: owned.By(kind.ID().GroupKind())} }

// of begins to watch the kind of a workload, unless it is watched already. Without a controller there is nobody to tell.
func (w *watches) of(kind schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.controller == nil || w.seen[kind] {
		return nil
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(kind)
	var object client.Object = metadata
	if err := w.controller.Watch(source.Kind(w.held, object, handler.EnqueueRequestsFromMapFunc(w.holders.Requests), w.holders.Changes())); err != nil {
		return fmt.Errorf("watching %s: %w", kind.GroupKind(), err)
	}
	if w.seen == nil {
		w.seen = map[schema.GroupVersionKind]bool{}
	}
	w.seen[kind] = true
	return nil
}
