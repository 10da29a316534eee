// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/errand"
)

// Dependencies are what the controller works with.
type Dependencies struct {
	// Cache is read for rollouts; its objects are shared and never changed. Live is read for everything else.
	Cache, Live client.Reader
	// Client is written with.
	Client client.Client
	Events events.EventRecorder
	Clock  clock.PassiveClock
	// Kinds are the kinds of workloads that can be rolled out.
	Kinds *adapter.Adapters
	// Errands go to other systems.
	Errands Errands
	// Plan decides; nil means engine.Next.
	Plan func(engine.World, time.Time) engine.Plan
	// Writes tells whether the cache shows our own writes to rollouts; nil means a new tracker.
	Writes *freshness.Tracker
	// Apply are the settings of what writes for a rollout.
	Apply apply.Options
	// Registry is given the metrics about rollouts.
	Registry prometheus.Registerer
}

// Reconciler moves RolloutTraits through their states. It is safe for concurrent use for different ones.
type Reconciler struct {
	Dependencies
	// own writes rollouts, and others writes workloads, which are read live.
	own, others *apply.Applier
	watches     *watches
	meters      *meters
	// memories hold nothing but who is there, to know who is gone.
	memories owned.Memories[struct{}]
}

// New returns a reconciler. It fails when the registry has metrics of these names already.
func New(d Dependencies) (*Reconciler, error) {
	if d.Plan == nil {
		d.Plan = engine.Next
	}
	if d.Writes == nil {
		d.Writes = freshness.New(d.Cache, d.Live, d.Clock, 0)
	}
	meters, err := newMeters(d.Registry)
	if err != nil {
		return nil, fmt.Errorf("registering the metrics about rollouts: %w", err)
	}
	r := &Reconciler{
		Dependencies: d, own: apply.New(d.Client, d.Writes, d.Apply), others: apply.New(d.Client, nil, d.Apply), watches: &watches{}, meters: meters,
	}
	r.memories.Gone = func(uid types.UID) {
		r.Writes.Forget(uid)
		r.own.Forget(uid)
		r.others.Forget(uid)
	}
	return r, nil
}

// Reconcile moves one RolloutTrait one step closer to its end.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	trait := &rolloutv1alpha1.RolloutTrait{}
	if err := r.Cache.Get(ctx, request.NamespacedName, trait, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.memories.Forget(request.NamespacedName)
			r.Errands.forget(request.NamespacedName)
			r.meters.forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading RolloutTrait %s: %w", request, err)
	}
	r.memories.Of(trait)
	if wait, stale := r.Writes.Unseen(ctx, trait.UID); stale { // our cache is older than our own last write: deciding now could repeat it
		return ctrl.Result{RequeueAfter: wait}, nil // the event that catches the cache up calls us sooner; the wait is bounded
	}
	return r.pass(ctx, trait)
}

// pass observes, decides, acts and reports.
func (r *Reconciler) pass(ctx context.Context, trait *rolloutv1alpha1.RolloutTrait) (ctrl.Result, error) {
	now := r.Clock.Now()
	seen, err := r.observe(ctx, trait, now)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing RolloutTrait %s: %w", client.ObjectKeyFromObject(trait), err)
	}
	next := r.Plan(seen.world, now)
	did, actErr := r.act(ctx, trait, seen, next)
	reportErr := r.report(ctx, trait, next, did, now)
	return report.Result(did.outcomes, actErr, reportErr, next.LookAgain, seen.by[engine.Target].LookAgain, seen.by[engine.Source].LookAgain)
}

// owner is the rollout as the one whose errands are run.
func owner(trait *rolloutv1alpha1.RolloutTrait) errand.Owner {
	return errand.Owner{NamespacedName: client.ObjectKeyFromObject(trait), UID: trait.UID}
}
