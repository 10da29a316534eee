// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	o := defaultOptions()
	command := &cobra.Command{
		Use:           "bench",
		Short:         "Measure what releases cost",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if err := o.absolute(); err != nil {
				return err
			}
			ctrl.SetLogger(logr.Discard()) // the clients' own remarks would stand between the lines of progress
			klog.SetLogger(logr.Discard())
			return runAll(command.Context(), o, command.ErrOrStderr(), command.OutOrStdout())
		},
	}
	o.addFlags(command.Flags())
	return command
}

// errFailed says that the bench ran to its end, and that there are scenarios without figures.
var errFailed = errors.New("not every scenario could be measured: see the errors in the table")
