// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/step"
)

// decides finds out how a revision lives, and what is to be done for it.
func (r *Reconciler) decides(ctx context.Context, app *oamv1beta1.Application, latest *oamv1beta1.ApplicationRevision) (plan.World, plan.Plan, error) {
	w, err := r.observe(ctx, app, latest)
	if err != nil {
		return w, plan.Plan{}, err
	}
	if err := r.watch(&w); err != nil {
		return w, plan.Plan{}, err
	}
	return w, r.Plan(w), nil
}

// deploy brings the cluster one step closer to a revision.
func (r *Reconciler) deploy(ctx context.Context, app *oamv1beta1.Application, latest *oamv1beta1.ApplicationRevision, w *plan.World, next plan.Plan, remembered *memory, told *telling) []apply.Outcome {
	if (app.Spec.RolloutPlan != nil || app.IsRolloutTemplate()) && !slices.Contains(app.Finalizers, oamv1beta1.FinalizerApplication) {
		return r.hold(ctx, app, told)
	}
	outcomes := r.others.Steps(ctx, app.UID, next.Steps)
	r.services(ctx, app, latest, w, told)
	r.tell(w, next, outcomes, told)
	if next.Done {
		forgotten, err := r.tidy(ctx, app, w, remembered)
		if err != nil {
			told.failed = err
		}
		outcomes = append(outcomes, forgotten...)
	}
	return outcomes
}

// watch has the controller told when an object of the application changes.
func (r *Reconciler) watch(w *plan.World) error {
	for i := range w.Components {
		kinds := []schema.GroupVersionKind{w.Components[i].Workload.GroupVersionKind()}
		for _, extra := range w.Components[i].Extras {
			kinds = append(kinds, extra.GroupVersionKind())
		}
		for _, kind := range kinds {
			if _, err := r.Mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
				continue // applying it says so
			}
			if err := r.watches.Watch(kind); err != nil {
				return err //nolint:wrapcheck // it names the kind
			}
		}
	}
	return nil
}

// isInBatches tells whether the application is rolled out by its own plan.
func isInBatches(app *oamv1beta1.Application) bool {
	return app.Spec.RolloutPlan != nil && !app.IsRolloutTemplate()
}

// tell says how the deployment stands.
func (r *Reconciler) tell(w *plan.World, next plan.Plan, outcomes []apply.Outcome, told *telling) {
	told.resources(w, outcomes)
	if w.Rollout != nil && w.Someone == "" {
		told.status.Rollout = w.Rollout.Status.DeepCopy()
	} else {
		told.status.Rollout = nil
	}
	err := apply.Errors(outcomes)
	switch {
	case err != nil && isRefused(outcomes):
		told.no(oamv1beta1.ConditionRollout, "RolloutRefused", err.Error())
		told.no(oamv1beta1.ConditionApplied, "ApplyFailed", err.Error())
		told.phase(oamv1beta1.ApplicationRollingOutFailed)
	case err != nil:
		told.not(w, "ApplyFailed", err.Error())
		told.phase(oamv1beta1.ApplicationRunningFailed)
	case next.Blocked != "":
		told.not(w, "Blocked", next.Blocked)
		told.phase(oamv1beta1.ApplicationRunningFailed)
	case next.Rolling != "":
		told.no(oamv1beta1.ConditionApplied, "Applying", next.Rolling+" is rolled out first")
		tellRolling(w, next, told)
	case !next.Done && !w.App.IsRolloutTemplate(): // of that nothing is applied
		told.phase(oamv1beta1.ApplicationRunning)
		if told.not(w, "Applying", fmt.Sprintf("%d objects of %s are applied or taken away", len(next.Steps), w.Latest)) {
			told.phase(oamv1beta1.ApplicationRollingOut)
		}
	default:
		tellDone(w, told)
	}
}

// tellForbidden says what may not be read: only a person can help. Other errors of reading say nothing about the application.
func (r *Reconciler) tellForbidden(ctx context.Context, app *oamv1beta1.Application, remembered *memory, told *telling, outcomes []apply.Outcome, err error) error {
	if !apierrors.IsForbidden(err) {
		return nil
	}
	told.no(oamv1beta1.ConditionApplied, "ApplyFailed", err.Error()+": Slipway needs that right")
	told.phase(oamv1beta1.ApplicationRunningFailed)
	_, reported := r.report(ctx, app, remembered, told, outcomes) // the error is tried again, and what had to wait is told then
	return reported
}

// not says what keeps objects from being applied. While the release is not over, it is what the rollout waits for too: nobody who
// follows it shall see it running before. Afterwards something is only put back.
func (t *telling) not(w *plan.World, reason, message string) (releasing bool) {
	t.no(oamv1beta1.ConditionApplied, reason, message)
	known := w.App.Status.LatestRevision
	over := known != nil && known.Name == w.Latest && apimeta.IsStatusConditionTrue(w.App.Status.Conditions, oamv1beta1.ConditionRollout)
	if !isInBatches(w.App) || over {
		return false
	}
	t.no(oamv1beta1.ConditionRollout, reason, message)
	return true
}

func tellDone(w *plan.World, told *telling) {
	told.phase(oamv1beta1.ApplicationRunning)
	if w.App.IsRolloutTemplate() {
		told.yes(oamv1beta1.ConditionApplied, "Recorded", w.Latest+" is recorded, and deployed by who asks for it")
		return
	}
	told.yes(oamv1beta1.ConditionApplied, "Applied", w.Latest+" is deployed")
	if isInBatches(w.App) {
		told.yes(oamv1beta1.ConditionRollout, "RolledOut", w.Latest+" is rolled out")
	}
}

// isRefused tells whether the server did not take the AppRollout: the plan breaks its rules.
func isRefused(outcomes []apply.Outcome) bool {
	return slices.ContainsFunc(outcomes, func(o apply.Outcome) bool {
		s, is := o.Step.(step.Apply)
		return is && o.Err != nil && !apply.IsConflict(o.Err) && s.Object.GetKind() == oamv1beta1.AppRolloutKind
	})
}

func tellRolling(w *plan.World, next plan.Plan, told *telling) {
	told.phase(oamv1beta1.ApplicationRollingOut)
	message := next.Rolling + " is rolled out to " + w.Latest
	if w.Rollout != nil {
		if w.Rollout.Status.RollingState == rolloutv1alpha1.RolloutFailedState && len(next.Steps) == 0 {
			told.no(oamv1beta1.ConditionRollout, "RolloutFailed", next.Rolling+": "+w.Rollout.Status.Message)
			told.phase(oamv1beta1.ApplicationRollingOutFailed)
			return
		}
		if said := w.Rollout.Status.Message; said != "" {
			message = next.Rolling + ": " + said + brake(w)
		}
	}
	told.no(oamv1beta1.ConditionRollout, "RollingOut", message)
}

// brake says where it stands what a rollout waits for and the plan does not have: somebody has written it there, and it may be all that
// stops a bad release, so it is left on.
func brake(w *plan.World) string {
	member, is, asked := "", &w.Rollout.Spec.RolloutPlan, w.App.Spec.RolloutPlan
	switch waits := w.Rollout.Status.WaitingFor; {
	case asked == nil: // the rollout is about to go
		return ""
	case waits == rolloutv1alpha1.WaitingForUnpause && is.Paused && !asked.Paused:
		member = "paused"
	case waits == rolloutv1alpha1.WaitingAtPartition && is.BatchPartition != nil && asked.BatchPartition == nil:
		member = "batchPartition"
	default:
		return ""
	}
	return fmt.Sprintf("; spec.rolloutPlan.%s stands in AppRollout %s, and not in this plan: take it out there to go on", member, w.Rollout.Name)
}

// hold keeps an application that is rolled out until the rollout has let go of its workloads.
func (r *Reconciler) hold(ctx context.Context, app *oamv1beta1.Application, told *telling) []apply.Outcome {
	told.written = true
	return r.own.Steps(ctx, app.UID, []step.Step{step.SetFinalizers{
		Because: "its workloads are about to be rolled out", Target: step.On(app), Object: &oamv1beta1.Application{},
		Finalizers: append(app.DeepCopy().Finalizers, oamv1beta1.FinalizerApplication),
	}})
}
