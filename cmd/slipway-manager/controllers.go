// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/server"
)

// controllers are all that there are, by the name that --controllers takes.
var controllers = map[string]controller{
	"cloneset": {owner: kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind).GroupKind(), setUp: setUpCloneSet},
}

type controller struct {
	// owner is the kind of objects that own the pods.
	owner schema.GroupKind
	setUp func(context.Context, ctrl.Manager, *options) error
}

func controllerNames() []string {
	return slices.Sorted(maps.Keys(controllers))
}

func setUpCloneSet(ctx context.Context, mgr ctrl.Manager, o *options) error {
	if err := cloneset.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("adding indexes: %w", err)
	}
	// Asked once: a server that learns it in an upgrade is believed after the next start.
	resize, err := server.OffersResize(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	now := clock.RealClock{}
	reconciler := cloneset.New(cloneset.Dependencies{
		Cache:       mgr.GetCache(),
		Live:        mgr.GetAPIReader(),
		Client:      mgr.GetClient(),
		Events:      mgr.GetEventRecorder("slipway"),
		Clock:       now,
		Writes:      freshness.New(mgr.GetCache(), mgr.GetAPIReader(), now, o.freshnessTimeout),
		Concurrency: o.writeConcurrency,
		ResizeOff:   !resize,
	})
	return reconciler.SetupWithManager(mgr, cloneset.Options{Concurrency: o.concurrency})
}
