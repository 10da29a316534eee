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
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cafe"
	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/inplaceset"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/server"
	"slipway.dev/slipway/internal/statefulset"
)

// controllers are all that there are, by the name that --controllers takes.
var controllers = map[string]controller{
	"inplaceset":  {owner: cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind).GroupKind(), setUp: setUpInPlaceSet},
	"cloneset":    {owner: kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind).GroupKind(), setUp: setUpCloneSet},
	"statefulset": {owner: kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind).GroupKind(), setUp: setUpStatefulSet},
	"cafedeployment": {
		owner: cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind).GroupKind(), setUp: setUpCafeDeployment, sets: cafe.Owned,
	},
	"application":  {owner: oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationKind).GroupKind(), setUp: setUpApplication},
	"approllout":   {owner: oamv1beta1.GroupVersion.WithKind(oamv1beta1.AppRolloutKind).GroupKind(), setUp: setUpAppRollout},
	"rollouttrait": {owner: rolloutv1alpha1.GroupVersion.WithKind(rolloutv1alpha1.RolloutTraitKind).GroupKind(), setUp: setUpRolloutTrait},
}

type controller struct {
	// owner is the kind of objects that own the pods, or the sets that do.
	owner schema.GroupKind
	// setUp has the manager run the controller; resize: the server can change the resources of living pods.
	setUp func(mgr ctrl.Manager, o *options, resize bool) error
	// sets are the kinds of pod sets that it owns; nil for none.
	sets func() []client.Object
}

func controllerNames() []string {
	return slices.Sorted(maps.Keys(controllers))
}

// setUp has the manager run the controllers of these names.
func setUp(ctx context.Context, mgr ctrl.Manager, o *options, enabled []string) error {
	var sets []client.Object
	for _, name := range enabled {
		if c := controllers[name]; c.sets != nil {
			sets = append(sets, c.sets()...)
		}
	}
	if err := owned.AddIndexes(ctx, mgr.GetFieldIndexer(), sets...); err != nil {
		return fmt.Errorf("adding indexes: %w", err)
	}
	// Asked once: a server that learns it in an upgrade is believed after the next start.
	resize, err := server.OffersResize(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	for _, name := range enabled {
		if err := controllers[name].setUp(mgr, o, resize); err != nil {
			return fmt.Errorf("setting up the controller %s: %w", name, err)
		}
	}
	return nil
}

func setUpCloneSet(mgr ctrl.Manager, o *options, resize bool) error {
	reconciler := cloneset.New(cloneset.Dependencies{
		Cache:     mgr.GetCache(),
		Live:      mgr.GetAPIReader(),
		Client:    mgr.GetClient(),
		Events:    mgr.GetEventRecorder("slipway"),
		Clock:     clock.RealClock{},
		Writes:    newTracker(mgr, o),
		Apply:     o.apply(),
		ResizeOff: !resize,
	})
	return reconciler.SetupWithManager(mgr, cloneset.Options{Concurrency: o.concurrency})
}

func setUpStatefulSet(mgr ctrl.Manager, o *options, resize bool) error {
	reconciler := statefulset.New(statefulset.Dependencies{
		Cache:     mgr.GetCache(),
		Live:      mgr.GetAPIReader(),
		Client:    mgr.GetClient(),
		Events:    mgr.GetEventRecorder("slipway"),
		Clock:     clock.RealClock{},
		Writes:    newTracker(mgr, o),
		Apply:     o.apply(),
		ResizeOff: !resize,
	})
	return reconciler.SetupWithManager(mgr, statefulset.Options{Concurrency: o.concurrency})
}

func setUpCafeDeployment(mgr ctrl.Manager, o *options, _ bool) error {
	reconciler := cafe.New(cafe.Dependencies{
		Cache:  mgr.GetCache(),
		Live:   mgr.GetAPIReader(),
		Client: mgr.GetClient(),
		Events: mgr.GetEventRecorder("slipway"),
		Clock:  clock.RealClock{},
		Writes: newTracker(mgr, o),
		Apply:  o.apply(),
	})
	return reconciler.SetupWithManager(mgr, cafe.Options{Concurrency: o.concurrency})
}

func setUpInPlaceSet(mgr ctrl.Manager, o *options, _ bool) error {
	reconciler := inplaceset.New(inplaceset.Dependencies{
		Cache:  mgr.GetCache(),
		Live:   mgr.GetAPIReader(),
		Client: mgr.GetClient(),
		Events: mgr.GetEventRecorder("slipway"),
		Clock:  clock.RealClock{},
		Writes: newTracker(mgr, o),
		Apply:  o.apply(),
	})
	return reconciler.SetupWithManager(mgr, inplaceset.Options{Concurrency: o.concurrency})
}

// newTracker returns the tracker of one controller's own writes.
func newTracker(mgr ctrl.Manager, o *options) *freshness.Tracker {
	return freshness.New(mgr.GetCache(), mgr.GetAPIReader(), clock.RealClock{}, o.freshnessTimeout)
}
