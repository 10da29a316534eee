// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli/live"
)

// Environment is all that the commands take from outside.
type Environment struct {
	Streams genericiooptions.IOStreams
	// Getenv reads an environment variable (os.Getenv).
	Getenv func(string) string
	Clock  clock.WithTicker
	// Version of the program.
	Version string
	// Program is the name that it was called by, for examples in texts: slipway or kubectl slipway.
	Program string
	// Connect reaches the cluster that the flags name. Nil means Connect of this package.
	Connect func(flags *genericclioptions.ConfigFlags, userAgent string) (client.WithWatch, error)
	// OffersResize asks that cluster whether it can change the resources of living pods. Nil means OffersResize of this
	// package.
	OffersResize func(flags *genericclioptions.ConfigFlags, userAgent string) (bool, error)
	// Renderer evaluates the templates of definitions. Nil means here, without limits of time and memory.
	Renderer Renderer
}

// Program is the name to show for the path that a program was started by: as kubectl-slipway
// it is a plugin of kubectl.
func Program(path string) string {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if strings.HasPrefix(name, "kubectl-") {
		return "kubectl slipway"
	}
	return "slipway"
}

// New makes the root command. Errors are for the caller to print.
func New(env Environment) *cobra.Command {
	if env.Connect == nil {
		env.Connect = Connect
	}
	if env.OffersResize == nil {
		env.OffersResize = OffersResize
	}
	if env.Renderer == nil {
		env.Renderer = direct{}
	}
	flags := genericclioptions.NewConfigFlags(true)
	root := &cobra.Command{
		Use:   "slipway",
		Short: "Look at releases that Slipway carries out, plan them, and decide how they go on",
		Long: "Look at releases that Slipway carries out: how far one is, which pod is where, and what it waits for.\n\n" +
			"confirm, pause, resume and undo change the one object that they name, and so do those of rollout; everything else only\n" +
			"reads. The usual flags of kubectl choose the cluster.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: env.Program},
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(env.Streams.In)
	root.SetOut(env.Streams.Out)
	root.SetErr(env.Streams.ErrOut)
	flags.AddFlags(root.PersistentFlags())
	root.AddCommand(newGet(env, flags), newPlan(env, flags), newConfirm(env, flags), newPause(env, flags), newResume(env, flags),
		newUndo(env, flags), newRollout(env, flags),
		newApp(env, flags), newDef(env, flags), newVersion(env))
	return root
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	return fmt.Errorf("%s does not know %q, only: %s", cmd.CommandPath(), args[0], strings.Join(known, ", "))
}

func newVersion(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "slipway %s (%s, %s/%s)\n", env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

func (e Environment) terminal(ascii bool) live.Terminal {
	t := live.Detect(e.Streams.Out, e.Getenv)
	t.ASCII = t.ASCII || ascii
	return t
}
