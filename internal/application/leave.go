// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/application/revision"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/step"
)

// leave ends an application that is being deleted. A workload that a rollout holds would lose the application as its owner and
// stay for ever, so what was applied is deleted before the application goes; unless it is deleted without its dependents.
func (r *Reconciler) leave(ctx context.Context, app *oamv1beta1.Application) (ctrl.Result, error) {
	if !slices.Contains(app.Finalizers, oamv1beta1.FinalizerApplication) {
		return ctrl.Result{}, nil
	}
	var steps []step.Step
	if !slices.Contains(app.Finalizers, metav1.FinalizerOrphanDependents) {
		var err error
		if steps, err = r.left(ctx, app); err != nil {
			return ctrl.Result{}, fmt.Errorf("deleting what Application %s has: %w", client.ObjectKeyFromObject(app), err)
		}
	}
	outcomes := r.others.Steps(ctx, app.UID, steps)
	apply.Tell(r.Events, app, outcomes, nil)
	if apply.Errors(outcomes) == nil && !apply.Conflicts(outcomes) {
		outcomes = append(outcomes, r.own.Steps(ctx, app.UID, []step.Step{step.SetFinalizers{
			Because: "what was applied is gone", Target: step.On(app), Object: &oamv1beta1.Application{},
			Finalizers: slices.DeleteFunc(slices.Clone(app.Finalizers), func(f string) bool { return f == oamv1beta1.FinalizerApplication }),
		}})...)
	}
	return report.Result(outcomes, nil, nil)
}

// left are the steps that delete the rollout, and all that was applied, whether the status tells of it or not. What may not be read any
// more is left to the collector.
func (r *Reconciler) left(ctx context.Context, app *oamv1beta1.Application) ([]step.Step, error) {
	const why = step.Because("the application is deleted")
	w := &plan.World{App: app}
	var steps []step.Step
	rollout := &oamv1beta1.AppRollout{}
	switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(app), rollout); {
	case err == nil && metav1.IsControlledBy(rollout, app) && rollout.DeletionTimestamp == nil:
		steps = append(steps, step.Delete(rollout, why))
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading AppRollout %s: %w", app.Name, err)
	}
	for i := range app.Status.AppliedResources {
		a := &app.Status.AppliedResources[i]
		o, err := r.live(ctx, app.Namespace, schema.FromAPIVersionAndKind(a.APIVersion, a.Kind), a.Name)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		if o != nil {
			w.Applied = append(w.Applied, o)
		}
	}
	strays, err := r.strays(ctx, app, w)
	if err != nil {
		return nil, err
	}
	for _, o := range append(w.Applied, strays...) {
		if o.GetDeletionTimestamp() == nil && w.Owns(o) {
			steps = append(steps, step.Delete(o, why))
		}
	}
	return steps, nil
}

// tidy forgets old revisions, once for each revision that is deployed: to find them, all have to be read.
func (r *Reconciler) tidy(ctx context.Context, app *oamv1beta1.Application, w *plan.World, remembered *memory) ([]apply.Outcome, error) {
	deployed := usedBy(app, w)
	if remembered.tidied == deployed {
		return nil, nil
	}
	var strays []*unstructured.Unstructured
	if numberOf(app, w) > 1 { // all that the first one has was read
		var err error
		if strays, err = r.strays(ctx, app, w); err != nil {
			return nil, err
		}
	}
	w.Applied = append(w.Applied, strays...)
	if steps := r.Plan(*w).Steps; len(steps) > 0 {
		return r.others.Steps(ctx, app.UID, steps), nil
	}
	outcomes, err := r.forget(ctx, app, w)
	if err == nil && len(outcomes) > 0 && apply.Errors(outcomes) == nil && !apply.Conflicts(outcomes) { // what only those had goes after them
		var more []apply.Outcome
		more, err = r.forget(ctx, app, w)
		outcomes = append(outcomes, more...)
	}
	if err == nil && len(outcomes) == 0 {
		remembered.tidied = deployed
	}
	return outcomes, err
}

// numberOf is that of the latest revision. Of an application that was seen as it was before it had any, it is that of the one just made.
func numberOf(app *oamv1beta1.Application, w *plan.World) int64 {
	if known := app.Status.LatestRevision; known != nil {
		return known.Revision
	}
	return revision.NumberOf(app.Name, w.Latest)
}

// usedBy tells all that revisions are kept for, as it is known without asking. What the status has is kept for as long as it has it.
func usedBy(app *oamv1beta1.Application, w *plan.World) string {
	used := []string{w.Latest}
	if known := app.Status.LatestRevision; known != nil {
		used = append(used, known.Name)
	}
	if known := app.Status.Rollout; known != nil {
		used = append(used, known.LastTargetAppRevision, known.LastSourceAppRevision)
	}
	for i := range app.Status.AppliedResources {
		used = append(used, string(app.Status.AppliedResources[i].UID))
	}
	if w.Rollout != nil {
		used = append(used, w.Rollout.ResourceVersion)
	}
	return strings.Join(used, " ")
}

// forget deletes revisions that nothing uses any more. It comes when all of the latest is deployed. The status may not have yet what was
// seen, and what it has may have changed since.
func (r *Reconciler) forget(ctx context.Context, app *oamv1beta1.Application, w *plan.World) ([]apply.Outcome, error) {
	if numberOf(app, w) <= int64(r.RevisionLimit) { // there cannot be more
		return nil, nil
	}
	history, components, err := r.history(ctx, app)
	if err != nil || len(history.Own) <= r.RevisionLimit {
		return nil, err
	}
	rollouts := &oamv1beta1.AppRolloutList{}
	if err := r.Live.List(ctx, rollouts, client.InNamespace(app.Namespace)); err != nil {
		return nil, fmt.Errorf("listing AppRollouts: %w", err)
	}
	users := revision.Users{Application: app}
	for i := range rollouts.Items {
		users.Rollouts = append(users.Rollouts, &rollouts.Items[i])
	}
	for i := range app.Status.AppliedResources {
		a := &app.Status.AppliedResources[i]
		o, err := r.live(ctx, app.Namespace, schema.FromAPIVersionAndKind(a.APIVersion, a.Kind), a.Name)
		if err != nil {
			return nil, err
		}
		if o != nil {
			users.Deployed = append(users.Deployed, o.GetLabels())
		}
	}
	for _, o := range w.Seen() {
		users.Deployed = append(users.Deployed, o.GetLabels())
	}
	used := users.Used()
	var steps []step.Step
	for _, old := range revision.Expired(app.Name, history.Own, used, r.RevisionLimit) {
		steps = append(steps, step.Delete(old, "nothing uses it, and there are newer ones"))
	}
	for _, old := range revision.ExpiredComponents(app, components.Stored, history.Own, used) {
		steps = append(steps, step.ForgetRevision{Because: "no revision of the application has it", Target: step.On(old)})
	}
	return r.others.Steps(ctx, app.UID, steps), nil
}
