// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/rollout/subject"
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

// Reconciler moves the rollouts of one kind through their states. It is safe for concurrent use for different ones.
type Reconciler struct {
	Dependencies
	kind subject.Kind
	// own writes rollouts, and others writes workloads, which are read live.
	own, others *apply.Applier
	watches     *owned.Kinds
	meters      *meters
	// memories hold nothing but who is there, to know who is gone.
	memories owned.Memories[struct{}]
}

// New returns a reconciler of a kind. It fails when the registry has other metrics of the names of ours.
func New(kind subject.Kind, d Dependencies) (*Reconciler, error) {
	if d.Plan == nil {
		d.Plan = engine.Next
	}
	if d.Writes == nil {
		d.Writes = freshness.New(d.Cache, d.Live, d.Clock, 0)
	}
	meters, err := newMeters(prometheus.WrapRegistererWith(prometheus.Labels{"kind": kind.ID().Kind}, d.Registry))
	if err != nil {
		return nil, fmt.Errorf("registering the metrics about rollouts: %w", err)
	}
	r := &Reconciler{
		Dependencies: d, kind: kind, own: apply.New(d.Client, d.Writes, d.Apply), others: apply.New(d.Client, nil, d.Apply), watches: owned.WatchedBy(kind.ID().GroupKind()), meters: meters,
	}
	r.memories.Gone = func(uid types.UID) {
		r.Writes.Forget(uid)
		r.own.Forget(uid)
		r.others.Forget(uid)
	}
	return r, nil
}

// lookAnew is how soon to look again when the cache was found to be behind; its event comes sooner.
const lookAnew = time.Second

// Reconcile moves one rollout one step closer to its end.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := r.kind.New()
	if err := r.Cache.Get(ctx, request.NamespacedName, object, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.memories.Forget(request.NamespacedName)
			r.Errands.forget(request.NamespacedName)
			r.meters.forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading %s %s: %w", r.kind.ID().Kind, request, err)
	}
	r.memories.Of(object)
	if wait, stale := r.Writes.Unseen(ctx, object.GetUID()); stale { // our cache is older than our own last write: deciding now could repeat it
		return ctrl.Result{RequeueAfter: wait}, nil // the event that catches the cache up calls us sooner; the wait is bounded
	}
	return r.pass(ctx, object)
}

// pass observes, decides, acts and reports.
func (r *Reconciler) pass(ctx context.Context, object client.Object) (ctrl.Result, error) {
	now := r.Clock.Now()
	seen, err := r.observe(ctx, object, now)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing %s %s: %w", r.kind.ID().Kind, client.ObjectKeyFromObject(object), err)
	}
	prepared, err := r.prepare(ctx, object, &seen)
	switch {
	case errors.Is(err, errOld):
		return ctrl.Result{RequeueAfter: lookAnew}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("preparing %s %s: %w", r.kind.ID().Kind, client.ObjectKeyFromObject(object), err)
	}
	if soon := looksAgain(prepared); soon > 0 {
		apply.Tell(r.Events, object, prepared, nil)
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	next := r.Plan(seen.world, now)
	did, actErr := r.act(ctx, object, seen, next)
	if did.stale { // what is newer is on its way to the cache
		return ctrl.Result{RequeueAfter: lookAnew}, actErr
	}
	did.outcomes = append(prepared, did.outcomes...)
	reportErr := r.report(ctx, object, seen, next, did, now)
	return report.Result(did.outcomes, actErr, reportErr, next.LookAgain, seen.by[engine.Target].LookAgain, seen.by[engine.Source].LookAgain)
}
