// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

const (
	templateFile = "template"
	// closedParameter is the schema of the properties: what a template calls parameter, closed.
	closedParameter = "#parameter"
)

// parse reads a template, and refuses what it may not have.
func (s source) parse(field, text string, limit int) (*ast.File, Problems) {
	if len(text) > limit {
		return nil, s.problems(field, "has %d bytes; at most %d are allowed", len(text), limit)
	}
	if strings.TrimSpace(text) == "" {
		return nil, s.problems(field, "is empty; a template of a component gives output, one of a trait gives patch or outputs")
	}
	file, err := parser.ParseFile(templateFile, text, parser.ParseComments)
	if err != nil {
		return nil, s.syntax(field, err)
	}
	if problems := s.outside(field, file); len(problems) > 0 {
		return nil, problems
	}
	if _, err := parser.ParseFile(templateFile, text+"\n_"); err != nil { // the parser takes a last field without a value, such as "a!"
		return nil, s.syntax(field, err)
	}
	return file, nil
}

// syntax tells the errors of a text that is no CUE, with their lines.
func (s source) syntax(field string, err error) Problems {
	var all Problems
	for _, e := range errors.Errors(err) {
		all = append(all, s.problem(field+line(e), "%s", shorten(message(e))))
	}
	return all.enough()
}

// outside reports whatever would reach beyond the template: imports and attributes that load files.
func (s source) outside(field string, file *ast.File) Problems {
	var all Problems
	for spec := range file.ImportSpecs() {
		path, err := strconv.Unquote(spec.Path.Value)
		name, _, _ := strings.Cut(path, ":")
		if err != nil || !slices.Contains(allowedImports, name) {
			all = append(all, s.problem(fmt.Sprintf("%s:%d", field, spec.Pos().Line()),
				"import %q is not allowed: a template reaches no files, no network and no commands; use only %s", shorten(path), AllowedImports()))
		}
	}
	ast.Walk(file, func(n ast.Node) bool {
		if a, ok := n.(*ast.Attribute); ok {
			if name, _ := a.Split(); slices.Contains([]string{"extern", "embed", "inject"}, name) {
				all = append(all, s.problem(fmt.Sprintf("%s:%d", field, a.Pos().Line()), "@%s is not allowed: a template reaches no files", name))
			}
		}
		return true
	}, nil)
	return all.enough()
}

// closeParameter renames the field parameter of a template to a definition, which is closed at every depth: a property that
// the template does not know is then an error. What the template reads as parameter is given back by the input. The names are
// replaced in the text, so that lines stay what they were.
func closeParameter(file *ast.File, text string) string {
	var at []ast.Label
	for _, decl := range file.Decls {
		field, isField := decl.(*ast.Field)
		if !isField {
			continue
		}
		label := field.Label
		if alias, isAlias := label.(*ast.Alias); isAlias {
			label, _ = alias.Expr.(ast.Label)
		}
		if label == nil {
			continue
		}
		if name, _, err := ast.LabelName(label); err == nil && name == "parameter" {
			at = append(at, label)
		}
	}
	for _, label := range slices.Backward(at) {
		text = text[:label.Pos().Offset()] + closedParameter + text[label.End().Offset():]
	}
	if len(at) == 0 {
		text += "\n" + closedParameter + ": {}\n"
	}
	return text
}

// input are the fields that a template reads: parameter and context.
func (s source) input(properties json.RawMessage, context map[string]any, closed bool) ([]ast.Decl, Problems) {
	if len(properties) > MaxProperties {
		return nil, s.problems("properties", "have %d bytes; at most %d are allowed", len(properties), MaxProperties)
	}
	if len(bytes.TrimSpace(properties)) == 0 || string(bytes.TrimSpace(properties)) == "null" {
		properties = json.RawMessage("{}")
	}
	if problem := depth(properties); problem != "" {
		return nil, s.problems("properties", "%s", problem)
	}
	given, err := decode(properties)
	if err != nil {
		return nil, s.problems("properties", "are no JSON: %s", shorten(err.Error()))
	}
	if _, isObject := given.(map[string]any); !isObject {
		return nil, s.problems("properties", "have to be an object")
	}
	var file []ast.Decl
	if closed {
		file = append(file, &ast.Field{Label: ast.NewIdent("parameter"), Value: ast.NewIdent(closedParameter)})
	}
	return append(file, &ast.Field{Label: ast.NewIdent("parameter"), Value: expression(given)},
		&ast.Field{Label: ast.NewIdent("context"), Value: expression(context)}), nil
}

// depth says when JSON goes deeper than any object does: parsers follow it by recursion.
func depth(raw []byte) string {
	decoder, deep := json.NewDecoder(bytes.NewReader(raw)), 0
	for {
		t, err := decoder.Token()
		if err != nil {
			return "" // whoever parses it says what is wrong
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if deep++; deep > maxDepth {
				return fmt.Sprintf("go deeper than %d levels", maxDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			deep--
		}
	}
}

// instance compiles a template together with its input. Errors of evaluation are in the value.
func instance(ctx *cue.Context, template *ast.File, input []ast.Decl) (cue.Value, error) {
	whole := &ast.File{Filename: template.Filename, Decls: slices.Concat(template.Decls, input)}
	var unresolved error
	astutil.Resolve(whole, func(pos token.Pos, format string, values ...any) {
		unresolved = errors.Append(errors.Promote(unresolved, ""), errors.Newf(pos, format, values...))
	})
	if unresolved != nil {
		return cue.Value{}, unresolved
	}
	return ctx.BuildFile(whole), nil
}

// line is ":<line>" of the first place in the template that an error names, or nothing.
func line(e errors.Error) string {
	for _, p := range append([]token.Pos{e.Position()}, e.InputPositions()...) {
		if p.IsValid() && p.Filename() == templateFile {
			return fmt.Sprintf(":%d", p.Line())
		}
	}
	return ""
}

// message is what an error says without its path.
func message(e errors.Error) string {
	return strings.TrimPrefix(e.Error(), strings.Join(e.Path(), ".")+": ")
}
