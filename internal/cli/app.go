// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/definition"
	"slipway.dev/slipway/internal/application/render"
	manifests "slipway.dev/slipway/internal/cli/manifest"
	"slipway.dev/slipway/internal/cli/tree"
)

func newApp(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "app",
		Aliases: []string{"application"},
		Short:   "Work with applications",
		Args:    noSuchCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAppCreate(env, flags), newGetSets(env, flags, appGet(), "app"), newAppHistory(env, flags), newAppDiff(env, flags),
		newAppUndo(env, flags), newRender(env, flags))
	return cmd
}

// rendering is one call of app render.
type rendering struct {
	env         Environment
	files       []string
	directories []string
	namespace   *string
	revision    int64
}

func newRender(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	r := rendering{env: env, namespace: flags.Namespace}
	cmd := &cobra.Command{
		Use:   "render -f FILE",
		Short: "Print the objects that an application is made of, without a cluster",
		Long: "Print the objects that an application is made of, and ask no cluster: the definitions are those that Slipway ships, those in\n" +
			"--definitions, and those in the files themselves; of two with the same name the later one counts. Objects of other kinds are passed over.\n\n" +
			"The objects are those of a first release; --revision gives them the names of a later one. What a rollout adds, such as the name of a\n" +
			"Deployment for each revision, is not in them.",
		Example: fmt.Sprintf("  %[1]s app render -f shop.yaml\n\n  %[1]s app render -f shop.yaml --definitions definitions/ | kubectl diff -f -", env.Program),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case len(r.files) == 0:
				return errors.New("give the manifest to render: -f FILE")
			case r.revision < 1:
				return errors.New("--revision is 1 or more")
			}
			return r.run(cmd.Context())
		},
	}
	cmd.Flags().StringArrayVarP(&r.files, "filename", "f", nil, "a manifest; - reads standard input; may be repeated")
	cmd.Flags().StringArrayVar(&r.directories, "definitions", nil, "a directory with definitions, in CUE or as manifests; may be repeated")
	cmd.Flags().Int64Var(&r.revision, "revision", 1, "the number of the revisions in names and labels")
	return cmd
}

func (r *rendering) run(ctx context.Context) error {
	all, err := known(r.directories)
	if err != nil {
		return err
	}
	var applications []*oamv1beta1.Application
	for _, file := range r.files {
		text, err := r.env.read(file)
		if err != nil {
			return err
		}
		read, more, err := applicationsIn(file, text)
		if err != nil {
			return err
		}
		applications, all = append(applications, read...), append(all, more...)
	}
	if len(applications) == 0 {
		return fmt.Errorf("%s: holds no Application", r.files[0])
	}
	var definitions []definition.Definition
	for _, d := range all {
		definitions = append(definitions, d.Definition)
	}
	byName := definition.ByName(definitions)
	byName.Where = "the shipped definitions, --definitions and the manifest"
	for _, app := range applications {
		if err := r.application(ctx, app, byName); err != nil {
			return err
		}
	}
	return nil
}

func applicationsIn(file string, text []byte) ([]*oamv1beta1.Application, []found, error) {
	var applications []*oamv1beta1.Application
	err := manifests.Each(file, bytes.NewReader(text), func(kind metav1.TypeMeta, where string, raw []byte) error {
		if kind.Kind != oamv1beta1.ApplicationKind || kind.APIVersion != oamv1beta1.GroupVersion.String() {
			return nil
		}
		app := &oamv1beta1.Application{}
		if err := manifests.Decode(raw, app, oamv1beta1.AddToScheme); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		applications = append(applications, app)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	definitions, err := definitionsIn(file, bytes.NewReader(text))
	return applications, definitions, err
}

// application prints the objects of one application when all of its components render, and else says what is wrong with each.
func (r *rendering) application(ctx context.Context, app *oamv1beta1.Application, definitions render.Definitions) error {
	var wrong []error
	var out bytes.Buffer
	var warnings []string
	for _, component := range app.Spec.Components {
		result, err := r.component(ctx, app, component, definitions)
		if problems := render.ProblemsOf(err); len(problems) > 0 {
			for _, p := range problems {
				wrong = append(wrong, p)
			}
			continue
		}
		if err != nil {
			return err
		}
		warnings = append(warnings, result.Warnings...)
		objects := []map[string]any{result.Workload}
		for _, e := range result.Extras {
			objects = append(objects, e.Object)
		}
		for _, object := range objects {
			text, err := yaml.Marshal(object)
			if err != nil {
				return fmt.Errorf("printing component %q: %w", component.Name, err)
			}
			out.WriteString("---\n")
			out.Write(text)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("application %q cannot be rendered:\n%w", app.Name, errors.Join(wrong...))
	}
	for _, warning := range warnings {
		if _, err := fmt.Fprintln(r.env.Streams.ErrOut, tree.Clean("warning: "+warning)); err != nil {
			return err
		}
	}
	_, err := out.WriteTo(r.env.Streams.Out)
	return err
}

func (r *rendering) component(ctx context.Context, app *oamv1beta1.Application, component oamv1beta1.ApplicationComponent, definitions render.Definitions) (render.Result, error) {
	namespace := "default"
	if app.Namespace != "" {
		namespace = app.Namespace
	}
	if *r.namespace != "" {
		namespace = *r.namespace
	}
	request, err := render.NewRequest(component, definitions, render.Context{
		Name: component.Name, AppName: app.Name, Namespace: namespace,
		AppRevision: fmt.Sprintf("%s-v%d", app.Name, r.revision), AppRevisionNum: r.revision, Revision: fmt.Sprintf("%s-v%d", component.Name, r.revision),
	})
	if err != nil {
		return render.Result{}, err
	}
	result, err := r.env.Renderer.Render(ctx, request)
	if err != nil {
		return render.Result{}, err
	}
	return render.Dress(request, result, render.ScopeWithoutCluster)
}
