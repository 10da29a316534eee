// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// Learn finds out about names that were taken. When the owner can use the object, as it can what it controls and what is usable besides, the
// cache has not shown it yet, and the next decision has to wait for it; when it cannot, the name is of no use. Pods
// that their nodes refuse to resize are remembered, too.
func (m *Memory) Learn(ctx context.Context, r Reader, writes *freshness.Tracker, owner client.Object, outcomes []apply.Outcome, usable func(client.Object) bool) error {
	for _, o := range outcomes {
		if s, is := o.Step.(step.UpdateInPlace); is && apply.IsInfeasible(o.Err) {
			if m.Unresizable == nil {
				m.Unresizable = map[types.UID]string{}
			}
			m.Unresizable[s.UID] = o.Err.Error()
		}
		if o.Err == nil || !apierrors.IsAlreadyExists(o.Err) {
			continue
		}
		if err := m.learnName(ctx, r, writes, owner, o, usable); err != nil {
			return err
		}
	}
	return nil
}

func (m *Memory) learnName(ctx context.Context, r Reader, writes *freshness.Tracker, owner client.Object, o apply.Outcome, usable func(client.Object) bool) error {
	var existing client.Object
	switch s := o.Step.(type) {
	case step.CreatePod:
		existing = &corev1.Pod{}
	case step.CreateClaim:
		existing = &corev1.PersistentVolumeClaim{}
	case step.CreateRevision:
		existing = &appsv1.ControllerRevision{}
	case step.CreateSet:
		existing = freshness.EmptyLike(s.Set)
	default:
		return fmt.Errorf("step %T was answered with: %w", s, o.Err)
	}
	key := client.ObjectKey{Namespace: owner.GetNamespace(), Name: o.Step.Subject()}
	switch err := r.Live.Get(ctx, key, existing); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("looking up who has the name %s: %w", key.Name, err)
	case pod.IsControlledBy(existing, owner.GetUID()) || usable != nil && usable(existing):
		writes.Wrote(owner.GetUID(), existing)
	default:
		if m.Taken == nil {
			m.Taken = map[string]bool{}
		}
		m.Taken[key.Name] = true
	}
	return nil
}
