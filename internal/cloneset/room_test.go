// SPDX-License-Identifier: Apache-2.0

package cloneset_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/stage"
)

// room is the stage of a CloneSet.
type room struct {
	*stage.Stage[*kruisev1alpha1.CloneSet]
}

func enter(t *testing.T, set *builders.CloneSetBuilder) *room {
	t.Helper()
	r := &room{stage.Enter(t, set.Build(), func(s *stage.Stage[*kruisev1alpha1.CloneSet]) reconcile.Reconciler {
		return cloneset.New(cloneset.Dependencies{Cache: s.Cache, Live: s.Door, Client: s.Door, Events: s, Clock: s.Clock, Apply: apply.Options{Concurrency: 1}})
	})}
	r.Drawn = true
	return r
}

// editPod changes the n-th oldest pod.
func (r *room) editPod(n int, sub api.Subresource, change func(*corev1.Pod)) {
	r.Helper()
	r.EditPod(r.Pods()[n].Name, sub, change)
}

// condition of the set, without its times: "status reason: message".
func (r *room) condition(kind kruisev1alpha1.CloneSetConditionType) string {
	for _, c := range r.Set().Status.Conditions {
		if c.Type == kind {
			return r.Known(fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message))
		}
	}
	return ""
}
