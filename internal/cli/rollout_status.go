// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/live"
	"slipway.dev/slipway/internal/cli/rollouts"
	"slipway.dev/slipway/internal/cli/tree"
)

// rolloutStatus is one call of `rollout status`.
type rolloutStatus struct {
	*getSets
	wait    bool
	timeout time.Duration
}

func newRolloutStatus(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	s := &rolloutStatus{getSets: &getSets{kind: rolloutKind(), env: env, flags: flags, print: genericclioptions.NewPrintFlags("")}}
	cmd := &cobra.Command{
		Use:   "status [KIND/]NAME",
		Short: "Say in one line, and by the exit status, how far a rollout is",
		Long: "Say in one line how far a rollout is. The exit status is 0 when it has succeeded, 1 when it has failed (also after an error), and 2\n" +
			"when it has not ended: it goes on, or it waits. A change of the spec that the controller has not looked at yet counts as not ended.\n\n" +
			"With --wait it prints a line whenever that changes, and ends when the rollout does. A rollout that waits for a person has not ended:\n" +
			"--timeout gives up, with status 2.",
		Example: fmt.Sprintf("  # In a pipeline\n  %[1]s rollout status web --wait --timeout 30m", env.Program),
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return s.complete(cmd, args, begun)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.readRollout(args[0]); err != nil {
				return err
			}
			switch {
			case s.timeout != 0 && !s.wait:
				return errors.New("--timeout goes with --wait")
			case s.timeout < 0:
				return errors.New("--timeout cannot be negative")
			}
			if err := s.connect(); err != nil {
				return err
			}
			return s.explain(s.run(cmd.Context()))
		},
	}
	cmd.Flags().BoolVar(&s.wait, "wait", false, "wait until the rollout has ended")
	cmd.Flags().DurationVar(&s.timeout, "timeout", 0, "with --wait: give up after this time, with status 2; 0 never does")
	return cmd
}

func (s *rolloutStatus) run(ctx context.Context) error {
	if err := s.resolve(ctx); err != nil {
		return err
	}
	if s.wait {
		return s.follow(ctx)
	}
	r, err := s.rollout(ctx)
	if err != nil {
		return err
	}
	if err := writeLines(s.env.Streams.Out, []string{tree.Clean(rollouts.Line(r))}); err != nil {
		return err
	}
	return outcome(r)
}

// outcome is the exit status of a rollout as an error.
func outcome(r *rollouts.Rollout) error {
	switch rollouts.OutcomeOf(r) {
	case rollouts.Succeeded:
		return nil
	case rollouts.Failed:
		return Told{ExitError, "the rollout has failed: " + rollouts.Line(r)}
	case rollouts.GoesOn:
	}
	return Told{ExitGoesOn, "the rollout has not ended: " + rollouts.Line(r)}
}

// follow prints a line whenever it changes, on terminals too: a pipeline's log is read afterwards.
func (s *rolloutStatus) follow(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	changed := feed.NewSignal()
	look, err := rollouts.Follow(ctx, s.kind.Name(), s.client, s.key(), changed)
	if err != nil {
		return err
	}
	defer s.stopAfter(ctx, s.timeout, stop)()
	plain := live.Terminal{Out: s.env.Streams.Out}
	var newest *rollouts.Rollout
	told := ""
	err = live.Show(ctx, plain, s.env.Clock, changed, func(time.Time) (live.Frame, bool, error) {
		if newest, err = look(); err != nil {
			return live.Frame{}, false, err
		}
		line := tree.Clean(rollouts.Line(newest))
		frame := live.Frame{News: func() []string {
			if line == told {
				return nil
			}
			told = line
			return []string{line}
		}}
		return frame, rollouts.OutcomeOf(newest) != rollouts.GoesOn, nil
	})
	switch {
	case err == nil:
		return outcome(newest)
	case newest != nil && errors.Is(context.Cause(ctx), errTimeout):
		return s.giveUp()
	}
	return err
}

func (s *rolloutStatus) giveUp() error {
	line := fmt.Sprintf("%s %s has not ended after %s", s.kind.Name(), s.key(), s.timeout)
	if err := writeLines(s.env.Streams.ErrOut, []string{line}); err != nil {
		return err
	}
	return Told{ExitGoesOn, line}
}
