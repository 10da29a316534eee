// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

// property says what is wrong with a property, and what is allowed there.
func (t evaluated) property(path []string, e errors.Error) Problem {
	schema := t.value.LookupPath(cue.MakePath(cue.Def(closedParameter)))
	field := fieldPath(append([]string{"properties"}, path...))
	text := message(e)
	switch {
	case len(path) == 0:
		return t.problem(field, "%s", shorten(text))
	case strings.Contains(text, "not allowed"):
		parent := within(schema, path[:len(path)-1])
		known := names(parent)
		if len(known) == 0 {
			return t.problem(field, "is no property: %s takes none here", quoted(t.definition))
		}
		return t.problem(field, "is no property: use one of %s%s", strings.Join(known, ", "), resembling(path[len(path)-1], known))
	}
	allowed := within(schema, path)
	value, written := writtenAt(t.properties, path)
	switch {
	case len(allowed) == 0:
		return t.problem(field, "%s", shorten(text))
	case !written:
		return t.problem(field, "is missing: use %s", choices(allowed, 0))
	}
	return t.problem(field, "%s is not allowed: use %s", value, choices(allowed, 0))
}

func quoted(name string) string { return strconv.Quote(name) }

// tidy drops what only follows from another problem: of a field inside of another one that is told, and doubles.
func (p Problems) tidy() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	var kept Problems
	for i, one := range p {
		deeper := slices.ContainsFunc(p[i+1:], func(other Problem) bool {
			return strings.HasPrefix(other.Field, one.Field+".") || strings.HasPrefix(other.Field, one.Field+"[")
		})
		again := slices.ContainsFunc(kept, func(other Problem) bool { return other.Field == one.Field })
		if !deeper && !again {
			kept = append(kept, one)
		}
	}
	return kept.enough()
}

// within are the schemas of what stands at a path: several where the schema is a choice.
func within(schema cue.Value, path []string) []cue.Value {
	at := []cue.Value{schema}
	for _, name := range path {
		var next []cue.Value
		for _, s := range at {
			for _, one := range alternatives(s) {
				if child, has := child(one, name); has {
					next = append(next, child)
				}
			}
		}
		at = next
	}
	return at
}

// alternatives are the members of a disjunction, or the value itself.
func alternatives(v cue.Value) []cue.Value {
	op, args := v.Expr()
	if op != cue.OrOp {
		return []cue.Value{v}
	}
	var all []cue.Value
	for _, a := range args {
		all = append(all, alternatives(a)...)
	}
	return all
}

func child(v cue.Value, name string) (cue.Value, bool) {
	for _, s := range []cue.Selector{cue.Str(name), cue.Str(name).Optional(), cue.AnyString} {
		if c := v.LookupPath(cue.MakePath(s)); c.Exists() {
			return c, true
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 0 {
		for _, s := range []cue.Selector{cue.Index(n), cue.AnyIndex} {
			if c := v.LookupPath(cue.MakePath(s)); c.Exists() {
				return c, true
			}
		}
	}
	return cue.Value{}, false
}

// names are the fields that schemas know, sorted.
func names(schemas []cue.Value) []string {
	var known []string
	for _, s := range schemas {
		for _, one := range alternatives(s) {
			fields, err := one.Fields(cue.Optional(true))
			if err != nil {
				continue
			}
			for fields.Next() {
				known = append(known, fields.Selector().Unquoted())
			}
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// choices says what the schemas allow, for people. Nested counts how deep they stand in another one.
func choices(schemas []cue.Value, nested int) string {
	var texts []string
	for _, s := range schemas {
		for _, one := range alternatives(s) {
			if text := describe(one, nested); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	switch len(texts) {
	case 0:
		return "a value"
	case 1:
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

// describe says what a schema allows: a type, a constraint or the fields. Schemas may contain themselves, so it ends after a few
// levels.
func describe(v cue.Value, nested int) string {
	if raw, ok := literal(v); ok {
		return raw
	}
	kind := v.IncompleteKind()
	if nested < 3 {
		if all := alternatives(v); len(all) > 1 {
			return choices(all, nested+1)
		}
		if c := v.LookupPath(cue.MakePath(cue.AnyString)); kind == cue.StructKind && c.Exists() {
			return "an object of " + describe(c, nested+1) + " by name"
		}
		if c := v.LookupPath(cue.MakePath(cue.AnyIndex)); kind == cue.ListKind && c.Exists() {
			return "a list of " + strings.TrimPrefix(strings.TrimPrefix(describe(c, nested+1), "an "), "a ")
		}
	}
	switch kind {
	case cue.StructKind:
		if known := names([]cue.Value{v}); len(known) > 0 {
			return "an object with " + shorten(strings.Join(known, ", "))
		}
		return "an object"
	case cue.ListKind:
		return "a list"
	case cue.StringKind, cue.IntKind, cue.FloatKind, cue.NumberKind, cue.BoolKind, cue.NullKind, cue.BytesKind:
		text := fmt.Sprintf("%v", v)
		if standard, rest, has := strings.Cut(text, " | "); has && strings.HasPrefix(standard, "*") {
			text = rest // a default is not all that is allowed
		}
		return shorten(text)
	}
	return shorten(fmt.Sprintf("%v", kind))
}

// literal is a scalar as it is written.
func literal(v cue.Value) (string, bool) {
	if !v.Exists() || v.Err() != nil || !v.IsConcrete() || v.IncompleteKind()&(cue.StructKind|cue.ListKind) != 0 {
		return "", false
	}
	if op, _ := v.Expr(); op == cue.OrOp {
		return "", false
	}
	raw, err := v.MarshalJSON()
	return shorten(string(raw)), err == nil
}

// resembling points at a name that differs by a slip.
func resembling(wrong string, known []string) string {
	for _, name := range known {
		if strings.EqualFold(wrong, name) || distance(strings.ToLower(wrong), strings.ToLower(name)) == 1 {
			return "; did you mean " + name + "?"
		}
	}
	return ""
}

// distance is how many letters have to be changed, added or left out, at most 2.
func distance(a, b string) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if n := max(len(a), len(b)); n < 2 {
		return n
	}
	return 2
}
