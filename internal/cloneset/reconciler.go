// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/report"
)

// Dependencies are what the controller works with.
type Dependencies struct {
	// Cache is read for everything; its objects are shared and never changed. Live is read where the
	// cache cannot be trusted.
	Cache, Live client.Reader
	// Client is written with.
	Client client.Client
	Events events.EventRecorder
	Clock  clock.PassiveClock
	// Plan decides; nil means plan.Next.
	Plan func(plan.World, time.Time) plan.Plan
	// Writes tells whether the cache shows our own writes; nil means a new tracker.
	Writes *freshness.Tracker
	// Apply are the settings of what writes for a set.
	Apply apply.Options
	// ResizeOff keeps the resources of living pods as they are: pods with other ones are made anew. For
	// servers older than Kubernetes 1.33.
	ResizeOff bool
}

// Reconciler moves CloneSets to their spec. It is safe for concurrent use for different sets.
type Reconciler struct {
	Dependencies
	apply    *apply.Applier
	reader   owned.Reader
	memories owned.Memories[memory]
}

// New returns a reconciler.
func New(d Dependencies) *Reconciler {
	if d.Plan == nil {
		d.Plan = plan.Next
	}
	if d.Writes == nil {
		d.Writes = freshness.New(d.Cache, d.Live, d.Clock, 0)
	}
	r := &Reconciler{Dependencies: d, apply: apply.New(d.Client, d.Writes, d.Apply), reader: owned.Reader{Cache: d.Cache, Live: d.Live}}
	r.memories.Gone = func(uid types.UID) {
		r.Writes.Forget(uid)
		r.apply.Forget(uid)
	}
	return r
}

// Reconcile moves one CloneSet one step closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	set := &kruisev1alpha1.CloneSet{}
	if err := r.Cache.Get(ctx, request.NamespacedName, set, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.memories.Forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading CloneSet %s: %w", request, err)
	}
	memory := r.memories.Of(set)
	if wait := memory.Rest(r.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if wait, stale := r.Writes.Unseen(ctx, set.UID); stale { // our cache is older than our own last write: deciding now could repeat it
		return ctrl.Result{RequeueAfter: wait}, nil // the event that catches the cache up calls us sooner; the wait is bounded
	}
	result, err := r.pass(ctx, set, memory)
	if err != nil {
		memory.Wake()
	}
	return result, err
}

// pass observes, decides, acts and reports.
func (r *Reconciler) pass(ctx context.Context, set *kruisev1alpha1.CloneSet, memory *memory) (ctrl.Result, error) {
	world, err := r.observe(ctx, set, memory)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing CloneSet %s: %w", client.ObjectKeyFromObject(set), err)
	}
	now := r.Clock.Now()
	next := r.Plan(world, now)
	steps, ofSet := split(next.Steps)
	outcomes := r.apply.Steps(ctx, set.UID, steps)
	memory.learnClaims(steps, outcomes)
	learnErr := memory.Learn(ctx, r.reader, r.Writes, set, outcomes, nil)
	status := statusOf(world, next, outcomes, now)
	written, reportErr := r.report(ctx, world, next, status, outcomes)
	if !written && reportErr == nil { // else the event of this write calls us again, with the version that it made
		outcomes = append(outcomes, r.apply.Steps(ctx, set.UID, ofSet)...)
	}
	return report.Result(outcomes, learnErr, reportErr, next.LookAgain, untilDeadline(set, status, now))
}
