// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/unit"
)

func newUndo(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	to := int64(0)
	cmd := newEdit(env, flags, &cobra.Command{
		Use:   "undo [KIND/]NAME",
		Short: "Go back to an earlier template",
		Long: "Write the template of an earlier revision back into spec.template. The controller releases it like any other, with the\n" +
			"same groups, confirmations and limits. Nothing but the template changes: replicas and strategy stay.\n\n" +
			"Without --to-revision it is the newest revision that says something else than spec.template. Without KIND the NAME\n" +
			"is that of a CafeDeployment.",
		Example: fmt.Sprintf("  # Back to the template of before\n  %[1]s undo web\n\n  # What would that be?\n  %[1]s undo web --dry-run\n\n  # Back to a certain revision\n  %[1]s undo cloneset/web --to-revision 3", env.Program),
	}, shownKinds(), func(ctx context.Context, e *edit) error { return undo(ctx, e, to) })
	cmd.Flags().Int64Var(&to, "to-revision", 0, "the number of the revision; 0 is the newest that differs")
	return cmd
}

func undo(ctx context.Context, e *edit, to int64) error {
	if to < 0 {
		return errors.New("--to-revision cannot be negative")
	}
	before, err := e.read(ctx)
	if err != nil {
		return err
	}
	after, told, err := e.goBack(ctx, before, to)
	if err != nil {
		return err
	}
	if paused, _, _ := unstructured.NestedBool(before.Object, append([]string{"spec"}, e.kind.pause...)...); paused {
		told += fmt.Sprintf("; it is paused, and released after `%s resume`", e.env.Program)
	}
	return e.write(ctx, before, after, told)
}

// goBack is the object with an earlier template, and what is to be said of that.
func (e *edit) goBack(ctx context.Context, before *unstructured.Unstructured, to int64) (*unstructured.Unstructured, string, error) {
	tree, _, err := unstructured.NestedMap(before.Object, "spec", "template")
	if err != nil {
		return nil, "", fmt.Errorf("reading spec.template of %s %s: %w", e.kind.Name(), e.key(), err)
	}
	live := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tree, live); err != nil {
		return nil, "", fmt.Errorf("reading spec.template of %s %s: %w", e.kind.Name(), e.key(), err)
	}
	within, err := e.within(before, live)
	if err != nil {
		return nil, "", err
	}
	known, err := e.revisions(ctx, before)
	if err != nil {
		return nil, "", err
	}
	chosen, err := e.choose(known, revision.FromTemplate(within), to)
	if err != nil {
		return nil, "", err
	}
	earlier, err := template(chosen, live, within)
	if err != nil {
		return nil, "", err
	}
	after := before.DeepCopy()
	if err := unstructured.SetNestedMap(after.Object, earlier, "spec", "template"); err != nil {
		return nil, "", fmt.Errorf("writing the template of revision %d: %w", chosen.Number, err)
	}
	told := fmt.Sprintf("spec.template is that of revision %d (%s) again: %s", chosen.Number, chosen.Name, images(live, chosen.Written))
	return after, told, nil
}

// within is the live template as revisions hold it: those of an InPlaceSet hold the affinity to its unit, too.
func (e *edit) within(o *unstructured.Unstructured, live *corev1.PodTemplateSpec) (*corev1.PodTemplateSpec, error) {
	if e.kind.Name() != cafev1alpha1.InPlaceSetKind {
		return live, nil
	}
	set := &cafev1alpha1.InPlaceSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, set); err != nil {
		return nil, fmt.Errorf("reading InPlaceSet %s: %w", e.key(), err)
	}
	return unit.Within(live, set.Spec.UnitType, set.Spec.DeployUnit), nil
}

// revisions are those of the object that can be read, the newest first.
func (e *edit) revisions(ctx context.Context, of *unstructured.Unstructured) ([]revision.Revision, error) {
	list := &appsv1.ControllerRevisionList{}
	if err := e.client.List(ctx, list, client.InNamespace(e.namespace)); err != nil {
		return nil, fmt.Errorf("listing revisions: %w", err)
	}
	var known []revision.Revision
	for i := range list.Items {
		if !pod.IsControlledBy(&list.Items[i], of.GetUID()) {
			continue
		}
		if r := revision.Decode(&list.Items[i]); r.Err == nil {
			known = append(known, r)
		}
	}
	slices.SortFunc(known, func(a, b revision.Revision) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.Name, b.Name))
	})
	return known, nil
}

// choose is the revision to go back to.
func (e *edit) choose(known []revision.Revision, live revision.Revision, to int64) (revision.Revision, error) {
	var all []string
	for _, r := range known {
		switch same := revision.Equal(r, live); {
		case r.Number == to && same:
			return r, fmt.Errorf("spec.template of %s %s is that of revision %d already", e.kind.Name(), e.key(), to)
		case r.Number == to, to == 0 && !same:
			return r, nil
		}
		all = append(all, fmt.Sprintf("%d (%s)", r.Number, strings.Join(sets.ImagesOf(r.Written.Spec.Containers), ", ")))
	}
	if to == 0 {
		return revision.Revision{}, fmt.Errorf("%s %s has no earlier revision: there is nothing to go back to", e.kind.Name(), e.key())
	}
	if len(all) == 0 {
		return revision.Revision{}, fmt.Errorf("%s %s has no revision %d, and no other", e.kind.Name(), e.key(), to)
	}
	return revision.Revision{}, fmt.Errorf("%s %s has no revision %d, only: %s", e.kind.Name(), e.key(), to, strings.Join(all, ", "))
}

// template is what the revision stores, with fields that this program does not know. An affinity that a controller has
// added for the unit is not written into the spec.
func template(of revision.Revision, live, within *corev1.PodTemplateSpec) (map[string]any, error) {
	data := map[string]any{}
	if err := json.Unmarshal(of.Object.Data.Raw, &data); err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", of.Name, err)
	}
	tree, found, err := unstructured.NestedMap(data, "spec", "template")
	if err != nil || !found {
		return nil, fmt.Errorf("reading revision %s: it holds no spec.template", of.Name)
	}
	delete(tree, "$patch")
	if live == within || !equality.Semantic.DeepEqual(of.Written.Spec.Affinity, within.Spec.Affinity) {
		return tree, nil
	}
	unstructured.RemoveNestedField(tree, "spec", "affinity")
	if live.Spec.Affinity != nil {
		affinity, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live.Spec.Affinity)
		if err != nil {
			return nil, fmt.Errorf("encoding the affinity: %w", err)
		}
		err = unstructured.SetNestedMap(tree, affinity, "spec", "affinity")
		return tree, err
	}
	return tree, nil
}

// images tells which images change.
func images(from, to *corev1.PodTemplateSpec) string {
	was := map[string]string{}
	for _, c := range from.Spec.Containers {
		was[c.Name] = c.Image
	}
	var changed []string
	for _, c := range to.Spec.Containers {
		if was[c.Name] != c.Image {
			changed = append(changed, fmt.Sprintf("image of %s %s -> %s", c.Name, cmp.Or(was[c.Name], "none"), c.Image))
		}
	}
	if len(changed) == 0 {
		return "images stay, other fields change"
	}
	return strings.Join(changed, ", ")
}
