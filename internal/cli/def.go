// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/definition"
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/internal/cli/tree"
)

func newDef(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "def",
		Short: "Look at the definitions that applications are made of, and check them",
		Long:  "Look at the definitions that applications are made of, and check them. No cluster is asked.",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newVet(env), newDefShow(env), newDefRender(env, flags))
	return cmd
}

func newDefRender(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "render FILE...",
		Short: "Print definitions as manifests, to be applied",
		Long: "Print definitions as manifests, to be applied. A file in CUE holds one definition: a head of plain values under its name, and the\n" +
			"template. What the head includes is read from the directory include beside the file.\n\n" +
			"--namespace is written into the manifests. Whether the templates are right is said by def vet.",
		Example: fmt.Sprintf("  %[1]s def vet webshop.cue && %[1]s def render webshop.cue -n slipway-system | kubectl apply -f -", env.Program),
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var all []definition.Definition
			for _, file := range args {
				read, err := definitionsAt(env, file)
				if err != nil {
					return err
				}
				for _, d := range read {
					all = append(all, d.Definition)
				}
			}
			text, err := definition.Manifests(all, *flags.Namespace)
			if err != nil {
				return err
			}
			_, err = env.Streams.Out.Write(text)
			return err
		},
	}
}

// definitionsAt are those of a file, which has to hold one at least.
func definitionsAt(env Environment, file string) ([]found, error) {
	text, err := env.read(file)
	if err != nil {
		return nil, err
	}
	all, err := definitionsIn(file, bytes.NewReader(text))
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: holds neither a ComponentDefinition nor a TraitDefinition", file)
	}
	return all, err
}

func newVet(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "vet FILE...",
		Short: "Check definitions before anybody uses them",
		Long: "Check ComponentDefinitions and TraitDefinitions, in CUE or as manifests, and ask no cluster: templates that are no CUE, that reach\n" +
			"outside or do not end, that give no workload or another one than they say. A template is rendered with properties that are made\n" +
			"up, where its parameters leave a choice.\n\n" +
			"The exit status is 0 when nothing is wrong, and 1 otherwise.",
		Example: fmt.Sprintf("  %[1]s def vet webshop.cue\n\n  kubectl get componentdefinitions -A -o yaml | %[1]s def vet -", env.Program),
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wrong := 0
			for _, file := range args {
				n, err := vet(cmd.Context(), env, file)
				if err != nil {
					return err
				}
				wrong += n
			}
			if wrong > 0 {
				return Told{ExitError, fmt.Sprintf("%d things are wrong", wrong)}
			}
			return nil
		},
	}
}

// vet checks the definitions of a file, and gives how many things are wrong with them.
func vet(ctx context.Context, env Environment, file string) (int, error) {
	text, err := env.read(file)
	if err != nil {
		return 0, err
	}
	all, err := definitionsIn(file, bytes.NewReader(text))
	if err != nil {
		return 1, writeLines(env.Streams.Out, []string{tree.Clean("wrong  " + err.Error())})
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("%s: holds neither a ComponentDefinition nor a TraitDefinition", file)
	}
	wrong := 0
	for _, d := range all {
		lines := []string{"ok     " + d.where}
		described, err := env.Renderer.Describe(ctx, d.Rendered())
		problems := render.ProblemsOf(err)
		switch {
		case len(problems) > 0:
			lines = nil
			for _, p := range problems {
				lines = append(lines, fmt.Sprintf("wrong  %s: %s: %s", d.where, p.Field, p.Message))
			}
		case err != nil:
			return wrong, err
		case !described.Tried:
			lines[0] += ": not rendered, since its properties cannot be made up; give some by app render --definitions"
		}
		wrong += len(problems)
		for i := range lines {
			lines[i] = tree.Clean(lines[i])
		}
		if err := writeLines(env.Streams.Out, lines); err != nil {
			return wrong, err
		}
	}
	return wrong, nil
}

func newDefShow(env Environment) *cobra.Command {
	var directories []string
	ascii := false
	cmd := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Show what a definition makes, and its parameters",
		Long: "Show what a definition makes, and its parameters: their types, their values where none is given, and what they are for. A name is\n" +
			"that of a definition that Slipway ships, or of one in --definitions.",
		Example: fmt.Sprintf("  %[1]s def show webservice\n\n  %[1]s def show webshop.cue", env.Program),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := definitionsNamed(env, args[0], directories)
			if err != nil {
				return err
			}
			for i, d := range all {
				if i > 0 {
					if err := writeLines(env.Streams.Out, []string{""}); err != nil {
						return err
					}
				}
				if err := showDefinition(cmd.Context(), env, d, ascii); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&directories, "definitions", nil, "a directory with definitions, in CUE or as manifests; may be repeated")
	cmd.Flags().BoolVar(&ascii, "ascii", false, "use ASCII characters only")
	return cmd
}

// definitionsNamed are those of a file, or those of a name.
func definitionsNamed(env Environment, name string, directories []string) ([]found, error) {
	if _, err := os.Stat(name); name == "-" || err == nil && strings.ContainsAny(name, "./") {
		return definitionsAt(env, name)
	}
	all, err := known(directories)
	if err != nil {
		return nil, err
	}
	var names []string
	var last []found
	for _, d := range all {
		names = append(names, d.Name())
		if d.Name() == name {
			last = []found{d} // of two with the same name the later one counts
		}
	}
	if last == nil {
		slices.Sort(names)
		return nil, fmt.Errorf("there is no definition %q, and no such file; known are %s", name, strings.Join(slices.Compact(names), ", "))
	}
	return last, nil
}

func showDefinition(ctx context.Context, env Environment, d found, ascii bool) error {
	described, err := env.Renderer.Describe(ctx, d.Rendered())
	if err != nil {
		return fmt.Errorf("%s: %w", d.where, err)
	}
	document := tree.Document{
		Head: []tree.Span{{Text: d.Name()}},
		Facts: []tree.Fact{
			{Name: "kind", Value: []tree.Span{{Text: kindOf(d)}}},
			{Name: "from", Value: []tree.Span{{Text: tree.Clean(d.where)}}},
		},
	}
	if about := annotationsOf(d)[oamv1beta1.AnnotationDescription]; about != "" {
		document.Facts = append(document.Facts, tree.Fact{Name: "about", Value: []tree.Span{{Text: tree.Clean(about)}}})
	}
	terminal := env.terminal(ascii)
	width, _ := terminal.Size()
	options := tree.Options{Width: width, ASCII: terminal.ASCII, Color: terminal.Color}
	lines := tree.Render(document, options)
	if len(described.Parameters) == 0 {
		return writeLines(env.Streams.Out, append(lines, "", "It takes no properties."))
	}
	columns := []tree.Column{{Title: "PROPERTY"}, {Title: "TYPE"}, {Title: "DEFAULT"}, {Title: "MEANING"}}
	var rows []tree.Node
	for _, p := range described.Parameters {
		standard := p.Default
		if p.Required {
			standard = "(required)"
		}
		var cells []tree.Span
		for _, text := range []string{p.Name, p.Type, standard, p.Doc} {
			cells = append(cells, tree.Span{Text: tree.Clean(text)})
		}
		rows = append(rows, tree.Node{Cells: cells})
	}
	return writeLines(env.Streams.Out, append(append(lines, ""), tree.Table(columns, rows, options)...))
}

func annotationsOf(d found) map[string]string {
	if d.Component != nil {
		return d.Component.Annotations
	}
	return d.Trait.Annotations
}

// kindOf says what a definition makes, or what it goes with.
func kindOf(d found) string {
	if d.Component != nil {
		workload := d.Component.Spec.Workload.Definition
		return fmt.Sprintf("component: %s of %s", workload.Kind, workload.APIVersion)
	}
	text := "trait: all workloads"
	if to := d.Trait.Spec.AppliesToWorkloads; len(to) > 0 {
		text = "trait: " + strings.Join(to, ", ")
	}
	if not := d.Trait.Spec.ConflictsWith; len(not) > 0 {
		text += "; not with " + strings.Join(not, ", ")
	}
	if d.Trait.Spec.PodDisruptive {
		text += "; changes pods"
	}
	return tree.Clean(text)
}
