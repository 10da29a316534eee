// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/test/faults/campaign"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		stop()
		os.Exit(1)
	}
}

// errBroken says that the campaign ran to its end, and that not all is well.
var errBroken = errors.New("something was broken or did not finish: see the table")

func newCommand() *cobra.Command {
	var o campaign.Options
	var asJSON string
	command := &cobra.Command{
		Use:           "faults",
		Short:         "Play every fault with every operation on a local cluster, and judge what the manager did",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctrl.SetLogger(logr.Discard()) // the clients' own remarks would stand between the lines of progress
			klog.SetLogger(logr.Discard())
			var err error
			if o.Repository, err = localcluster.FindRoot("."); err != nil {
				return err
			}
			if o.Seed == 0 {
				o.Seed = 1 + rand.Uint64N(1_000_000)
			}
			o.Out = command.ErrOrStderr()
			report, err := campaign.Run(command.Context(), o)
			if report == nil {
				return err
			}
			fmt.Fprint(command.OutOrStdout(), report.Markdown())
			err = errors.Join(err, save(report, asJSON))
			if err == nil && !report.Good() {
				err = errBroken
			}
			return err
		},
	}
	flags := command.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&o.Faults, "fault", nil, "faults to play (all): "+strings.Join(campaign.Names(), ", "))
	flags.StringSliceVar(&o.Operations, "operation", nil, `operations that the faults strike in (all): "`+strings.Join(campaign.Operations, `", "`)+`"`)
	flags.StringSliceVar(&o.Kinds, "kind", nil, "kinds of sets (all): "+strings.Join(campaign.Kinds, ", "))
	flags.Uint64Var(&o.Seed, "seed", 0, "what strikes when; 0 for a random one")
	flags.BoolVar(&o.Keep, "keep", false, "leave the cluster's logs and data behind")
	flags.StringVar(&asJSON, "json", "", "also write the findings, as JSON, to this file")
	return command
}

func save(report *campaign.Report, path string) error {
	if path == "" {
		return nil
	}
	content, err := json.MarshalIndent(report, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(content, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
