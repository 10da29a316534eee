// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// Definition is a definition by itself, without a component that uses it.
type Definition struct {
	Name    string `json:"name"`
	IsTrait bool   `json:"isTrait,omitempty"`
	// APIVersion and Kind of the workload that the template of a component makes.
	APIVersion   string `json:"apiVersion,omitempty"`
	Kind         string `json:"kind,omitempty"`
	Template     string `json:"template"`
	HealthPolicy string `json:"healthPolicy,omitempty"`
	CustomStatus string `json:"customStatus,omitempty"`
}

// Description is what a template says of itself.
type Description struct {
	// Parameters in the order of the template, each before those inside of it.
	Parameters []Parameter `json:"parameters,omitempty"`
	// Tried tells whether the template was rendered, with properties that were made up.
	Tried bool `json:"tried,omitempty"`
}

// Parameter is one property that users may give.
type Parameter struct {
	// Name is its path: a.b, and a[].b in a list.
	Name string `json:"name"`
	// Type is what is allowed, as CUE writes it.
	Type string `json:"type"`
	// Default is the value where none is given, as JSON; empty means none.
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Doc is the comment above it.
	Doc string `json:"doc,omitempty"`
}

// maxNested is how deep parameters are listed: schemas may contain themselves.
const maxNested = 6

// maxListed is how many parameters are listed.
const maxListed = 500

// Describe reads a definition, lists its parameters, and looks for what is wrong with it before anybody uses it: it is rendered with
// properties that are made up, where the schema leaves a choice. The error is of type Problems.
//
// It may take for ever; see package worker.
func Describe(d Definition) (Description, error) {
	s := source{definition: d.Name, isTrait: d.IsTrait}
	for _, policy := range []struct{ field, text string }{{"status.healthPolicy", d.HealthPolicy}, {"status.customStatus", d.CustomStatus}} {
		if policy.text == "" {
			continue
		}
		if _, problems := s.parse(policy.field, policy.text, MaxPolicy); len(problems) > 0 {
			return Description{}, problems
		}
	}
	file, problems := s.parse("template", d.Template, MaxTemplate)
	if len(problems) > 0 {
		return Description{}, problems
	}
	if file, problems = s.parse("template", closeParameter(file, d.Template), 2*MaxTemplate); len(problems) > 0 {
		return Description{}, problems
	}
	input, problems := s.input(nil, sampleContext.fields(map[string]any{"output": sampleWorkload(), "outputs": map[string]any{}}), true)
	if len(problems) > 0 {
		return Description{}, problems
	}
	value, err := instance(cuecontext.New(), file, input)
	if err != nil {
		return Description{}, s.syntax("template", err)
	}
	schema := value.LookupPath(cue.MakePath(cue.Def(closedParameter)))
	described := Description{Parameters: parameters("", schema, 0, nil)}
	sample, made := sample(schema, 0)
	if !made {
		return described, nil
	}
	properties, err := json.Marshal(sample)
	if err != nil {
		return described, s.problems("parameter", "what was made up for it is no JSON: %v", err)
	}
	_, err = Evaluate(d.trial(properties), nil)
	for _, p := range ProblemsOf(err) {
		if strings.HasPrefix(p.Field, "properties") {
			return described, nil // what was made up does not fit; nothing is known
		}
	}
	if problems := ProblemsOf(err); len(problems) > 0 {
		for i := range problems {
			problems[i].Component = ""
		}
		return described, problems
	}
	described.Tried = true
	return described, nil
}

var sampleContext = Context{Name: "sample", AppName: "sample", Namespace: "default", AppRevision: "sample-v1", AppRevisionNum: 1, Revision: "sample-v1"}

func sampleWorkload() map[string]any {
	labels := map[string]any{"app.oam.dev/component": "sample"}
	return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "sample"}, "spec": map[string]any{
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "sample", "image": "sample:v1"}}},
		},
	}}
}

// trial is a component that has nothing but the definition.
func (d Definition) trial(properties json.RawMessage) Request {
	if !d.IsTrait {
		return Request{Context: sampleContext, Component: Component{Name: "sample", Type: d.Name, APIVersion: d.APIVersion, Kind: d.Kind, Template: d.Template, Properties: properties}}
	}
	workload, _ := json.Marshal(sampleWorkload()) // text in maps
	return Request{Context: sampleContext, Component: Component{Name: "sample", Type: "sample", APIVersion: "apps/v1", Kind: "Deployment",
		Template: "output: " + string(workload),
		Traits:   []Trait{{Type: d.Name, Template: d.Template, Properties: properties, PodDisruptive: true}}}}
}

// parameters lists the fields of a schema, and what is inside of them.
func parameters(prefix string, schema cue.Value, nested int, all []Parameter) []Parameter {
	if nested > maxNested || len(all) >= maxListed {
		return all
	}
	for _, one := range alternatives(schema) {
		if every := one.LookupPath(cue.MakePath(cue.AnyString)); one.IncompleteKind() == cue.StructKind && every.Exists() {
			all = append(all, Parameter{Name: prefix + "<name>", Type: typeOf(every, 0), Doc: doc(every)})
			all = inside(prefix+"<name>", every, nested, all)
		}
		fields, err := one.Fields(cue.Optional(true))
		if err != nil {
			continue
		}
		for fields.Next() && len(all) < maxListed {
			v := fields.Value()
			p := Parameter{Name: prefix + fields.Selector().Unquoted(), Doc: doc(v), Type: typeOf(v, 0)}
			if standard, _ := v.Default(); !fields.IsOptional() {
				if raw, err := standard.MarshalJSON(); err == nil {
					p.Default = shorten(string(raw))
				} else {
					p.Required = true
				}
			}
			all = inside(p.Name, v, nested, append(all, p))
		}
	}
	return all
}

// typeOf is what a parameter may be, without the fields inside of it, which are listed by themselves.
func typeOf(v cue.Value, nested int) string {
	all := alternatives(v)
	if len(all) > 1 || nested > maxNested {
		return describe(v, 0)
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		if every := v.LookupPath(cue.MakePath(cue.AnyString)); every.Exists() {
			return "object of " + typeOf(every, nested+1)
		}
		return "object"
	case cue.ListKind:
		if each := v.LookupPath(cue.MakePath(cue.AnyIndex)); each.Exists() {
			return "list of " + typeOf(each, nested+1)
		}
		return "list"
	}
	return describe(v, 0)
}

// inside lists what stands inside of a parameter.
func inside(name string, v cue.Value, nested int, all []Parameter) []Parameter {
	for _, one := range alternatives(v) {
		switch one.IncompleteKind() {
		case cue.StructKind:
			all = parameters(name+".", one, nested+1, all)
		case cue.ListKind:
			if each := one.LookupPath(cue.MakePath(cue.AnyIndex)); each.Exists() && each.IncompleteKind() == cue.StructKind {
				all = parameters(name+"[].", each, nested+1, all)
			}
		}
	}
	return all
}

// doc is the comment above a field, without the marks of tools.
func doc(v cue.Value) string {
	var lines []string
	for _, group := range v.Doc() {
		for _, comment := range group.List {
			text := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			text = strings.TrimPrefix(text, "+usage=")
			if text != "" && !strings.HasPrefix(text, "+") {
				lines = append(lines, text)
			}
		}
	}
	return shorten(strings.Join(lines, " "))
}

// sample makes up a value for what has to be given; false means that it cannot.
func sample(schema cue.Value, nested int) (any, bool) {
	schema = alternatives(schema)[0]
	switch {
	case nested > maxNested:
		return nil, false
	case schema.IncompleteKind() == cue.StructKind:
		object := map[string]any{}
		fields, err := schema.Fields()
		if err != nil {
			return nil, false
		}
		for fields.Next() {
			if fields.Value().Validate(cue.Concrete(true)) == nil {
				continue // it has a default
			}
			value, made := sample(fields.Value(), nested+1)
			if !made {
				return nil, false
			}
			object[fields.Selector().Unquoted()] = value
		}
		return object, true
	case schema.IncompleteKind() == cue.ListKind:
		list := []any{}
		items, err := schema.List()
		for err == nil && items.Next() {
			value, made := sample(items.Value(), nested+1)
			if !made {
				return nil, false
			}
			list = append(list, value)
		}
		return list, err == nil
	}
	if raw, ok := literal(schema); ok {
		return json.RawMessage(raw), true
	}
	for _, value := range []any{"example", 1, true} {
		if schema.Unify(cuecontext.New().Encode(value)).Err() == nil {
			return value, true
		}
	}
	return nil, false
}
