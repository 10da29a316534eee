// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli/rollouts"
	"slipway.dev/slipway/internal/cli/tree"
)

// eventsOf is the field by which the events of an object are asked for.
const eventsOf = "involvedObject.uid"

func newHistory(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	g := &getSets{kind: rolloutKind(), env: env, flags: flags, print: genericclioptions.NewPrintFlags("")}
	cmd := &cobra.Command{
		Use:   "history [KIND/]NAME",
		Short: "Tell what has happened to a rollout",
		Long: "Tell what has happened to a rollout, in the order of time: its events, and its conditions as they stand. An API server keeps events\n" +
			"for an hour unless it was told otherwise; conditions stay. Each run of a rollout has its own conditions, and begins by a line.",
		Example:           fmt.Sprintf("  %[1]s rollout history web", env.Program),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: g.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.readRollout(args[0]); err != nil {
				return err
			}
			if err := g.connect(); err != nil {
				return err
			}
			return g.explain(g.history(cmd.Context()))
		},
	}
	cmd.Flags().BoolVar(&g.ascii, "ascii", false, "use ASCII characters only")
	return cmd
}

func (g *getSets) history(ctx context.Context) error {
	if err := g.resolve(ctx); err != nil {
		return err
	}
	r, err := g.rollout(ctx)
	if err != nil {
		return err
	}
	events := &corev1.EventList{}
	if err := g.client.List(ctx, events, client.InNamespace(g.namespace), client.MatchingFields{eventsOf: string(r.UID)}); err != nil {
		return fmt.Errorf("listing events: %w", err)
	}
	terminal := g.env.terminal(g.ascii)
	width, _ := terminal.Size()
	options := tree.Options{Width: width, ASCII: terminal.ASCII, Color: terminal.Color}
	return writeLines(g.env.Streams.Out, tree.Render(rollouts.History(r, events.Items, g.env.Clock.Now()), options))
}
