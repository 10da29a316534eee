// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/definition"
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/test/golden"
)

// pageOfDefinitions is made of the definitions themselves, so that it proves itself.
const pageOfDefinitions = "docs/spec/definitions.md"

const headOfDefinitions = `# The definitions that Slipway ships

Made from ` + "`config/definitions`" + ` by ` + "`go test ./test/docs -run TestThePageOfDefinitions -update`" + `. Install them after the CRDs, in
` + "`slipway-system`" + `, for all applications: ` + "`kubectl apply --server-side -f config/definitions.yaml`" + `. ` + "`slipway def show NAME`" + ` prints the same.
How templates work is told in [Application](application.md#rendering).

Pods of a component carry the labels ` + "`app.oam.dev/name`" + ` and ` + "`app.oam.dev/component`" + `. A component has one container of its name.
Without ` + "`scaler`" + ` or ` + "`hpa`" + ` it has one pod; a ` + "`daemon`" + ` has one on each node.

`

// TestThePageOfDefinitions compares the page with what the shipped definitions say of themselves.
func TestThePageOfDefinitions(t *testing.T) {
	all, err := definition.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	parameters := map[string][]render.Parameter{}
	for _, d := range all {
		described, err := render.Describe(d.Rendered())
		if err != nil {
			t.Fatal(err)
		}
		parameters[d.Name()] = described.Parameters
	}
	golden.File(t, filepath.Join(root, pageOfDefinitions), written(all, parameters))
}

// written is the page. What all components take is told once.
func written(all []definition.Definition, parameters map[string][]render.Parameter) string {
	var page strings.Builder
	page.WriteString(headOfDefinitions)
	var components, traits []definition.Definition
	for _, d := range all {
		if d.Component != nil {
			components = append(components, d)
		} else {
			traits = append(traits, d)
		}
	}
	page.WriteString("| component | workload | what it is |\n|---|---|---|\n")
	for _, d := range components {
		kind := d.Component.Spec.Workload.Definition
		fmt.Fprintf(&page, "| `%s` | %s of `%s` | %s |\n", d.Name(), kind.Kind, kind.APIVersion, d.Component.Annotations[oamv1beta1.AnnotationDescription])
	}
	page.WriteString("\n| trait | goes with | not with | changes pods | what it does |\n|---|---|---|---|---|\n")
	for _, d := range traits {
		spec := d.Trait.Spec
		goes := "every workload"
		if len(spec.AppliesToWorkloads) > 0 {
			goes = "`" + strings.Join(spec.AppliesToWorkloads, "`, `") + "`"
		}
		not := "–"
		if len(spec.ConflictsWith) > 0 {
			not = "`" + strings.Join(spec.ConflictsWith, "`, `") + "`"
		}
		changes := map[bool]string{true: "yes", false: "no"}[spec.PodDisruptive]
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s |\n", d.Name(), goes, not, changes, d.Trait.Annotations[oamv1beta1.AnnotationDescription])
	}
	shared := slices.DeleteFunc(slices.Clone(parameters[components[0].Name()]), func(p render.Parameter) bool {
		return slices.ContainsFunc(components, func(d definition.Definition) bool { return !slices.Contains(parameters[d.Name()], p) })
	})
	page.WriteString("\n## Properties of every component\n\n" + table(shared))
	for _, d := range components {
		own := slices.DeleteFunc(slices.Clone(parameters[d.Name()]), func(p render.Parameter) bool { return slices.Contains(shared, p) })
		page.WriteString("\n## Component " + d.Name() + "\n\n" + table(own))
	}
	for _, d := range traits {
		page.WriteString("\n## Trait " + d.Name() + "\n\n" + table(parameters[d.Name()]))
	}
	return page.String()
}

func table(parameters []render.Parameter) string {
	if len(parameters) == 0 {
		return "No properties besides.\n"
	}
	var text strings.Builder
	text.WriteString("| property | type | default | meaning |\n|---|---|---|---|\n")
	for _, p := range parameters {
		standard := "–"
		switch {
		case p.Required:
			standard = "required"
		case p.Default != "":
			standard = "`" + p.Default + "`"
		}
		row := fmt.Sprintf("`%s` \x00 %s \x00 %s \x00 %s", p.Name, p.Type, standard, p.Doc)
		text.WriteString("| " + strings.ReplaceAll(strings.ReplaceAll(row, "|", `\|`), "\x00", "|") + " |\n")
	}
	return text.String()
}
