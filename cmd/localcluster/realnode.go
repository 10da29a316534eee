// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/localcluster/realnode"
)

// realNodeCommand is what `up --real-node` starts as the first process of a namespace.
func realNodeCommand(at *place) *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:    "real-node",
		Short:  "Run containerd and a kubelet until stopped (`up --real-node` starts this)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check {
				return checkRealNode(cmd.OutOrStdout())
			}
			settings, err := localcluster.RealNodeSettings(at.root)
			if err != nil {
				return err
			}
			return realnode.Run(cmd.Context(), settings, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only say whether this machine can have one; fails if it cannot")
	return cmd
}

func checkRealNode(out io.Writer) error {
	missing := realnode.Missing()
	if len(missing) > 0 {
		return fmt.Errorf("this machine can have no real node:\n  %s", strings.Join(missing, "\n  "))
	}
	_, err := fmt.Fprintln(out, "this machine can have a real node")
	return err
}
