// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/localcluster/realnode"
)

// realNodeCommand is what `up --real-node` starts as the first process of a namespace.
func realNodeCommand(at *place) *cobra.Command {
	return &cobra.Command{
		Use:    "real-node",
		Short:  "Run containerd and a kubelet until stopped (`up --real-node` starts this)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := localcluster.RealNodeSettings(at.root)
			if err != nil {
				return err
			}
			return realnode.Run(cmd.Context(), settings, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
		},
	}
}
