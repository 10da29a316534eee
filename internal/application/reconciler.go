// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/rollout/adapter"
)

// Renderer evaluates templates. It bounds what they may use.
type Renderer interface {
	Render(ctx context.Context, request render.Request) (render.Result, error)
	Judge(ctx context.Context, request render.HealthRequest) (render.Health, error)
}

// Dependencies are what the controller works with.
type Dependencies struct {
	// Cache is read for applications, definitions and AppRollouts; its objects are shared and never changed. Live is read for
	// everything else.
	Cache, Live client.Reader
	// Client is written with.
	Client client.Client
	Events events.EventRecorder
	Clock  clock.PassiveClock
	// Mapper tells which kinds live in a namespace.
	Mapper apimeta.RESTMapper
	// Kinds are the kinds of workloads that can be rolled out.
	Kinds *adapter.Adapters
	// Renderer makes objects of templates.
	Renderer Renderer
	// SystemNamespace has the definitions that an application's own namespace has not.
	SystemNamespace string
	// RevisionLimit is how many revisions that nothing uses are kept for each application.
	RevisionLimit int
	// Managers are the field managers of this program's writes, besides apply.FieldManager.
	Managers []string
	// Plan decides; nil means plan.Next.
	Plan func(plan.World) plan.Plan
	// Shown tells the versions of the objects of some kinds that an application controls, as a cache shows them, and false while it
	// does not; nil means what SetupWithManager has watched.
	Shown func(ctx context.Context, app client.Object, kinds []schema.GroupVersionKind) (map[owned.Ref]string, bool, error)
	// Writes tells whether the cache shows our own writes; nil means a new tracker.
	Writes *freshness.Tracker
	// Apply are the settings of what writes for an application.
	Apply apply.Options
}

// Reconciler deploys Applications. It is safe for concurrent use for different ones.
type Reconciler struct {
	Dependencies
	// own writes what the cache shows, and others what is read live.
	own, others *apply.Applier
	memories    owned.Memories[memory]
	watches     *owned.Kinds
}

// memory is what is remembered of one application between reconciles.
type memory struct {
	owned.Pace
	// tidied is what was deployed when old revisions were last looked for: nothing that they are kept for has gone since.
	tidied string
	// latest is the revision that is deployed, in brief; nil while something is to be done.
	latest *oamv1beta1.ApplicationRevision
	// rest is nil while there is something to do, to say or to wait for.
	rest *rest
}

// New returns a reconciler.
func New(d Dependencies) *Reconciler {
	if d.Plan == nil {
		d.Plan = plan.Next
	}
	if d.Writes == nil {
		d.Writes = freshness.New(d.Cache, d.Live, d.Clock, 0)
	}
	r := &Reconciler{
		Dependencies: d, own: apply.New(d.Client, d.Writes, d.Apply), others: apply.New(d.Client, nil, d.Apply),
		watches: owned.WatchedBy(oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationKind).GroupKind()),
	}
	if r.Shown == nil {
		r.Shown = r.watches.Versions
	}
	r.memories.Gone = func(uid types.UID) {
		r.Writes.Forget(uid)
		r.own.Forget(uid)
		r.others.Forget(uid)
	}
	return r
}

// Reconcile moves one Application one step closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &oamv1beta1.Application{}
	if err := r.Cache.Get(ctx, request.NamespacedName, app, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.memories.Forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading Application %s: %w", request, err)
	}
	remembered := r.memories.Of(app)
	if wait, stale := r.Writes.Unseen(ctx, app.UID); stale { // our cache is older than our own last write: deciding now could repeat it
		return ctrl.Result{RequeueAfter: wait}, nil // the event that catches the cache up calls us sooner; the wait is bounded
	}
	if app.DeletionTimestamp != nil {
		return r.leave(ctx, app)
	}
	return r.pass(ctx, app, remembered)
}

// pass records the application as a revision, and then observes, decides, acts and reports.
func (r *Reconciler) pass(ctx context.Context, app *oamv1beta1.Application, remembered *memory) (ctrl.Result, error) {
	asks, err := r.asked(ctx, app)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading what Application %s asks for: %w", client.ObjectKeyFromObject(app), err)
	}
	if r.rests(ctx, app, asks.hash, remembered.rest) {
		return ctrl.Result{}, nil
	}
	was := remembered.latest
	remembered.latest, remembered.rest = nil, nil // until this look has found nothing to do
	told := newReport(app, r.Clock.Now())
	latest, outcomes, err := r.revise(ctx, app, asks, was, told)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("recording Application %s: %w", client.ObjectKeyFromObject(app), err)
	}
	if latest == nil {
		wait, reported := r.report(ctx, app, remembered, told, outcomes)
		return report.Result(outcomes, told.failed, reported, wait)
	}
	w, next, err := r.decides(ctx, app, latest)
	if err != nil {
		return ctrl.Result{}, errors.Join(fmt.Errorf("deploying Application %s: %w", client.ObjectKeyFromObject(app), err), r.tellForbidden(ctx, app, remembered, told, outcomes, err))
	}
	if latest == was && !next.Done {
		return r.pass(ctx, app, remembered) // what is done is done by the revision as it is stored
	}
	outcomes = append(outcomes, r.deploy(ctx, app, latest, &w, next, remembered, told)...)
	wait, reported := r.report(ctx, app, remembered, told, outcomes)
	if next.Done {
		remembered.latest = brief(latest)
	}
	if next.Done && len(outcomes) == 0 && !told.written && told.failed == nil && reported == nil && wait == 0 {
		remembered.rest = rested(app, asks.hash, &w)
	}
	return report.Result(outcomes, told.failed, reported, looksAgain(next), wait)
}

// looksAgain is how soon to look again at what nobody tells of: what is somebody else's, and in the way, is not watched.
func looksAgain(next plan.Plan) time.Duration {
	if next.Blocked == "" {
		return 0
	}
	return lookBlocked
}

const lookBlocked = 10 * time.Second
