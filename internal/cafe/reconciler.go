// SPDX-License-Identifier: Apache-2.0

package cafe

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

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cafe/plan"
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
	// Apply are the settings of what writes for a deployment.
	Apply apply.Options
}

// Reconciler moves CafeDeployments to their spec. It is safe for concurrent use for different deployments.
type Reconciler struct {
	Dependencies
	apply    *apply.Applier
	reader   owned.Reader
	memories owned.Memories[memory]
}

// memory is what is remembered of one deployment between passes. Losing it costs time and nothing else.
type memory struct {
	owned.Memory
	// asked is for which revision the API server was asked for the pods of a set.
	asked map[types.UID]string
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

// Reconcile moves one CafeDeployment one step closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	d := &cafev1alpha1.CafeDeployment{}
	if err := r.Cache.Get(ctx, request.NamespacedName, d, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.memories.Forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading CafeDeployment %s: %w", request, err)
	}
	if wait, stale := r.Writes.Unseen(ctx, d.UID); stale { // our cache is older than our own last write: deciding now could repeat it
		return ctrl.Result{RequeueAfter: wait}, nil // the event that catches the cache up calls us sooner; the wait is bounded
	}
	return r.pass(ctx, d, r.memories.Of(d))
}

// pass observes, decides, acts and reports.
func (r *Reconciler) pass(ctx context.Context, d *cafev1alpha1.CafeDeployment, m *memory) (ctrl.Result, error) {
	now := r.Clock.Now()
	seen, err := r.observe(ctx, d, m, now)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing CafeDeployment %s: %w", client.ObjectKeyFromObject(d), err)
	}
	next := r.Plan(seen.world, now)
	outcomes := r.apply.Steps(ctx, d.UID, append(next.Steps, seen.steps(next)...))
	learnErr := m.Learn(ctx, r.reader, r.Writes, d, outcomes, nil)
	wait, reportErr := r.report(ctx, d, &m.Memory, next, outcomes, now)
	return report.Result(outcomes, learnErr, reportErr, next.LookAgain, wait)
}
