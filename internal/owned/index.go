// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/ordinal"
)

const (
	// OwnerIndex is the cache index of pods, claims and revisions by the UID of their controller.
	OwnerIndex = "slipway.dev/owner"
	// noOwner is the value of the index for revisions without a controller.
	noOwner = "orphan"
	// noOwnerOf begins the value for pods without a controller that are called like a pod of a set with ordinals;
	// the name of that set follows. Other pods without a controller cost nothing, however many there are.
	noOwnerOf = noOwner + "/"
)

// AddIndexes teaches a cache the index that a Reader lists by, for the kinds that all sets own and for others.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer, others ...client.Object) error {
	for _, object := range append([]client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &appsv1.ControllerRevision{}}, others...) {
		if err := indexer.IndexField(ctx, object, OwnerIndex, OwnerOf); err != nil {
			return fmt.Errorf("indexing %T by owner: %w", object, err)
		}
	}
	return nil
}

// OwnerOf is the value of OwnerIndex for an object.
func OwnerOf(object client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return []string{string(owner.UID)}
	}
	switch object.(type) {
	case *appsv1.ControllerRevision:
		return []string{noOwner}
	case *corev1.Pod:
		if set, numbered := ordinal.SetOf(object.GetName()); numbered {
			return []string{noOwnerOf + set}
		}
	}
	return nil // nothing else is ever adopted
}

// listed are the options of a list by the index. What it returns is shared with the cache and never changed.
func listed(namespace, value string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), client.MatchingFields{OwnerIndex: value}, client.UnsafeDisableDeepCopy}
}
