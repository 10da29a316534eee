// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
)

// Evaluate renders a component. The error is of type Problems. Before each template, reached is told whose it is, so that it can be
// named if its evaluation does not end; nil is nobody.
//
// It may take for ever and fill the memory when a template asks for it; see package worker.
func Evaluate(request Request, reached func(Reached)) (Result, error) {
	if reached == nil {
		reached = func(Reached) {}
	}
	c := request.Component
	reached(Reached{Definition: c.Type})
	if problems := suits(c); len(problems) > 0 {
		return Result{}, problems
	}
	left := &allowance{bytes: MaxResult}
	result, problems := workload(request, left)
	if len(problems) > 0 {
		return Result{}, problems
	}
	for i := range c.Traits {
		reached(Reached{Definition: c.Traits[i].Type, IsTrait: true})
		if problems := result.lay(request, &c.Traits[i], left); len(problems) > 0 {
			return Result{}, problems
		}
	}
	whole := source{component: c.Name, definition: c.Type}
	if n := len(result.Extras); n > MaxObjects {
		return Result{}, whole.problems("outputs", "%d objects beside the workload; at most %d are allowed", n, MaxObjects)
	}
	if written, err := json.Marshal(result); err != nil || len(written) > MaxResult {
		return Result{}, whole.problems("output", "all objects together have %d bytes; at most %d are allowed", len(written), MaxResult)
	}
	return result, nil
}

// workload evaluates the template of the component.
func workload(request Request, left *allowance) (Result, Problems) {
	c := request.Component
	s := source{component: c.Name, definition: c.Type}
	t, problems := s.evaluate(c.Template, c.Properties, request.Context, nil)
	if len(problems) > 0 {
		return Result{}, problems
	}
	if patch := t.value.LookupPath(cue.ParsePath("patch")); patch.Exists() {
		return Result{}, s.problems("patch", "only the template of a trait gives a patch; use output and outputs")
	}
	if !t.value.LookupPath(cue.ParsePath("output")).Exists() {
		return Result{}, s.problems("output", "the template of %q gives none; it has to give the workload, a %s of %s", c.Type, c.Kind, c.APIVersion)
	}
	object, problems := t.object("output", left)
	if len(problems) > 0 {
		return Result{}, problems
	}
	if got := []any{object["apiVersion"], object["kind"]}; got[0] != c.APIVersion || got[1] != c.Kind {
		return Result{}, s.problems("output", "is a %v of %v; spec.workload.definition of %q allows only a %s of %s", got[1], got[0], c.Type, c.Kind, c.APIVersion)
	}
	extras, problems := t.extras("", left)
	return Result{Workload: object, Extras: extras}, problems
}

// lay adds what one trait gives.
func (r *Result) lay(request Request, trait *Trait, left *allowance) Problems {
	s := source{component: request.Component.Name, definition: trait.Type, isTrait: true}
	outputs := map[string]any{}
	for _, e := range r.Extras {
		outputs[e.Name] = e.Object
	}
	t, problems := s.evaluate(trait.Template, trait.Properties, request.Context, map[string]any{"output": r.Workload, "outputs": outputs})
	if len(problems) > 0 {
		return problems
	}
	patch := t.value.LookupPath(cue.ParsePath("patch"))
	added := t.value.LookupPath(cue.ParsePath("outputs"))
	switch {
	case t.value.LookupPath(cue.ParsePath("output")).Exists():
		return s.problems("output", "only the template of a component gives the workload; use patch and outputs")
	case t.value.LookupPath(cue.ParsePath("patchOutputs")).Exists():
		return s.problems("patchOutputs", "is not supported; use patch for the workload, and outputs for objects of the trait")
	case !patch.Exists() && !added.Exists():
		return s.problems("template", "gives neither patch nor outputs; a trait has to give one of them")
	}
	if patch.Exists() {
		merged, problems := t.lay(r.Workload, patch, left)
		if len(problems) > 0 {
			return problems
		}
		if !trait.PodDisruptive && !same(podTemplate(r.Workload), podTemplate(merged)) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("trait %q changes the pods of component %q, and its definition does not say so: podDisruptive is false", trait.Type, s.component))
		}
		r.Workload = merged
	}
	extras, problems := t.extras(trait.Type, left)
	r.Extras = append(r.Extras, extras...)
	return problems
}

func podTemplate(object map[string]any) any {
	spec, _ := object["spec"].(map[string]any)
	return spec["template"]
}

func same(a, b any) bool {
	one, err := json.Marshal(a)
	two, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(one) == string(two)
}

// evaluated is a template with its input.
type evaluated struct {
	source
	context    *cue.Context
	value      cue.Value
	properties json.RawMessage
}

// evaluate reads a template and fills it in. More is what context holds besides the names.
func (s source) evaluate(text string, properties json.RawMessage, context Context, more map[string]any) (evaluated, Problems) {
	file, problems := s.parse("template", text, MaxTemplate)
	if len(problems) > 0 {
		return evaluated{}, problems
	}
	file, problems = s.parse("template", closeParameter(file, text), 2*MaxTemplate)
	if len(problems) > 0 {
		return evaluated{}, problems
	}
	input, problems := s.input(properties, context.fields(more), true)
	if len(problems) > 0 {
		return evaluated{}, problems
	}
	ctx := cuecontext.New()
	value, err := instance(ctx, file, input)
	if err != nil {
		return evaluated{}, s.syntax("template", err)
	}
	t := evaluated{source: s, context: ctx, value: value, properties: properties}
	return t, t.settled()
}

func (c Context) fields(more map[string]any) map[string]any {
	fields := map[string]any{"name": c.Name, "appName": c.AppName, "namespace": c.Namespace, "appRevision": c.AppRevision, "appRevisionNum": c.AppRevisionNum, "revision": c.Revision}
	maps.Copy(fields, more)
	return fields
}

// settled reports what is wrong with the properties, or else with the template.
func (t evaluated) settled() Problems {
	parameter := t.value.LookupPath(cue.ParsePath("parameter"))
	var properties, others Problems
	failed := errors.Errors(t.value.Err())
	if parameter.Exists() {
		failed = append(errors.Errors(parameter.Validate(cue.Concrete(true))), failed...)
	}
	for _, e := range failed {
		path := e.Path()
		if len(path) > 0 && (path[0] == "parameter" || path[0] == closedParameter) {
			properties = append(properties, t.property(path[1:], e))
			continue
		}
		others = append(others, t.problem("template"+line(e), "%s", shorten(strings.TrimPrefix(fieldPath(path)+": ", ": ")+message(e))))
	}
	if len(properties) > 0 {
		return properties.tidy()
	}
	return others.enough()
}

// object gives one field of the template as an object.
func (t evaluated) object(field string, left *allowance) (map[string]any, Problems) {
	data, problem := t.data(strings.Split(field, "."), t.value.LookupPath(cue.ParsePath(field)), left)
	if problem != nil {
		return nil, Problems{*problem}
	}
	return t.asObject(field, data)
}

func (t evaluated) asObject(field string, data any) (map[string]any, Problems) {
	object, isObject := data.(map[string]any)
	if !isObject {
		return nil, t.problems(field, "has to be an object of Kubernetes")
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if text, isText := object[key].(string); !isText || text == "" {
			return nil, t.problems(field+"."+key, "is missing: an object of Kubernetes has one")
		}
	}
	return object, nil
}

// extras are the objects of outputs, by name.
func (t evaluated) extras(trait string, left *allowance) ([]Extra, Problems) {
	outputs := t.value.LookupPath(cue.ParsePath("outputs"))
	if !outputs.Exists() {
		return nil, nil
	}
	data, problem := t.data([]string{"outputs"}, outputs, left)
	if problem != nil {
		return nil, Problems{*problem}
	}
	byName, isMap := data.(map[string]any)
	if !isMap {
		return nil, t.problems("outputs", "has to be objects by name, as in outputs: service: {…}")
	}
	var extras []Extra
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		object, problems := t.asObject(fieldPath([]string{"outputs", name}), byName[name])
		if len(problems) > 0 {
			return nil, problems
		}
		extras = append(extras, Extra{Name: name, Trait: trait, Object: object})
	}
	return extras, nil
}
