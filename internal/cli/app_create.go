// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/apply"
)

// appCreate is one call of app create.
type appCreate struct {
	*getSets
	component, kind string
	set, traits     []string
	batches         int32
	dryRun          string
}

func newAppCreate(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	c := &appCreate{getSets: &getSets{kind: appKind(), env: env, flags: flags, print: genericclioptions.NewPrintFlags("")}}
	cmd := &cobra.Command{
		Use:   "create NAME --type TYPE",
		Short: "Make an application of one component",
		Long: "Make an application of one component, which is deployed at once; by its batches when --num-batches is given. For more components write\n" +
			"a manifest: --dry-run -o yaml prints one to begin with. `def show TYPE` lists the properties of a type.\n\n" +
			"Values of --set and --trait are read as YAML: 3 is a number, true a truth, [8080] a list, and \"3\" a text.",
		Example: fmt.Sprintf(strings.Trim(`
  # Four pods that take new images in place, in batches
  %[1]s app create shop --type cloneset --set image=nginxinc/nginx-unprivileged:1.27 --trait scaler:replicas=4 --num-batches 2

  # The manifest of a service that is reached from outside
  %[1]s app create shop --type webservice --set image=nginxinc/nginx-unprivileged:1.27 --set port=8080 \
    --trait 'expose:port=[8080],type=NodePort' --dry-run -o yaml`, "\n"), env.Program),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.name = args[0]
			return c.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.kind, "type", "", "the type of the component: a ComponentDefinition")
	f.StringVar(&c.component, "component", "", "the name of the component (default: that of the application)")
	f.StringArrayVar(&c.set, "set", nil, "a property of the component, as name=value; may be repeated")
	f.StringArrayVar(&c.traits, "trait", nil, "a trait, as type or type:name=value; more properties follow commas; may be repeated")
	f.Int32Var(&c.batches, "num-batches", 0, "roll changes out in this many batches; 0 applies them at once")
	f.StringVar(&c.dryRun, "dry-run", "none", "none; client: write nothing, and ask no cluster")
	f.Lookup("dry-run").NoOptDefVal = "client"
	c.print.AddFlags(cmd)
	f.Lookup("output").Usage = "print the object, as one of: " + strings.Join(c.print.AllowedFormats(), ", ")
	return cmd
}

func (c *appCreate) run(ctx context.Context) error {
	switch {
	case c.kind == "":
		return errors.New("say what is made: --type TYPE")
	case c.dryRun != "none" && c.dryRun != "client":
		return fmt.Errorf("--dry-run %q is not known, only none and client", c.dryRun)
	case c.batches < 0:
		return errors.New("--num-batches cannot be negative")
	}
	app, err := c.manifest()
	if err != nil {
		return err
	}
	if c.dryRun == "none" {
		if err := c.connect(); err != nil {
			return err
		}
		app.Namespace = c.namespace
		switch err := apply.Make(ctx, c.client, app); {
		case apierrors.IsForbidden(err):
			return fmt.Errorf("%w\n%s needs create of %s", err, c.env.Program, c.getSets.kind.resource())
		case err != nil:
			return c.explain(err)
		}
	} else if n := *c.flags.Namespace; n != "" {
		app.Namespace = n
	}
	if *c.print.OutputFormat != "" {
		printer, err := c.print.ToPrinter()
		if err != nil {
			return err
		}
		app.TypeMeta = metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind}
		return printer.PrintObj(app, c.env.Streams.Out)
	}
	told := fmt.Sprintf("Application %s is made; `%s app get %s -w` follows it", c.key(), c.env.Program, c.name)
	if c.dryRun != "none" {
		told = fmt.Sprintf("Application %s would be made (dry run: nothing was changed)", c.name)
	}
	_, err = fmt.Fprintln(c.env.Streams.Out, told)
	return err
}

func (c *appCreate) manifest() (*oamv1beta1.Application, error) {
	component := oamv1beta1.ApplicationComponent{Name: c.component, Type: c.kind}
	if component.Name == "" {
		component.Name = c.name
	}
	var err error
	if component.Properties, err = propertiesOf("--set", c.set); err != nil {
		return nil, err
	}
	for _, text := range c.traits {
		kind, rest, _ := strings.Cut(text, ":")
		trait := oamv1beta1.ApplicationTrait{Type: kind}
		if trait.Properties, err = propertiesOf("--trait "+kind, pairs(rest)); err != nil {
			return nil, err
		}
		component.Traits = append(component.Traits, trait)
	}
	app := &oamv1beta1.Application{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Spec: oamv1beta1.ApplicationSpec{Components: []oamv1beta1.ApplicationComponent{component}}}
	if c.batches > 0 {
		app.Spec.RolloutPlan = &rolloutv1alpha1.RolloutPlan{NumBatches: &c.batches}
	}
	return app, nil
}

// pairs divides properties at the commas that stand outside of brackets and quotes.
func pairs(text string) []string {
	var all []string
	depth, quote, begin := 0, rune(0), 0
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			all, begin = append(all, text[begin:i]), i+1
		}
	}
	if begin < len(text) {
		all = append(all, text[begin:])
	}
	return all
}

// propertiesOf reads properties that are written as name=value. Dots in a name go deeper.
func propertiesOf(flag string, list []string) (*runtime.RawExtension, error) {
	if len(list) == 0 {
		return nil, nil
	}
	tree := map[string]any{}
	for _, pair := range list {
		name, text, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("%s %q is not written as name=value", flag, pair)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return nil, fmt.Errorf("%s %s: the value is no YAML: %w", flag, name, err)
		}
		at := tree
		path := strings.Split(name, ".")
		for _, step := range path[:len(path)-1] {
			next, is := at[step].(map[string]any)
			if !is {
				next = map[string]any{}
				at[step] = next
			}
			at = next
		}
		at[path[len(path)-1]] = value
	}
	raw, err := yaml.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	if raw, err = yaml.YAMLToJSON(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}
