// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli/cafes"
	"slipway.dev/slipway/internal/cli/clonesets"
	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/inplacesets"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/statefulsets"
	"slipway.dev/slipway/internal/cli/tree"
)

func newGet(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	get := &cobra.Command{
		Use:   "get",
		Short: "Show workloads, their revisions and their pods",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, k := range append(shownKinds(), rolloutKind(), traitKind(), appRolloutKind(), appKind()) {
		get.AddCommand(newGetSets(env, flags, k, "get"))
	}
	return get
}

// shown is a kind of sets that can be shown; sets.Kind is one.
type shown interface {
	Name() string
	GroupVersionKind() schema.GroupVersionKind
	Reads() []string
	Look(ctx context.Context, c client.Reader, key types.NamespacedName, now time.Time) (sets.View, error)
	List(ctx context.Context, c client.Reader, now time.Time, options ...client.ListOption) ([]sets.View, error)
	Watch(ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal) (sets.Source, error)
	Table(views []sets.View, namespaces, wide bool) ([]tree.Column, []tree.Node)
	WatchAll(ctx context.Context, c client.WithWatch, options feed.Options, changed feed.Signal) (func(time.Time) []sets.View, func() error, error)
}

// shownKind is a kind with the words that it is asked for by.
type shownKind struct {
	shown
	// command is the name of its command, plural that of its resource, and short are further names.
	command, plural string
	short           []string
	// pause is the path of the field, below spec, that holds a release up.
	pause []string
	// ofApplication: the name is that of an application, and meant is the rollout that it writes.
	ofApplication bool
	// shows is what one of it is shown with, and each what --show-all shows; empty for revisions and pods.
	shows, each string
}

// resource is the full name of the resource.
func (k shownKind) resource() string {
	if k.isEither() {
		return traitKind().resource() // and what it reads besides
	}
	return k.plural + "." + k.GroupVersionKind().Group
}

func cloneSetKind() shownKind {
	return shownKind{shown: clonesets.Kind(), command: "cloneset", plural: "clonesets", short: []string{"clone"},
		pause: []string{"updateStrategy", "paused"}}
}

func shownKinds() []shownKind {
	return []shownKind{
		cloneSetKind(),
		{shown: statefulsets.Kind(), command: "statefulset", plural: "statefulsets", short: []string{"sts", "asts"},
			pause: []string{"updateStrategy", "rollingUpdate", "paused"}},
		{shown: inplacesets.Kind(), command: "inplaceset", plural: "inplacesets", short: []string{"ips"},
			pause: []string{"strategy", "paused"}},
		cafeKind(),
	}
}

func cafeKind() shownKind {
	return shownKind{shown: cafes.Kind{}, command: "cafe", plural: "cafedeployments", short: []string{"cafedeployment"},
		pause: []string{"strategy", "pause"}}
}

// getSets is one call of `get cloneset`, or of the same for another kind.
type getSets struct {
	kind  shownKind
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

// newGetSets makes the command that shows a kind. Before is what stands in front of it on the command line.
func newGetSets(env Environment, flags *genericclioptions.ConfigFlags, kind shownKind, before string) *cobra.Command {
	g := &getSets{kind: kind, env: env, flags: flags, print: genericclioptions.NewPrintFlags("")}
	cmd := &cobra.Command{
		Use:     kind.command + " [NAME]",
		Aliases: kind.aliases(),
		Short:   fmt.Sprintf("Show one %s with its %s, or a table of all", kind.Name(), cmp.Or(kind.shows, "revisions and pods")),
		Example: fmt.Sprintf(strings.Trim(`
  # One, its %[3]s, and what it waits for
  %[1]s web

  # The same, kept up to date until ctrl-c
  %[1]s web -w

  # Wait for a release: ends with status 0 when it is complete, with 1 after ten minutes
  %[1]s web --until-settled --timeout 10m

  # All of all namespaces
  %[1]s -A`, "\n"), env.Program+" "+before+" "+kind.command, kind.command, cmp.Or(kind.shows, "revisions, its pods")),
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

func (g *getSets) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&g.all, "all-namespaces", "A", false, "look in all namespaces")
	f.StringVarP(&g.selector, "selector", "l", "", "only sets whose labels match, like -l app=web")
	f.BoolVarP(&g.watch, "watch", "w", false, "keep the view up to date; without a terminal, print what changes")
	f.BoolVar(&g.untilSettled, "until-settled", false, "watch until the release is complete")
	f.DurationVar(&g.timeout, "timeout", 0, "with --until-settled: give up after this time, with status 1; 0 never does")
	f.BoolVar(&g.showAll, "show-all", false, fmt.Sprintf("show %s, also when there are more than %d", cmp.Or(g.kind.each, "every pod of a revision"), sets.FoldAfter))
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
func (g *getSets) prepare(args []string) (err error) {
	if len(args) > 0 {
		if g.name = args[0]; g.kind.isEither() {
			if err := g.readRollout(args[0]); err != nil {
				return err
			}
		}
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

func (g *getSets) connect() (err error) {
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
func (g *getSets) structured() bool { return *g.print.OutputFormat != "" && !g.wide }

func (g *getSets) run(ctx context.Context) error {
	if g.name != "" {
		if err := g.resolve(ctx); err != nil {
			return g.explain(err)
		}
	}
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

func (g *getSets) key() types.NamespacedName {
	return types.NamespacedName{Namespace: g.namespace, Name: g.name}
}

func (g *getSets) list(ctx context.Context) ([]sets.View, error) {
	return g.kind.List(ctx, g.client, g.env.Clock.Now(), client.InNamespace(g.namespace), client.MatchingLabelsSelector{Selector: g.labels})
}

// complete suggests the names of sets to the shell.
func (g *getSets) complete(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || g.prepare(nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := g.list(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, v := range list {
		if strings.HasPrefix(v.Name, begun) {
			names = append(names, v.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
