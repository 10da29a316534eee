// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/claim"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/statefulset/plan"
)

// defaultClass marks the storage class of claims that name none.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// observeClaims adds the claims of every pod that is wanted or there, by their names: nothing else tells whose they are.
func (r *Reconciler) observeClaims(ctx context.Context, world *plan.World) error {
	templates := claim.Templates(world.Set.Spec.VolumeClaimTemplates)
	if len(templates) == 0 {
		return nil
	}
	world.Claims = map[string]*corev1.PersistentVolumeClaim{}
	grow := false
	for _, n := range ordinals(world) {
		for _, template := range templates {
			name := claim.Name(template.Name, ordinal.Name(world.Set.Name, n))
			found := &corev1.PersistentVolumeClaim{}
			err := r.Cache.Get(ctx, client.ObjectKey{Namespace: world.Set.Namespace, Name: name}, found, client.UnsafeDisableDeepCopy)
			switch {
			case apierrors.IsNotFound(err):
				continue
			case err != nil:
				return fmt.Errorf("reading claim %s: %w", name, err)
			}
			world.Claims[name] = found
			grow = grow || claim.TooSmall(found, template)
		}
	}
	if !grow || !resizes(world.Set) {
		return nil
	}
	var err error
	world.Rigid, err = r.rigid(ctx)
	return err
}

// ordinals are those of the pods that are wanted and of those that are there, ascending.
func ordinals(world *plan.World) []int {
	all, err := plan.Live(world.Set)
	if err != nil {
		all = nil // the planner reports it
	}
	for _, p := range slices.Concat(world.Pods, world.Strays) {
		if n, named := ordinal.Of(world.Set.Name, p.Name); named {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rigid are the storage classes whose volumes cannot grow. The empty name stands for the default class, the newest one
// when there are several.
func (r *Reconciler) rigid(ctx context.Context) (map[string]bool, error) {
	var list storagev1.StorageClassList
	if err := r.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing storage classes: %w", err)
	}
	found := map[string]bool{}
	var byDefault *storagev1.StorageClass
	for i := range list.Items {
		class := &list.Items[i]
		found[class.Name] = !ptr.Deref(class.AllowVolumeExpansion, false)
		if class.Annotations[defaultClass] == "true" && (byDefault == nil || newer(class, byDefault)) {
			byDefault = class
		}
	}
	if byDefault != nil {
		found[""] = found[byDefault.Name]
	}
	return found, nil
}

// newer tells which of two default classes the server takes.
func newer(a, b *storagev1.StorageClass) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return b.CreationTimestamp.Before(&a.CreationTimestamp)
}
