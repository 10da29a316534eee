// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/rollouts"
)

func rolloutKind() shownKind {
	return shownKind{shown: rollouts.Kind(), command: "rollout", plural: "rollouttraits", short: []string{"rollouttrait", "rt"},
		pause: []string{"rolloutPlan", "paused"}, shows: "batches", each: "every batch"}
}

func newRollout(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	rollout := &cobra.Command{
		Use:   "rollout",
		Short: "Begin rollouts, look at them, and decide how they go on",
		Long: "Take workloads to a new version or a new size in batches, by RolloutTraits. get, status, history and lint only read; the\n" +
			"others change the one object that they name, and undo the workload of a rollout that has ended.",
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
	kind.command, kind.plural, kind.short = "get", "list", nil
	return kind
}

// newRolloutEdit makes a command that changes one rollout.
func newRolloutEdit(env Environment, flags *genericclioptions.ConfigFlags, cmd *cobra.Command, run func(context.Context, *rolloutEdit) error) *cobra.Command {
	return newEdit(env, flags, cmd, []shownKind{rolloutKind()}, func(ctx context.Context, e *edit) error {
		before, err := e.read(ctx)
		if err != nil {
			return err
		}
		r := &rolloutv1alpha1.RolloutTrait{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(before.Object, r); err != nil {
			return fmt.Errorf("reading RolloutTrait %s: %w", e.key(), err)
		}
		return run(ctx, &rolloutEdit{edit: e, before: before, rollout: r})
	})
}

// rolloutEdit is one call of a command that changes one rollout.
type rolloutEdit struct {
	*edit
	before  *unstructured.Unstructured
	rollout *rolloutv1alpha1.RolloutTrait
}

// unfit is the error of a command for which it is not the time.
func (e *rolloutEdit) unfit(why string) error {
	return fmt.Errorf("RolloutTrait %s: %s; it stands at: %s", e.key(), why, rollouts.Line(e.rollout))
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

// set writes a field below spec.rolloutPlan; nil removes it.
func (e *rolloutEdit) set(ctx context.Context, field string, value any, told string) error {
	after := e.before.DeepCopy()
	path := []string{"spec", "rolloutPlan", field}
	if value == nil {
		unstructured.RemoveNestedField(after.Object, path...)
	} else if err := unstructured.SetNestedField(after.Object, value, path...); err != nil {
		return fmt.Errorf("setting spec.rolloutPlan.%s of RolloutTrait %s: %w", field, e.key(), err)
	}
	return e.write(ctx, e.before, after, told)
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
