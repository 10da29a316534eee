// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/step"
)

// deploy brings the cluster one step closer to a revision.
func (r *Reconciler) deploy(ctx context.Context, app *oamv1beta1.Application, latest *oamv1beta1.ApplicationRevision, remembered *memory, told *telling) ([]apply.Outcome, error) {
	w, err := r.observe(ctx, app, latest)
	if err != nil {
		return nil, err
	}
	if err := r.watch(&w); err != nil {
		return nil, err
	}
	if (app.Spec.RolloutPlan != nil || app.IsRolloutTemplate()) && !slices.Contains(app.Finalizers, oamv1beta1.FinalizerApplication) {
		return r.hold(ctx, app, told), nil
	}
	next := r.Plan(w)
	outcomes := r.others.Steps(ctx, app.UID, next.Steps)
	if err := r.services(ctx, app, latest, &w, told); err != nil {
		return outcomes, err
	}
	r.tell(app, &w, next, outcomes, told)
	if next.Done {
		forgotten, err := r.tidy(ctx, app, &w, remembered)
		return append(outcomes, forgotten...), err
	}
	return outcomes, nil
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

// tell says how the deployment stands.
func (r *Reconciler) tell(app *oamv1beta1.Application, w *plan.World, next plan.Plan, outcomes []apply.Outcome, told *telling) {
	told.resources(w, outcomes)
	if w.Rollout != nil && w.Someone == "" {
		told.status.Rollout = w.Rollout.Status.DeepCopy()
	} else {
		told.status.Rollout = nil
	}
	err := apply.Errors(outcomes)
	switch {
	case err != nil:
		told.no(oamv1beta1.ConditionApplied, "ApplyFailed", err.Error())
		told.phase(oamv1beta1.ApplicationRunningFailed)
	case next.Blocked != "":
		told.no(oamv1beta1.ConditionApplied, "Blocked", next.Blocked)
		told.phase(oamv1beta1.ApplicationRunningFailed)
	case next.Rolling != "":
		r.tellRolling(w, next, told)
	case !next.Done:
		told.no(oamv1beta1.ConditionApplied, "Applying", fmt.Sprintf("%d objects of %s are applied or taken away", len(next.Steps), w.Latest))
		told.phase(oamv1beta1.ApplicationRunning)
	default:
		told.yes(oamv1beta1.ConditionApplied, "Applied", w.Latest+" is deployed")
		if app.Spec.RolloutPlan != nil {
			told.yes(oamv1beta1.ConditionRollout, "RolledOut", w.Latest+" is rolled out")
		}
		told.phase(oamv1beta1.ApplicationRunning)
	}
}

func (r *Reconciler) tellRolling(w *plan.World, next plan.Plan, told *telling) {
	told.phase(oamv1beta1.ApplicationRollingOut)
	message := next.Rolling + " is rolled out to " + w.Latest
	if w.Rollout != nil {
		if w.Rollout.Status.RollingState == rolloutv1alpha1.RolloutFailedState && len(next.Steps) == 0 {
			told.no(oamv1beta1.ConditionRollout, "RolloutFailed", next.Rolling+": "+w.Rollout.Status.Message)
			told.phase(oamv1beta1.ApplicationRollingOutFailed)
			return
		}
		if said := w.Rollout.Status.Message; said != "" {
			message = next.Rolling + ": " + said
		}
	}
	told.no(oamv1beta1.ConditionRollout, "RollingOut", message)
}

// hold keeps an application that is rolled out until the rollout has let go of its workloads.
func (r *Reconciler) hold(ctx context.Context, app *oamv1beta1.Application, told *telling) []apply.Outcome {
	told.written = true
	return r.own.Steps(ctx, app.UID, []step.Step{step.SetFinalizers{
		Because: "its workloads are about to be rolled out", Target: step.On(app), Object: &oamv1beta1.Application{},
		Finalizers: append(app.DeepCopy().Finalizers, oamv1beta1.FinalizerApplication),
	}})
}
