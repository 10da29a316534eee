// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/render"
)

// maxFile is how many bytes a file may have.
const maxFile = 256 << 10

// Definition is one definition: one of the two is set.
type Definition struct {
	Component *oamv1beta1.ComponentDefinition
	Trait     *oamv1beta1.TraitDefinition
}

// Name of the definition.
func (d Definition) Name() string {
	if d.Component != nil {
		return d.Component.Name
	}
	return d.Trait.Name
}

// Template of the definition.
func (d Definition) Template() string {
	if d.Component != nil {
		return d.Component.Spec.Schematic.CUE.Template
	}
	return d.Trait.Spec.Schematic.CUE.Template
}

// head is what stands above the template.
type head struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Attributes  struct {
		Workload           oamv1beta1.WorkloadType      `json:"workload"`
		Status             *oamv1beta1.DefinitionStatus `json:"status"`
		AppliesToWorkloads []string                     `json:"appliesToWorkloads"`
		ConflictsWith      []string                     `json:"conflictsWith"`
		PodDisruptive      bool                         `json:"podDisruptive"`
	} `json:"attributes"`
	// Include names files whose templates are added to this one.
	Include []string `json:"include"`
}

// Shape of a head, closed: a field that it does not have is a slip.
const shape = `close({
	type:         "component" | "trait"
	description?: string
	labels?: [string]:      string
	annotations?: [string]: string
	include?: [...string]
	attributes?: close({
		workload?: close({
			type?: string
			definition?: close({apiVersion: string, kind: string})
		})
		status?: close({healthPolicy?: string, customStatus?: string})
		appliesToWorkloads?: [...string]
		conflictsWith?: [...string]
		podDisruptive?: bool
	})
})`

// FromCUE reads a definition. Include gives the text of another file by its name without .cue; nil knows none. An error names file,
// line and what is allowed.
func FromCUE(file string, text []byte, include func(name string) ([]byte, error)) (Definition, error) {
	parsed, err := parse(file, text)
	if err != nil {
		return Definition{}, err
	}
	if parsed.name == "" {
		return Definition{}, fmt.Errorf("%s: holds no definition: besides template, it has one field whose name is that of the definition", file)
	}
	h, err := readHead(file, parsed)
	if err != nil {
		return Definition{}, err
	}
	decls := slices.Clone(parsed.template)
	imports := maps.Clone(parsed.imports)
	for _, name := range h.Include {
		if include == nil {
			return Definition{}, fmt.Errorf("%s: include: there are no files to include here", file)
		}
		other, err := include(name)
		if err != nil {
			return Definition{}, fmt.Errorf("%s: including %s: %w", file, name, err)
		}
		more, err := parse(name+".cue", other)
		if err != nil {
			return Definition{}, err
		}
		decls = append(decls, more.template...)
		maps.Copy(imports, more.imports)
	}
	template, err := printed(imports, decls)
	if err != nil {
		return Definition{}, fmt.Errorf("%s: writing the template: %w", file, err)
	}
	return h.definition(parsed.name, template), nil
}

// parts of a file.
type parts struct {
	name     string
	head     ast.Expr
	template []ast.Decl
	imports  map[string]*ast.ImportSpec
}

func parse(file string, text []byte) (parts, error) {
	if len(text) > maxFile {
		return parts{}, fmt.Errorf("%s: has %d bytes; at most %d are allowed", file, len(text), maxFile)
	}
	f, err := parser.ParseFile(file, text, parser.ParseComments)
	if err != nil {
		return parts{}, told(file, err)
	}
	p := parts{imports: map[string]*ast.ImportSpec{}}
	for spec := range f.ImportSpecs() {
		p.imports[spec.Path.Value] = spec
	}
	for _, decl := range f.Decls {
		field, isField := decl.(*ast.Field)
		if !isField {
			continue
		}
		name, _, err := ast.LabelName(field.Label)
		body, isStruct := field.Value.(*ast.StructLit)
		switch {
		case err != nil || !isStruct:
			return parts{}, fmt.Errorf("%s:%d: only a definition and its template stand here, both in braces", file, field.Pos().Line())
		case name == "template":
			p.template = append(p.template, body.Elts...)
		case p.name != "":
			return parts{}, fmt.Errorf("%s:%d: %s is a second definition; a file holds one", file, field.Pos().Line(), name)
		default:
			p.name, p.head = name, field.Value
		}
	}
	return p, nil
}

func readHead(file string, p parts) (head, error) {
	if at := beyondData(p.head); at != nil {
		return head{}, fmt.Errorf("%s:%d: %s: a head has plain values only; what is computed belongs into template", file, at.Pos().Line(), p.name)
	}
	ctx := cuecontext.New()
	v := ctx.CompileString(shape).Unify(ctx.BuildExpr(p.head))
	if err := v.Validate(cue.Concrete(true)); err != nil {
		return head{}, fmt.Errorf("%s: %s: %w; a head has type (\"component\" or \"trait\"), description, labels, annotations, include and attributes"+
			" (workload, status, appliesToWorkloads, conflictsWith, podDisruptive)", file, p.name, told("", err))
	}
	var h head
	if err := v.Decode(&h); err != nil {
		return head{}, fmt.Errorf("%s: %s: %w", file, p.name, told("", err))
	}
	if kind := h.Attributes.Workload.Definition; h.Type == "component" && (kind.Kind == "" || kind.APIVersion == "") {
		return head{}, fmt.Errorf("%s: %s: attributes.workload.definition is missing: apiVersion and kind of the workload", file, p.name)
	}
	return h, nil
}

// beyondData is what a head may not have: it is read without the limits under which templates are evaluated.
func beyondData(head ast.Expr) ast.Node {
	var found ast.Node
	ast.Walk(head, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.StructLit, *ast.ListLit, *ast.Field, *ast.BasicLit, *ast.CommentGroup, *ast.Comment, *ast.Ident:
		default:
			if found == nil {
				found = n
			}
		}
		if field, isField := n.(*ast.Field); isField && found == nil {
			if _, isName := field.Value.(*ast.Ident); isName {
				found = field.Value // a reference; true, false and null are literals
			}
		}
		return found == nil
	}, nil)
	return found
}

// told is the first error of CUE, on one line.
func told(file string, err error) error {
	all := errors.Errors(err)
	if len(all) == 0 {
		return err
	}
	text := strings.Join(strings.Fields(all[0].Error()), " ")
	if file != "" {
		return fmt.Errorf("%s:%d: %s", file, all[0].Position().Line(), text)
	}
	return errors.New(text)
}

// printed is a template as text: imports first, then what stands in the braces.
func printed(imports map[string]*ast.ImportSpec, decls []ast.Decl) (string, error) {
	file := &ast.File{}
	if len(imports) > 0 {
		group := &ast.ImportDecl{}
		for _, path := range slices.Sorted(maps.Keys(imports)) {
			group.Specs = append(group.Specs, imports[path])
		}
		file.Decls = append(file.Decls, group)
	}
	file.Decls = append(file.Decls, decls...)
	text, err := format.Node(file, format.UseSpaces(2), format.TabIndent(false)) // YAML shows text with tabs on one line
	return strings.TrimLeft(string(text), " \n"), err
}

func (h head) definition(name, template string) Definition {
	about := metav1.ObjectMeta{Name: name, Labels: h.Labels, Annotations: maps.Clone(h.Annotations)}
	if h.Description != "" {
		if about.Annotations == nil {
			about.Annotations = map[string]string{}
		}
		about.Annotations[oamv1beta1.AnnotationDescription] = h.Description
	}
	schematic := oamv1beta1.Schematic{CUE: oamv1beta1.CUE{Template: template}}
	if h.Type == "trait" {
		return Definition{Trait: &oamv1beta1.TraitDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: "TraitDefinition"},
			ObjectMeta: about,
			Spec: oamv1beta1.TraitDefinitionSpec{
				AppliesToWorkloads: h.Attributes.AppliesToWorkloads, ConflictsWith: h.Attributes.ConflictsWith,
				PodDisruptive: h.Attributes.PodDisruptive, Schematic: schematic, Status: h.Attributes.Status,
			},
		}}
	}
	return Definition{Component: &oamv1beta1.ComponentDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: "ComponentDefinition"},
		ObjectMeta: about,
		Spec:       oamv1beta1.ComponentDefinitionSpec{Workload: h.Attributes.Workload, Schematic: schematic, Status: h.Attributes.Status},
	}}
}

// Rendered is the definition as package render looks at it.
func (d Definition) Rendered() render.Definition {
	if d.Component == nil {
		return render.Definition{Name: d.Name(), IsTrait: true, Template: d.Template()}
	}
	spec := d.Component.Spec
	r := render.Definition{Name: d.Name(), APIVersion: spec.Workload.Definition.APIVersion, Kind: spec.Workload.Definition.Kind, Template: d.Template()}
	if spec.Status != nil {
		r.HealthPolicy, r.CustomStatus = spec.Status.HealthPolicy, spec.Status.CustomStatus
	}
	return r
}
