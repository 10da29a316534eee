// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

func newPause(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	return newEdit(env, flags, &cobra.Command{
		Use:   "pause [KIND/]NAME",
		Short: "Let a release touch no further pods",
		Long: "Let a release touch no further pods: those that are on their way arrive. Of a CafeDeployment no further group begins.\n" +
			"Without KIND the NAME is that of a CafeDeployment.",
		Example: fmt.Sprintf("  %[1]s pause web\n  %[1]s pause cloneset/web", env.Program),
	}, pausedKinds(), func(ctx context.Context, e *edit) error { return e.setPause(ctx, true) })
}

func newResume(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	return newEdit(env, flags, &cobra.Command{
		Use:     "resume [KIND/]NAME",
		Short:   "Let a paused release go on",
		Long:    "Let a paused release go on where it is. Without KIND the NAME is that of a CafeDeployment.",
		Example: fmt.Sprintf("  %[1]s resume web\n  %[1]s resume cloneset/web", env.Program),
	}, pausedKinds(), func(ctx context.Context, e *edit) error { return e.setPause(ctx, false) })
}

func pausedKinds() []shownKind {
	return append(shownKinds(), rolloutKind(), traitKind(), appRolloutKind(), appKind())
}

// setPause pauses an object of any kind, or ends its pause.
func (e *edit) setPause(ctx context.Context, pause bool) error {
	if !e.kind.isRollout() {
		return setPause(ctx, e, pause)
	}
	r, err := e.rollout(ctx)
	if err != nil {
		return err
	}
	return r.setPause(ctx, pause)
}

func setPause(ctx context.Context, e *edit, pause bool) error {
	before, err := e.read(ctx)
	if err != nil {
		return err
	}
	field := "spec." + strings.Join(e.kind.pause, ".")
	path := append([]string{"spec"}, e.kind.pause...)
	is, _, err := unstructured.NestedBool(before.Object, path...)
	if err != nil {
		return fmt.Errorf("reading %s of %s %s: %w", field, e.kind.Name(), e.key(), err)
	}
	if onDelete, _, _ := unstructured.NestedString(before.Object, "spec", "updateStrategy", "type"); onDelete == "OnDelete" {
		return fmt.Errorf("%s %s updates pods only when somebody deletes them (updateStrategy.type OnDelete): there is nothing to pause", e.kind.Name(), e.key())
	}
	if _, has, _ := unstructured.NestedMap(before.Object, path[:len(path)-1]...); !has && e.kind.Name() == oamv1beta1.ApplicationKind {
		return fmt.Errorf("%s %s has no rolloutPlan: what changes is applied at once, and there is nothing to pause", e.kind.Name(), e.key())
	}
	switch {
	case is && pause:
		return e.tell("is paused already")
	case !is && !pause:
		return e.tell("is not paused")
	}
	after := before.DeepCopy()
	if err := unstructured.SetNestedField(after.Object, pause, path...); err != nil {
		return fmt.Errorf("setting %s of %s %s: %w", field, e.kind.Name(), e.key(), err)
	}
	return e.write(ctx, before, after, fmt.Sprintf("%s is %t: %s", field, pause, map[bool]string{
		true: "nothing new begins, and what is on its way ends", false: "the release goes on",
	}[pause]))
}
