// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/rollouts"
)

func newRollout(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	rollout := &cobra.Command{
		Use:   "rollout",
		Short: "Begin rollouts, look at them, and decide how they go on",
		Long: "Take workloads to a new version or a new size in batches, by RolloutTraits, and components of applications by AppRollouts. get,\n" +
			"status, history and lint only read; the others change the one object that they name, and undo the workload of a rollout that\n" +
			"has ended. The plan of an AppRollout that an application writes is the application's: there they change that.\n\n" +
			"A NAME is that of a RolloutTrait or of an AppRollout. rollouttrait/NAME and approllout/NAME say which, and app/NAME is the\n" +
			"AppRollout of an application.",
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	get := newGetSets(env, flags, rolloutGet(), "rollout")
	rollout.AddCommand(newRolloutCreate(env, flags), get, newRolloutStatus(env, flags), newRolloutPause(env, flags), newRolloutResume(env, flags),
		newPromote(env, flags), newApprove(env, flags), newRetry(env, flags), newAbort(env, flags), newRolloutUndo(env, flags),
		newHistory(env, flags), newLint(env))
	return rollout
}

// rolloutGet is the kind where no kind has to be named.
func rolloutGet() shownKind {
	kind := rolloutKind()
	kind.command, kind.plural = "get", "list"
	return kind
}

// newRolloutEdit makes a command that changes one rollout.
func newRolloutEdit(env Environment, flags *genericclioptions.ConfigFlags, cmd *cobra.Command, run func(context.Context, *rolloutEdit) error) *cobra.Command {
	return newEditOf(env, flags, cmd, rolloutKinds(), rolloutKind(), func(ctx context.Context, e *edit) error {
		r, err := e.rollout(ctx)
		if err != nil {
			return err
		}
		return run(ctx, r)
	})
}

// rollout reads the rollout that is to be changed. The application that writes it is kept, to see whether somebody changes that
// meanwhile.
func (e *edit) rollout(ctx context.Context) (*rolloutEdit, error) {
	if err := e.resolve(ctx); err != nil {
		return nil, err
	}
	before, err := e.read(ctx)
	if err != nil {
		return nil, err
	}
	r, err := rollouts.Read(before)
	if err != nil {
		return nil, err
	}
	if r.Application != "" {
		if e.of == nil {
			e.of = &edit{getSets: &getSets{kind: appKind(), name: r.Application, namespace: e.namespace, env: e.env, client: e.client}, dryRun: e.dryRun}
		}
		e.of.refusal = e.refusal
	}
	return &rolloutEdit{edit: e, before: before, rollout: r}, nil
}

// rolloutEdit is one call of a command that changes one rollout. What an application writes of it is changed there: it would write
// over it.
type rolloutEdit struct {
	*edit
	before  *unstructured.Unstructured
	rollout *rollouts.Rollout
}

// unfit is the error of a command for which it is not the time.
func (e *rolloutEdit) unfit(why string) error {
	return fmt.Errorf("%s %s: %s; it stands at: %s", e.kind.Name(), e.key(), why, rollouts.Line(e.rollout))
}

// speak sets an annotation, in place of what was said before by others of them.
func (e *rolloutEdit) speak(ctx context.Context, key, value, told string, instead ...string) error {
	if e.rollout.Annotations[key] == value {
		return e.unfit("that was said already, and the controller has not taken it up yet")
	}
	after := e.before.DeepCopy()
	annotations := after.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for _, old := range instead {
		delete(annotations, old)
	}
	annotations[key] = value
	after.SetAnnotations(annotations)
	return e.write(ctx, e.before, after, told)
}

// set writes a field below spec.rolloutPlan; nil removes it. Of a rollout that an application writes, it is the plan of that.
func (e *rolloutEdit) set(ctx context.Context, field string, value any, told string) error {
	owner, before := e.edit, e.before
	if e.of != nil {
		app, err := e.planned(ctx)
		if err != nil {
			return err
		}
		owner, before = e.of, app
	}
	after := before.DeepCopy()
	path := []string{"spec", "rolloutPlan", field}
	if value == nil {
		unstructured.RemoveNestedField(after.Object, path...)
	} else if err := unstructured.SetNestedField(after.Object, value, path...); err != nil {
		return fmt.Errorf("setting spec.rolloutPlan.%s of %s %s: %w", field, owner.kind.Name(), owner.key(), err)
	}
	return owner.write(ctx, before, after, told)
}

// planned is the application that writes the rollout, with the plan that is to be changed.
func (e *rolloutEdit) planned(ctx context.Context) (*unstructured.Unstructured, error) {
	app, err := e.of.read(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil, e.unfit(fmt.Sprintf("Application %s writes its spec, and is gone", e.of.name))
	case err != nil:
		return nil, err
	}
	if _, has, _ := unstructured.NestedMap(app.Object, "spec", "rolloutPlan"); !has {
		return nil, e.unfit(fmt.Sprintf("Application %s writes its spec, and has no rolloutPlan any more", e.of.name))
	}
	return app, nil
}

// setPause pauses the rollout, or ends the pause.
func (e *rolloutEdit) setPause(ctx context.Context, pause bool) error {
	if e.of == nil {
		return setPause(ctx, e.edit, pause)
	}
	if _, err := e.planned(ctx); err != nil {
		return err
	}
	return setPause(ctx, e.of, pause)
}

// begun tells whether there is a run that can be spoken to.
func (e *rolloutEdit) begun() bool {
	return e.rollout.Status.RollingState != "" && e.rollout.Status.Run > 0
}

// ends tells whether the run has ended, or is about to.
func (e *rolloutEdit) ends() bool {
	s := &e.rollout.Status
	if e.rollout.DeletionTimestamp != nil {
		return true
	}
	switch s.RollingState {
	case rolloutv1alpha1.RolloutSucceedState, rolloutv1alpha1.RolloutFailedState, rolloutv1alpha1.RolloutFailingState,
		rolloutv1alpha1.RolloutAbandoningState, rolloutv1alpha1.RolloutDeletingState:
		return true
	case rolloutv1alpha1.LocatingTargetAppState, rolloutv1alpha1.VerifyingSpecState, rolloutv1alpha1.InitializingState,
		rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.FinalisingState:
	}
	return false
}
