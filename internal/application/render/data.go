// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/base64"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

// allowance is how many bytes of data may still be read. A template of a few lines can name more data than there is memory.
type allowance struct{ bytes int }

func (a *allowance) spend(n int) bool {
	a.bytes -= n
	return a.bytes >= 0
}

// data is a value as JSON would have it: maps, lists, strings, bools, int64, float64 and nil.
func (t evaluated) data(path []string, v cue.Value, left *allowance) (any, *Problem) {
	fail := func(format string, values ...any) (any, *Problem) {
		p := t.problem(fieldPath(path), format, values...)
		return nil, &p
	}
	if len(path) > maxDepth {
		return fail("goes deeper than %d levels", maxDepth)
	}
	if !left.spend(4) {
		return fail("all objects together have more than the %d bytes that are allowed", MaxResult)
	}
	if d, has := v.Default(); has {
		v = d
	}
	switch v.Kind() {
	case cue.StructKind:
		return t.fields(path, v, left)
	case cue.ListKind:
		return t.items(path, v, left)
	case cue.StringKind:
		text, err := v.String()
		if err == nil && !left.spend(len(text)) {
			return fail("all objects together have more than the %d bytes that are allowed", MaxResult)
		}
		return text, t.broken(path, v, err)
	case cue.BytesKind:
		raw, err := v.Bytes()
		if err == nil && !left.spend(2*len(raw)) {
			return fail("all objects together have more than the %d bytes that are allowed", MaxResult)
		}
		return base64.StdEncoding.EncodeToString(raw), t.broken(path, v, err)
	case cue.IntKind:
		n, err := v.Int64()
		if err != nil {
			return fail("is a whole number beyond 64 bits")
		}
		return n, nil
	case cue.FloatKind, cue.NumberKind:
		n, err := v.Float64()
		if err != nil {
			return fail("is a number beyond what JSON has")
		}
		return n, nil
	case cue.BoolKind:
		b, err := v.Bool()
		return b, t.broken(path, v, err)
	case cue.NullKind:
		return nil, nil
	}
	return nil, t.broken(path, v, v.Validate(cue.Concrete(true)))
}

func (t evaluated) fields(path []string, v cue.Value, left *allowance) (any, *Problem) {
	fields, err := v.Fields()
	if err != nil {
		return nil, t.broken(path, v, err)
	}
	object := map[string]any{}
	for fields.Next() {
		name := fields.Selector().Unquoted()
		if !left.spend(len(name)) {
			p := t.problem(fieldPath(path), "all objects together have more than the %d bytes that are allowed", MaxResult)
			return nil, &p
		}
		value, problem := t.data(step(path, name), fields.Value(), left)
		if problem != nil {
			return nil, problem
		}
		object[name] = value
	}
	// What is wrong with the struct as a whole, such as a required field that is missing.
	return object, t.broken(path, v, v.Err())
}

func (t evaluated) items(path []string, v cue.Value, left *allowance) (any, *Problem) {
	items, err := v.List()
	if err != nil {
		return nil, t.broken(path, v, err)
	}
	list := []any{}
	for items.Next() {
		value, problem := t.data(step(path, strconv.Itoa(len(list))), items.Value(), left)
		if problem != nil {
			return nil, problem
		}
		list = append(list, value)
	}
	return list, nil
}

// broken says why a value is none.
func (t evaluated) broken(path []string, v cue.Value, err error) *Problem {
	if err == nil {
		if v.IsConcrete() || v.Kind() != cue.BottomKind {
			return nil
		}
		p := t.problem(fieldPath(path), "is not settled: the template leaves it at %s", describe(v, 0))
		return &p
	}
	for _, e := range errors.Errors(err) {
		p := t.problem(fieldPath(path)+lineNote(e), "%s", shorten(message(e)))
		return &p
	}
	return nil
}

func lineNote(e errors.Error) string {
	if at := line(e); at != "" {
		return " (template" + at + ")"
	}
	return ""
}

// step is a path one step longer; the path itself may be shared.
func step(path []string, next string) []string {
	return append(path[:len(path):len(path)], next)
}
