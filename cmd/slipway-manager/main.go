// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"slipway.dev/slipway/internal/application/worker"
)

func main() {
	if worker.IsAsked(os.Args) {
		os.Exit(worker.Main(clock.RealClock{}))
	}
	leanHeap()
	if err := newCommand().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "slipway-manager:", err)
		os.Exit(1)
	}
}

// leanHeap has garbage collected when the heap has grown by half, and not when it has doubled: the heap is mostly the
// cache, which lives long, and a manager that waits for events has the time. $GOGC overrides it.
func leanHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// newCommand is the program as a command. It runs until its context ends or the lease is lost.
func newCommand() *cobra.Command {
	o := defaultOptions()
	command := &cobra.Command{
		Use:   "slipway-manager",
		Short: "Run Slipway's controllers",
		Long: `Run Slipway's controllers against one cluster until a signal ends it.

Two or more may run: one leads, and another takes over when the leader ends.`,
		Args:          cobra.NoArgs,
		Version:       currentVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			enabled, err := o.complete()
			if err != nil {
				return err
			}
			logger := o.newLogger(command.ErrOrStderr())
			ctrl.SetLogger(logger)
			klog.SetLogger(logger)
			return run(command.Context(), o, enabled, logger)
		},
	}
	o.addFlags(command.Flags())
	return command
}
