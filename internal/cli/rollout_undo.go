// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/rollouts"
)

func newRolloutUndo(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	to := int64(0)
	cmd := newRolloutEdit(env, flags, &cobra.Command{
		Use:   "undo [KIND/]NAME",
		Short: "Go back after a rollout has ended",
		Long: "Go back after a rollout has ended, by the same plan. Between two workloads source and target change places, and the rollout begins\n" +
			"anew. After a scale targetSize is the size of before. A workload that holds two versions gets its earlier template back, held so\n" +
			"that no pod moves: a rollout that has failed then takes it, and after one that has succeeded it waits for the next rollout, for\n" +
			"a rollout works once; the command says which to type.\n\n" +
			"It fails while the rollout is on its way. abort --revert goes back then: it never lets go of the workloads in between, and knows\n" +
			"what stood in them.",
		Example: fmt.Sprintf("  # Back to what was before\n  %[1]s rollout undo web\n\n  # What would that be?\n  %[1]s rollout undo web --dry-run", env.Program),
	}, func(ctx context.Context, e *rolloutEdit) error { return undoRollout(ctx, e, to) })
	cmd.Flags().Int64Var(&to, "to-revision", 0, "the number of the revision, of a workload that holds two versions; 0 is the newest that differs")
	return cmd
}

func undoRollout(ctx context.Context, e *rolloutEdit, to int64) error {
	s := &e.rollout.Status
	switch {
	case to < 0:
		return errors.New("--to-revision cannot be negative")
	case e.rollout.DeletionTimestamp != nil:
		return e.unfit("it is being deleted")
	case e.rollout.Application != "":
		return e.unfit(fmt.Sprintf("Application %[1]s says what is rolled out, and would take it forward again; `%[2]s app undo %[1]s -n %[3]s` goes back", e.rollout.Application, e.env.Program, e.namespace))
	case !s.RollingState.IsFinal() && e.begun():
		return e.unfit(fmt.Sprintf("it has not ended; `%s rollout abort %s --revert` goes back now", e.env.Program, e.rollout.Typed()))
	case !s.RollingState.IsFinal() || s.ObservedGeneration < e.rollout.Generation:
		return e.unfit("the controller has not looked at the newest spec yet")
	case s.Running == nil || s.Running.Mode == "":
		return e.unfit("it has moved nothing, and there is nothing to undo")
	case s.RollingState == rolloutv1alpha1.RolloutFailedState && s.Ending == rolloutv1alpha1.RevertEnding:
		return e.unfit("what was before is back already")
	case e.rollout.Revisions != nil && to != 0:
		return e.unfit("--to-revision is for RolloutTraits: the revisions of an AppRollout stand in its spec")
	case e.rollout.Revisions != nil && s.Running.SourceAppRevision != "":
		return e.swapRevisions(ctx)
	case s.Running.Mode == rolloutv1alpha1.InPlaceMode:
		return e.undoInPlace(ctx, to)
	case to != 0:
		return e.unfit("--to-revision is for workloads that hold two versions")
	case s.Running.Mode == rolloutv1alpha1.ScaleMode:
		return e.set(ctx, "targetSize", int64(s.RolloutOriginalSize),
			fmt.Sprintf("spec.rolloutPlan.targetSize is %d again, the size of before: it begins anew%s", s.RolloutOriginalSize, e.andWaits()))
	}
	return e.swap(ctx)
}

// andWaits tells of what keeps a rollout that begins anew from doing so.
func (e *rolloutEdit) andWaits() string {
	p := &e.rollout.Plan
	switch {
	case p.Paused:
		return fmt.Sprintf(", once `%s rollout resume %s` has ended the pause", e.env.Program, e.rollout.Typed())
	case p.BatchPartition != nil:
		return fmt.Sprintf(", and waits after batch %d (batchPartition %d)", *p.BatchPartition+1, *p.BatchPartition)
	}
	return ""
}

// swap has the source become the target, and the other way round.
func (e *rolloutEdit) swap(ctx context.Context) error {
	after := e.before.DeepCopy()
	target, _, _ := unstructured.NestedMap(after.Object, "spec", "targetRef")
	sources, _, _ := unstructured.NestedSlice(after.Object, "spec", "sourceRef")
	if len(sources) != 1 || target == nil {
		return e.unfit("its spec names no source any more: there is nothing to go back to")
	}
	source, isMap := sources[0].(map[string]any)
	if !isMap {
		return fmt.Errorf("reading spec.sourceRef of RolloutTrait %s: it holds a %T", e.key(), sources[0])
	}
	err := errors.Join(
		unstructured.SetNestedMap(after.Object, source, "spec", "targetRef"),
		unstructured.SetNestedSlice(after.Object, []any{target}, "spec", "sourceRef"))
	if err != nil {
		return fmt.Errorf("writing targetRef and sourceRef of RolloutTrait %s: %w", e.key(), err)
	}
	return e.write(ctx, e.before, after, fmt.Sprintf("goes back from %s to %s: it begins anew%s",
		rollouts.Ref(e.rollout.Target), rollouts.Ref(*e.rollout.Source), e.andWaits()))
}

// swapRevisions has the source revision become the target, and the other way round.
func (e *rolloutEdit) swapRevisions(ctx context.Context) error {
	running, after := e.rollout.Status.Running, e.before.DeepCopy()
	err := errors.Join(
		unstructured.SetNestedField(after.Object, running.SourceAppRevision, "spec", "targetAppRevisionName"),
		unstructured.SetNestedField(after.Object, running.TargetAppRevision, "spec", "sourceAppRevisionName"))
	if err != nil {
		return fmt.Errorf("writing the revisions of AppRollout %s: %w", e.key(), err)
	}
	return e.write(ctx, e.before, after, fmt.Sprintf("goes back from %s to %s: it begins anew%s", running.TargetAppRevision, running.SourceAppRevision, e.andWaits()))
}

// undoInPlace gives a workload its earlier template, held. One that failed is then tried again: in that order, for until the
// template is there a retry would release the wrong one.
func (e *rolloutEdit) undoInPlace(ctx context.Context, to int64) error {
	ref := e.rollout.Status.Running.TargetRef
	kind, known := knownWorkload(ref)
	if !known {
		return e.unfit(fmt.Sprintf("where a %s keeps its template is not known here: give it its earlier one by hand, held, and begin a rollout", ref.Kind))
	}
	o, err := kind.read(ctx, e.client, e.namespace, ref.Name)
	switch {
	case apierrors.IsNotFound(err):
		return e.unfit(rollouts.Ref(ref) + " is gone")
	case err != nil:
		return fmt.Errorf("reading %s: %w", rollouts.Ref(ref), err)
	case o.GetLabels()[rolloutv1alpha1.LabelHeld] == "true":
		return e.unfit(rollouts.Ref(ref) + " is held by a rollout that is on its way")
	}
	retries := e.rollout.Status.RollingState == rolloutv1alpha1.RolloutFailedState
	switch {
	case retries && e.rollout.Annotations[rolloutv1alpha1.AnnotationRetry] == e.rollout.Status.Take():
		return e.unfit("it is to begin anew already, and the controller has not taken that up yet")
	case !retries && to == 0 && kind.isHeld(o): // a second undo would go forward again
		return e.unfit(fmt.Sprintf("%s is held already, as an undo leaves it: `%s rollout create %s-back --like %s -n %s` takes the pods to its template, "+
			"and --to-revision chooses another one", rollouts.Ref(ref), e.env.Program, e.name, e.name, e.namespace))
	}
	workload := &edit{getSets: &getSets{kind: kind.shown(), name: ref.Name, namespace: e.namespace, env: e.env, client: e.client}, dryRun: e.dryRun}
	after, told, err := workload.goBack(ctx, o, to)
	if err != nil {
		return err
	}
	held, err := kind.hold(after)
	if err != nil {
		return fmt.Errorf("holding %s: %w", rollouts.Ref(ref), err)
	}
	if err := workload.write(ctx, o, after, told+"; no pod moves yet: "+held); err != nil {
		return err
	}
	if retries {
		return e.speak(ctx, rolloutv1alpha1.AnnotationRetry, e.rollout.Status.Take(), "begins anew, and takes the pods to it"+e.andWaits())
	}
	return e.tell(fmt.Sprintf("a rollout works once: `%s rollout create %s-back --like %s -n %s` takes the pods to it", e.env.Program, e.name, e.name, e.namespace))
}
