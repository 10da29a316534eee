// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/rollouts"
)

func newRolloutPause(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	return newRolloutEdit(env, flags, &cobra.Command{
		Use:   "pause [KIND/]NAME",
		Short: "Let a rollout begin nothing new",
		Long: "Let a rollout begin nothing new, in any state: pods that are on their way arrive. A pause holds back neither a deletion nor a\n" +
			"revert, and its time does not count for the deadline.",
		Example: fmt.Sprintf("  %[1]s rollout pause web", env.Program),
	}, func(ctx context.Context, e *rolloutEdit) error {
		if e.rollout.Status.RollingState.IsFinal() && e.rollout.Status.ObservedGeneration == e.rollout.Generation {
			return e.unfit("it has ended, and there is nothing to pause")
		}
		return e.setPause(ctx, true)
	})
}

func newRolloutResume(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	return newRolloutEdit(env, flags, &cobra.Command{
		Use:     "resume [KIND/]NAME",
		Short:   "Let a paused rollout go on",
		Long:    "Let a paused rollout go on where it is. One that waits at its partition, or at a failure, still does.",
		Example: fmt.Sprintf("  %[1]s rollout resume web", env.Program),
	}, func(ctx context.Context, e *rolloutEdit) error { return e.setPause(ctx, false) })
}

func newPromote(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	full := false
	cmd := newRolloutEdit(env, flags, &cobra.Command{
		Use:   "promote [KIND/]NAME",
		Short: "Let the next batch begin",
		Long: "Let exactly the next batch of a rollout begin that waits at its partition: spec.rolloutPlan.batchPartition grows by one batch.\n" +
			"With --full it is removed, and all batches follow without waiting; that can be said in advance.\n\n" +
			"It fails when no batch waits, so it never lets a batch begin that nobody has asked about yet.",
		Example: fmt.Sprintf("  # Which batch waits, and what has been reached?\n  %[1]s rollout get web\n\n  # Let it begin\n  %[1]s rollout promote web\n\n"+
			"  # Let all begin, one after the other\n  %[1]s rollout promote web --full", env.Program),
	}, func(ctx context.Context, e *rolloutEdit) error { return promote(ctx, e, full) })
	cmd.Flags().BoolVar(&full, "full", false, "remove the partition: all batches follow without waiting")
	return cmd
}

func promote(ctx context.Context, e *rolloutEdit, full bool) error {
	s, partition := &e.rollout.Status, e.rollout.Plan.BatchPartition
	told := ""
	if e.rollout.Plan.Paused {
		told = fmt.Sprintf(", once `%s rollout resume %s` has ended the pause", e.env.Program, e.rollout.Typed())
	}
	switch {
	case e.ends():
		return e.unfit("it has no batch that could begin")
	case partition == nil:
		return e.unfit("no batch is held back: spec.rolloutPlan.batchPartition is not set")
	case full:
		return e.set(ctx, "batchPartition", nil, "spec.rolloutPlan.batchPartition is gone: all batches follow"+told)
	case s.RollingState != rolloutv1alpha1.RollingInBatchesState || s.Running == nil:
		return e.unfit("no batch waits: the first one has not begun; --full says in advance that all may")
	case s.CurrentBatch < *partition:
		return e.unfit(fmt.Sprintf("no batch waits: spec.rolloutPlan.batchPartition %d lets batch %d begin without asking", *partition, s.CurrentBatch+2))
	case int(s.CurrentBatch) >= len(s.Running.RolloutBatches)-1:
		return e.unfit("no batch waits: this one is the last")
	case s.BatchRollingState != rolloutv1alpha1.BatchReadyState:
		return e.unfit(fmt.Sprintf("no batch waits: batch %d is not done; --full says in advance that all may follow", s.CurrentBatch+1))
	}
	return e.set(ctx, "batchPartition", int64(s.CurrentBatch)+1,
		fmt.Sprintf("spec.rolloutPlan.batchPartition is %d: batch %d of %d may begin%s", s.CurrentBatch+1, s.CurrentBatch+2, len(s.Running.RolloutBatches), told))
}

func newApprove(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	return newRolloutEdit(env, flags, &cobra.Command{
		Use:   "approve [KIND/]NAME",
		Short: "Pass the webhooks and metrics of the current step",
		Long: "Have the webhooks or metrics pass that a rollout waits for in the step that it is in, and in no other: those of the next batch\n" +
			"are asked again. What has been rejected already is for retry.\n\n" +
			"It fails when the rollout waits for neither.",
		Example: fmt.Sprintf("  %[1]s rollout approve web", env.Program),
	}, func(ctx context.Context, e *rolloutEdit) error {
		s := &e.rollout.Status
		switch {
		case s.WaitingFor == rolloutv1alpha1.WaitingForWebhook || s.WaitingFor == rolloutv1alpha1.WaitingForMetric:
			return e.speak(ctx, rolloutv1alpha1.AnnotationApprove, s.Step(), "the webhooks and metrics of this step pass: "+stepOf(s))
		case s.Failure != nil && !e.ends():
			return e.unfit("it has been rejected already; `" + e.env.Program + " rollout retry " + e.rollout.Typed() + "` asks again")
		}
		return e.unfit("it waits neither for a webhook nor for a metric")
	})
}

// stepOf names a step for people.
func stepOf(s *rolloutv1alpha1.RolloutStatus) string {
	if s.RollingState != rolloutv1alpha1.RollingInBatchesState || s.Running == nil {
		return string(s.RollingState)
	}
	return fmt.Sprintf("%s of batch %d of %d", s.BatchRollingState, s.CurrentBatch+1, len(s.Running.RolloutBatches))
}

func newRetry(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	return newRolloutEdit(env, flags, &cobra.Command{
		Use:   "retry [KIND/]NAME",
		Short: "Take up a rollout that has failed",
		Long: "Take up a rollout that waits at a failure, where it stands: webhooks are called again, metrics are measured from the beginning, and\n" +
			"the deadline begins anew. A rollout that has failed and ended begins anew with its first batch, from what is there.\n\n" +
			"It fails when there is no failure.",
		Example: fmt.Sprintf("  %[1]s rollout retry web", env.Program),
	}, func(ctx context.Context, e *rolloutEdit) error {
		s := &e.rollout.Status
		switch {
		case e.rollout.DeletionTimestamp != nil:
			return e.unfit("it is being deleted")
		case s.RollingState == rolloutv1alpha1.RolloutFailedState:
			return e.speak(ctx, rolloutv1alpha1.AnnotationRetry, s.Take(), "begins anew, from what is there")
		case s.RollingState == rolloutv1alpha1.RolloutFailingState || s.RollingState == rolloutv1alpha1.RolloutAbandoningState:
			return e.unfit("it lets go of its workloads first; try again when it has ended")
		case s.Failure != nil && !e.ends():
			return e.speak(ctx, rolloutv1alpha1.AnnotationRetry, s.Take(), "is taken up again at "+stepOf(s))
		}
		return e.unfit("it has not failed")
	})
}

func newAbort(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	revert := false
	cmd := newRolloutEdit(env, flags, &cobra.Command{
		Use:   "abort [KIND/]NAME",
		Short: "End a rollout, with --revert by going back",
		Long: "End a rollout that is on its way: it lets go of its workloads, and leaves the pods as they are. With --revert it first brings back\n" +
			"what was before, in the same batches in reverse. It ends as failed, and retry begins it anew.\n\n" +
			"One that goes back already, also because it is deleted, is ended where it is: pods of both versions stay.\n\n" +
			"It fails when the rollout has ended: undo goes back then.",
		Example: fmt.Sprintf("  # Stop, and leave the pods as they are\n  %[1]s rollout abort web\n\n  # Stop, and bring back what was before\n  %[1]s rollout abort web --revert", env.Program),
	}, func(ctx context.Context, e *rolloutEdit) error {
		s := &e.rollout.Status
		switch {
		case s.RollingState.IsFinal():
			return e.unfit("it has ended already; `" + e.env.Program + " rollout undo " + e.rollout.Typed() + "` goes back")
		case rollouts.GoesBack(s) && !revert:
			return e.speak(ctx, rolloutv1alpha1.AnnotationAbort, s.Take(), "goes back no further, and leaves the pods as they are", rolloutv1alpha1.AnnotationRevert)
		case e.ends():
			return e.unfit("it is ending already")
		case !e.begun():
			return e.unfit("it has not begun; delete it instead")
		case revert:
			return e.speak(ctx, rolloutv1alpha1.AnnotationRevert, s.Take(), "ends, and brings back what was before, in the same batches in reverse",
				rolloutv1alpha1.AnnotationAbort)
		}
		return e.speak(ctx, rolloutv1alpha1.AnnotationAbort, s.Take(), "ends, and leaves the pods as they are", rolloutv1alpha1.AnnotationRevert)
	})
	cmd.Flags().BoolVar(&revert, "revert", false, "bring back what was before, in the same batches in reverse")
	return cmd
}
