// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/applications"
	"slipway.dev/slipway/internal/cli/tree"
)

func appKind() shownKind {
	return shownKind{shown: applications.Kind(), command: "app", plural: "applications", short: []string{"application"},
		pause: []string{"rolloutPlan", "paused"}, shows: "components", each: "every component"}
}

// appGet is the kind where no kind has to be named.
func appGet() shownKind {
	kind := appKind()
	kind.command, kind.plural, kind.short = "get", "list", nil
	return kind
}

// revisions are those of an application, the newest first. Those of others that carry its name are left out.
func (g *getSets) revisions(ctx context.Context, app *oamv1beta1.Application) ([]*oamv1beta1.ApplicationRevision, error) {
	list := &oamv1beta1.ApplicationRevisionList{}
	if err := g.client.List(ctx, list, client.InNamespace(g.namespace), client.MatchingLabels{oamv1beta1.LabelAppName: app.Name}); err != nil {
		return nil, fmt.Errorf("listing revisions: %w", err)
	}
	var own []*oamv1beta1.ApplicationRevision
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], app) {
			own = append(own, &list.Items[i])
		}
	}
	applications.Sort(own)
	return own, nil
}

// application reads the one that is named, with its revisions.
func (g *getSets) application(ctx context.Context) (*oamv1beta1.Application, []*oamv1beta1.ApplicationRevision, error) {
	app := &oamv1beta1.Application{}
	if err := g.client.Get(ctx, g.key(), app); err != nil {
		return nil, nil, err
	}
	own, err := g.revisions(ctx, app)
	return app, own, err
}

func newAppHistory(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	g := &getSets{kind: appKind(), env: env, flags: flags, print: genericclioptions.NewPrintFlags("")}
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the revisions of an application",
		Long: "List the revisions of an application, the newest first, with the revisions of its components and their images. A revision with the\n" +
			"content of an earlier one says so: that is how an application goes back.",
		Example:           fmt.Sprintf("  %s app history shop", env.Program),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: g.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			g.name = args[0]
			if err := g.connect(); err != nil {
				return err
			}
			return g.explain(g.appHistory(cmd.Context()))
		},
	}
	cmd.Flags().BoolVar(&g.ascii, "ascii", false, "use ASCII characters only")
	return cmd
}

func (g *getSets) appHistory(ctx context.Context) error {
	app, own, err := g.application(ctx)
	if err != nil {
		return err
	}
	terminal := g.env.terminal(g.ascii)
	width, _ := terminal.Size()
	options := tree.Options{Width: width, ASCII: terminal.ASCII, Color: terminal.Color}
	return writeLines(g.env.Streams.Out, tree.Render(applications.History(app, own, g.env.Clock.Now()), options))
}

// appDiff is one call of app diff.
type appDiff struct {
	*getSets
	from, to int64
}

func newAppDiff(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	d := &appDiff{getSets: &getSets{kind: appKind(), env: env, flags: flags, print: genericclioptions.NewPrintFlags("")}}
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what differs between two revisions of an application",
		Long: "Show what differs between the objects of two revisions of an application: without flags, between the newest and the newest one that\n" +
			"has another content. Labels that name the revision itself are left out. It ends with status 0 whether or not something differs.",
		Example:           fmt.Sprintf("  # What has the last change done?\n  %[1]s app diff shop\n\n  # What would an undo to revision 3 change?\n  %[1]s app diff shop --to 3", env.Program),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.name = args[0]
			if d.from < 0 || d.to < 0 {
				return errors.New("--from and --to are numbers of revisions, from 1")
			}
			if err := d.connect(); err != nil {
				return err
			}
			return d.explain(d.run(cmd.Context()))
		},
	}
	cmd.Flags().Int64Var(&d.from, "from", 0, "the number of the revision that is compared; 0 is the one that was before, or the newest when --to is given")
	cmd.Flags().Int64Var(&d.to, "to", 0, "the number of the revision that it is compared with; 0 is the newest")
	return cmd
}

func (d *appDiff) run(ctx context.Context) error {
	_, own, err := d.application(ctx)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return fmt.Errorf("application %s has no revision yet", d.key())
	}
	to := own[0]
	if d.to != 0 {
		if to, err = numbered(own, d.to); err != nil {
			return err
		}
	}
	var from *oamv1beta1.ApplicationRevision
	switch {
	case d.from != 0:
		from, err = numbered(own, d.from)
	case d.to != 0:
		from = own[0]
	default:
		from, err = differing(own)
	}
	if err != nil {
		return err
	}
	before, err := applications.Text(from)
	if err != nil {
		return err
	}
	after, err := applications.Text(to)
	if err != nil {
		return err
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(before), B: difflib.SplitLines(after), FromFile: from.Name, ToFile: to.Name, Context: 3,
	})
	if err != nil {
		return fmt.Errorf("comparing %s with %s: %w", from.Name, to.Name, err)
	}
	if text == "" {
		text = fmt.Sprintf("%s and %s deploy the same objects\n", from.Name, to.Name)
	}
	_, err = fmt.Fprint(d.env.Streams.Out, text)
	return err
}

// numbered finds a revision by its number.
func numbered(own []*oamv1beta1.ApplicationRevision, number int64) (*oamv1beta1.ApplicationRevision, error) {
	var known []string
	for _, r := range own {
		if r.Spec.Revision == number {
			return r, nil
		}
		known = append(known, fmt.Sprint(r.Spec.Revision))
	}
	return nil, fmt.Errorf("there is no revision %d, only: %s", number, strings.Join(known, ", "))
}

// differing is the newest revision that has another content than the newest of all.
func differing(own []*oamv1beta1.ApplicationRevision) (*oamv1beta1.ApplicationRevision, error) {
	for _, r := range own[1:] {
		if r.Labels[oamv1beta1.LabelAppRevisionHash] != own[0].Labels[oamv1beta1.LabelAppRevisionHash] {
			return r, nil
		}
	}
	return nil, errors.New("there is no earlier revision that differs")
}

func newAppUndo(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	to := int64(0)
	cmd := newEdit(env, flags, &cobra.Command{
		Use:   "undo NAME",
		Short: "Go back to an earlier revision",
		Long: "Write the components of an earlier revision back into the application. The controller deploys them like any other change: in batches,\n" +
			"when the application has a rolloutPlan, also in the middle of a rollout. The plan itself stays as it is.\n\n" +
			"Definitions are not brought back: a definition that has changed since makes another revision of the same components.",
		Example: fmt.Sprintf("  # To the newest revision that differs\n  %[1]s app undo shop\n\n  # To revision 3\n  %[1]s app undo shop --to-revision 3", env.Program),
	}, []shownKind{appKind()}, func(ctx context.Context, e *edit) error { return undoApp(ctx, e, to) })
	cmd.Flags().Int64Var(&to, "to-revision", 0, "the number of the revision; 0 is the newest that differs")
	return cmd
}

func undoApp(ctx context.Context, e *edit, to int64) error {
	if to < 0 {
		return errors.New("--to-revision cannot be negative")
	}
	before, err := e.read(ctx)
	if err != nil {
		return err
	}
	_, own, err := e.application(ctx)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return fmt.Errorf("application %s has no revision yet", e.key())
	}
	chosen, err := differing(own)
	if to != 0 {
		chosen, err = numbered(own, to)
	}
	if err != nil {
		return err
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&chosen.Spec.Application.Spec)
	if err != nil {
		return fmt.Errorf("reading ApplicationRevision %s: %w", chosen.Name, err)
	}
	after := before.DeepCopy()
	if err := unstructured.SetNestedField(after.Object, tree["components"], "spec", "components"); err != nil {
		return fmt.Errorf("writing the components of %s: %w", chosen.Name, err)
	}
	return e.write(ctx, before, after, fmt.Sprintf("has the components of %s again", chosen.Name))
}
