// SPDX-License-Identifier: Apache-2.0

package inplaceset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/inplaceset"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/stage"
)

// room is the stage of an InPlaceSet.
type room struct {
	*stage.Stage[*cafev1alpha1.InPlaceSet]
}

func enter(t *testing.T, set *builders.InPlaceSetBuilder) *room {
	t.Helper()
	r := &room{stage.Enter(t, set.Build(), func(s *stage.Stage[*cafev1alpha1.InPlaceSet]) reconcile.Reconciler {
		return inplaceset.New(inplaceset.Dependencies{Cache: s.Cache, Live: s.Door, Client: s.Door, Events: s, Clock: s.Clock, Apply: apply.Options{Concurrency: 1}})
	})}
	r.Drawn = true
	return r
}

// takesOn and letsGo are what a component does to all pods.
func (r *room) takesOn(component string) {
	for _, p := range r.Pods() {
		r.Must(r.Server.Modify(component, api.Pods, client.ObjectKeyFromObject(p), api.Main, func(o client.Object) {
			o.SetFinalizers(append(o.GetFinalizers(), cafev1alpha1.FinalizerPrefixTraffic+component))
		}))
	}
	r.Settle()
}

func (r *room) letsGo(component string) {
	for _, p := range r.Pods() {
		if gate := pod.Condition(p, cafev1alpha1.ConditionInPlaceUpdateReady); gate.Status == corev1.ConditionTrue {
			continue
		}
		r.Must(r.Server.Modify(component, api.Pods, client.ObjectKeyFromObject(p), api.Main, func(o client.Object) {
			o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == cafev1alpha1.FinalizerPrefixTraffic+component }))
		}))
	}
	r.Settle()
}

// condition of the set, without its times: "status reason: message".
func (r *room) condition(kind cafev1alpha1.ConditionType) string {
	for _, c := range r.Set().Status.Conditions {
		if c.Type == kind {
			return r.Known(strings.TrimRight(fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message), ": "))
		}
	}
	return ""
}
