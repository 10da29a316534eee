// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cli/clonesets"
)

func newGet(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	get := &cobra.Command{
		Use:   "get",
		Short: "Show workloads, their revisions and their pods",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	get.AddCommand(newGetCloneSet(env, flags))
	return get
}

// getCloneSet is one call of `get cloneset`.
type getCloneSet struct {
	env   Environment
	flags *genericclioptions.ConfigFlags
	print *genericclioptions.PrintFlags

	all, watch, untilSettled, ascii, showAll bool
	selector                                 string
	timeout                                  time.Duration

	// Filled by complete.
	name, namespace string
	labels          labels.Selector
	wide            bool
	client          client.WithWatch
}

func newGetCloneSet(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	g := &getCloneSet{env: env, flags: flags, print: genericclioptions.NewPrintFlags("")}
	cmd := &cobra.Command{
		Use:     "cloneset [NAME]",
		Aliases: []string{"clonesets", "clone", "clonesets.apps.kruise.io"},
		Short:   "Show one CloneSet with its revisions and pods, or a table of all",
		Example: fmt.Sprintf(strings.Trim(`
  # A set, its revisions, its pods, and what they wait for
  %[1]s get cloneset web

  # The same, kept up to date until ctrl-c
  %[1]s get cloneset web -w

  # Wait for a release: ends with status 0 when it is complete, with 1 after ten minutes
  %[1]s get cloneset web --until-settled --timeout 10m

  # All sets of all namespaces
  %[1]s get cloneset -A`, "\n"), env.Program),
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: g.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.prepare(args); err != nil {
				return err
			}
			return g.run(cmd.Context())
		},
	}
	g.addFlags(cmd)
	return cmd
}

func (g *getCloneSet) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&g.all, "all-namespaces", "A", false, "look in all namespaces")
	f.StringVarP(&g.selector, "selector", "l", "", "only sets whose labels match, like -l app=web")
	f.BoolVarP(&g.watch, "watch", "w", false, "keep the view up to date; without a terminal, print what changes")
	f.BoolVar(&g.untilSettled, "until-settled", false, "watch until the release is complete")
	f.DurationVar(&g.timeout, "timeout", 0, "with --until-settled: give up after this time, with status 1; 0 never does")
	f.BoolVar(&g.showAll, "show-all", false, fmt.Sprintf("show every pod, also when a revision has more than %d", clonesets.FoldAfter))
	f.BoolVar(&g.ascii, "ascii", false, "use ASCII characters only")
	g.print.AddFlags(cmd)
	output := f.Lookup("output")
	output.Usage = "wide, or one of: " + strings.Join(g.print.AllowedFormats(), ", ")
	// The flag is ours and cobra knows it; registering twice is the only way that this fails.
	_ = cmd.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return append([]string{"wide"}, g.print.AllowedFormats()...), cobra.ShellCompDirectiveNoFileComp
	})
}

// prepare checks that the flags fit together before the cluster is asked for anything.
func (g *getCloneSet) prepare(args []string) (err error) {
	if len(args) > 0 {
		g.name = args[0]
	}
	output := *g.print.OutputFormat
	g.wide = output == "wide"
	switch {
	case g.name != "" && g.all:
		return errors.New("a set is looked for by name in one namespace: use either NAME or -A")
	case g.name != "" && g.selector != "":
		return errors.New("use either NAME or -l")
	case g.untilSettled && g.name == "":
		return errors.New("--until-settled needs the NAME of a set")
	case g.timeout != 0 && !g.untilSettled:
		return errors.New("--timeout goes with --until-settled")
	case g.timeout < 0:
		return errors.New("--timeout cannot be negative")
	case g.structured() && (g.watch || g.untilSettled):
		return fmt.Errorf("-o %s prints once: it does not go with -w or --until-settled", output)
	}
	if g.labels, err = labels.Parse(g.selector); err != nil {
		return fmt.Errorf("reading -l: %w", err)
	}
	if g.structured() {
		if _, err := g.print.ToPrinter(); err != nil {
			return err
		}
	}
	return g.connect()
}

func (g *getCloneSet) connect() (err error) {
	if err := g.configured(); err != nil {
		return err
	}
	if g.namespace, _, err = g.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
		return g.explain(err)
	}
	if g.all {
		g.namespace = ""
	}
	g.client, err = g.env.Connect(g.flags, userAgent(g.env))
	return g.explain(err)
}

// structured says that the output is for programs.
func (g *getCloneSet) structured() bool { return *g.print.OutputFormat != "" && !g.wide }

func (g *getCloneSet) run(ctx context.Context) error {
	var err error
	switch {
	case g.structured():
		err = g.printObjects(ctx)
	case g.name == "" && g.watch:
		err = g.followTable(ctx)
	case g.name == "":
		err = g.showTable(ctx)
	case g.watch || g.untilSettled:
		err = g.followOne(ctx)
	default:
		err = g.showOne(ctx)
	}
	return g.explain(err)
}

func (g *getCloneSet) key() types.NamespacedName {
	return types.NamespacedName{Namespace: g.namespace, Name: g.name}
}

func (g *getCloneSet) list(ctx context.Context) (*kruisev1alpha1.CloneSetList, error) {
	list := &kruisev1alpha1.CloneSetList{}
	err := g.client.List(ctx, list, client.InNamespace(g.namespace), client.MatchingLabelsSelector{Selector: g.labels})
	return list, err
}

// complete suggests the names of sets to the shell.
func (g *getCloneSet) complete(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || g.prepare(nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := g.list(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, begun) {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
