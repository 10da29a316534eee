// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"slipway.dev/slipway/localcluster/demo"
)

func demoCommand(at *place) *cobra.Command {
	options := demo.Options{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a release in place, and judge it by the API server's audit log",
		Long: `Show a release in place, and judge it by the API server's audit log.

It starts the local cluster if needed, or uses the one of --kubeconfig, and fails if a promise is broken.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// What client libraries log would end up in the middle of the picture.
			klog.SetLogger(logr.Discard())
			log.SetLogger(logr.Discard())
			options.Root, options.Out, options.Getenv = at.root, cmd.OutOrStdout(), os.Getenv
			return demo.Run(cmd.Context(), options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Scenario, "scenario", demo.DefaultScenario, fmt.Sprintf("what to show: %s", strings.Join(demo.Scenarios(), ", ")))
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "your own cluster (default: the local cluster)")
	flags.BoolVar(&options.Keep, "keep", true, "leave everything running at the end")
	return cmd
}
