// SPDX-License-Identifier: Apache-2.0

// Command slipway shows releases: which pod is on which revision, what it waits for, and what a manifest would do.
// Installed as kubectl-slipway it is also `kubectl slipway`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"slipway.dev/slipway/internal/application/worker"
	"slipway.dev/slipway/internal/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	if worker.IsAsked(os.Args) {
		os.Exit(worker.Main(clock.RealClock{}))
	}
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	quietLibraries()
	program, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error: finding the program itself, which renders in a process of its own:", err)
		return cli.ExitError
	}
	workers := worker.New(program, clock.RealClock{})
	defer workers.Close()
	root := cli.New(cli.Environment{
		Streams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Getenv:  os.Getenv,
		Clock:   clock.RealClock{},
		Version: version,
		Program: cli.Program(os.Args[0]),

		Renderer: workers,
	})
	err = root.ExecuteContext(ctx)
	if err != nil && !cli.IsTold(err) {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	return cli.ExitStatus(err)
}

// quietLibraries keeps the log lines of client libraries out of the view; what matters comes back as errors.
func quietLibraries() {
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())
}
