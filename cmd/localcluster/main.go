// SPDX-License-Identifier: Apache-2.0

// Command localcluster runs a Kubernetes control plane with simulated nodes on this machine. Package
// slipway.dev/slipway/localcluster says what that is.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/localcluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted: %w", err)
		}
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

// place is where the repository is; every command needs it.
type place struct{ root string }

func newCommand() *cobra.Command {
	at := &place{}
	root := &cobra.Command{
		Use:           "localcluster",
		Short:         "A real Kubernetes control plane with simulated nodes on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			from := at.root
			if from == "" {
				from = "."
			}
			found, err := localcluster.FindRoot(from)
			at.root = found
			return err
		},
	}
	root.PersistentFlags().StringVar(&at.root, "root", "", "the repository's root directory (default: the one around the working directory)")
	root.AddCommand(upCommand(at), downCommand(at), statusCommand(at), kubeconfigCommand(at), buildCommand(at), nodeCommand(at), nodesCommand(at), realNodeCommand(at), demoCommand(at))
	return root
}
