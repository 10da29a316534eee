// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cli/cafes"
)

func newConfirm(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	return newEdit(env, flags, &cobra.Command{
		Use:   "confirm NAME",
		Short: "Let the next group of a CafeDeployment begin",
		Long: "Let the group of a CafeDeployment begin that waits for a person. One confirmation is for one group.\n\n" +
			"It fails when no group waits, so it never confirms what nobody has asked for yet.",
		Example: fmt.Sprintf("  # Which group waits, and what has been reached?\n  %[1]s get cafe web\n\n  # Let it begin\n  %[1]s confirm web", env.Program),
	}, []shownKind{cafeKind()}, confirm)
}

func confirm(ctx context.Context, e *edit) error {
	before, err := e.read(ctx)
	if err != nil {
		return err
	}
	d := &cafev1alpha1.CafeDeployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(before.Object, d); err != nil {
		return fmt.Errorf("reading CafeDeployment %s: %w", e.key(), err)
	}
	headline := cafes.NewSummary(d, e.env.Clock.Now()).Headline
	switch d.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed] {
	case cafev1alpha1.ConfirmationAwaited:
	case cafev1alpha1.ConfirmationGiven:
		return fmt.Errorf("CafeDeployment %s is confirmed already, and the controller has not taken it up yet: %s", e.key(), headline)
	default:
		return fmt.Errorf("no group of CafeDeployment %s waits for a confirmation: %s", e.key(), headline)
	}
	if d.Status.ObservedGeneration < d.Generation {
		return fmt.Errorf("the group of CafeDeployment %s that waits is one of before the last change of the spec: %s", e.key(), headline)
	}
	after := before.DeepCopy()
	annotations := after.GetAnnotations()
	annotations[cafev1alpha1.AnnotationUpgradeConfirmed] = cafev1alpha1.ConfirmationGiven
	after.SetAnnotations(annotations)
	told := waiting(d) + " may begin"
	if d.Spec.Strategy.Pause {
		told += fmt.Sprintf(", once `%s resume %s` has ended the pause", e.env.Program, e.name)
	}
	return e.write(ctx, before, after, told)
}

// waiting is the group that waits. The annotation names the one before it, and the question is about that one; a status may be
// older.
func waiting(d *cafev1alpha1.CafeDeployment) string {
	_, index, _ := strings.Cut(d.Annotations[cafev1alpha1.AnnotationUpgradeGroup], "/")
	if done, err := strconv.Atoi(index); err == nil && done >= 1 && done < len(d.Status.Groups) {
		return cafes.Describe(d, done)
	}
	if at := cafes.Next(d); at >= 0 {
		return cafes.Describe(d, at)
	}
	return "the next group"
}
