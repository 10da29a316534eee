// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/apply"
)

// edit is one call of a command that changes one object.
type edit struct {
	*getSets
	dryRun bool
	// first is the object as it was first read, and refusal why it could not be written then.
	first   *unstructured.Unstructured
	refusal error
	// of is the application that writes a rollout; nil when people do.
	of *edit
}

// attempts is how often a change is tried that a controller's writes of the status come before.
const attempts = 10

// newEdit makes such a command. Without a kind in front, a name is that of the only kind, or of a CafeDeployment.
func newEdit(env Environment, flags *genericclioptions.ConfigFlags, cmd *cobra.Command, kinds []shownKind, run func(context.Context, *edit) error) *cobra.Command {
	bare := cafeKind()
	if len(kinds) == 1 {
		bare = kinds[0]
	}
	return newEditOf(env, flags, cmd, kinds, bare, run)
}

// newEditOf makes one where a name without a kind in front is that of the kind bare.
func newEditOf(env Environment, flags *genericclioptions.ConfigFlags, cmd *cobra.Command, kinds []shownKind, bare shownKind, run func(context.Context, *edit) error) *cobra.Command {
	dryRun := false
	cmd.Args = cobra.RangeArgs(1, 2)
	if len(kinds) == 1 {
		cmd.Args = cobra.ExactArgs(1)
	}
	cmd.ValidArgsFunction = func(asked *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return (&getSets{kind: bare, env: env, flags: flags, print: genericclioptions.NewPrintFlags("")}).complete(asked, args, begun)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind, name, err := target(kinds, bare, args)
		if err != nil {
			return err
		}
		e := &edit{getSets: &getSets{kind: kind, name: name, env: env, flags: flags}, dryRun: dryRun}
		if err := e.connect(); err != nil {
			return err
		}
		return e.refused(e.try(cmd.Context(), run))
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "have the API server check everything, and change nothing")
	return cmd
}

// target reads NAME, which is of the kind bare, KIND/NAME or KIND NAME.
func target(kinds []shownKind, bare shownKind, args []string) (shownKind, string, error) {
	kind, name, found := "", args[0], false
	if len(args) == 2 {
		kind, name, found = args[0], args[1], true
	} else if before, after, cut := strings.Cut(args[0], "/"); cut {
		kind, name, found = before, after, true
	}
	if name == "" {
		return shownKind{}, "", fmt.Errorf("%s names no object", strings.Join(args, " "))
	}
	if !found {
		return bare, name, nil
	}
	var known []string
	for _, k := range kinds {
		if kind == k.command || slices.Contains(k.aliases(), kind) {
			return k, name, nil
		}
		known = append(known, k.command)
	}
	return shownKind{}, "", fmt.Errorf("%q is no kind that this command knows, only: %s", kind, strings.Join(known, ", "))
}

// try makes the change. A person decides on what an object is meant to be, which a controller's status is no part of: so what
// it writes meanwhile is no reason to ask the person again. Read finds out whether there is another one.
func (e *edit) try(ctx context.Context, run func(context.Context, *edit) error) error {
	for range attempts {
		if e.refusal = run(ctx, e); !apierrors.IsConflict(e.refusal) {
			break
		}
	}
	return e.refusal
}

// refused explains why the object could not be read or changed.
func (e *edit) refused(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		resources := e.kind.resource()
		if e.of != nil {
			resources += " and of " + e.of.kind.resource()
		}
		return fmt.Errorf("%w\n%s needs get and patch of %s", err, e.env.Program, resources)
	case apierrors.IsConflict(err):
		return fmt.Errorf("%s %s has just been changed by somebody else; look again, and repeat the command: %w", e.kind.Name(), e.key(), err)
	}
	return e.explain(err)
}

// read reads the object as it stands, with fields that this program does not know.
func (e *edit) read(ctx context.Context) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(e.kind.GroupVersionKind())
	if err := e.client.Get(ctx, e.key(), o); err != nil {
		return nil, err
	}
	if e.first == nil {
		e.first = o
	} else if o.GetUID() != e.first.GetUID() || o.GetGeneration() != e.first.GetGeneration() || !maps.Equal(o.GetAnnotations(), e.first.GetAnnotations()) {
		return nil, e.refusal
	}
	if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == cafev1alpha1.CafeDeploymentKind {
		return nil, fmt.Errorf("%s %s is kept by CafeDeployment %s, which would write over the change: name the CafeDeployment", e.kind.Name(), e.key(), owner.Name)
	}
	return o, nil
}

// write writes the change, and says what was done.
func (e *edit) write(ctx context.Context, before, after *unstructured.Unstructured, told string) error {
	if err := apply.Edit(ctx, e.client, before, after, e.dryRun); err != nil {
		return err
	}
	return e.tell(told)
}

// tell says something about the object.
func (e *edit) tell(what string) error {
	if e.dryRun {
		what += " (dry run: nothing was changed)"
	}
	_, err := fmt.Fprintf(e.env.Streams.Out, "%s %s: %s\n", e.kind.Name(), e.key(), what)
	return err
}
