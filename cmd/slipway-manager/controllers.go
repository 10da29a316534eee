// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/internal/freshness"
)

// controllers are all that there are, by the name that --controllers takes.
var controllers = map[string]func(context.Context, ctrl.Manager, *options) error{
	"cloneset": setUpCloneSet,
}

func controllerNames() []string {
	return slices.Sorted(maps.Keys(controllers))
}

func setUpCloneSet(ctx context.Context, mgr ctrl.Manager, o *options) error {
	if err := cloneset.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("adding indexes: %w", err)
	}
	resize, err := offersResize(mgr.GetConfig(), mgr.GetHTTPClient())
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
