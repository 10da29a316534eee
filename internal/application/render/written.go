// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// decode reads JSON, with numbers as they are written.
func decode(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the first value")
	}
	return v, nil
}

// expression is data as CUE. It does not go by text: JSON is not quite CUE (a text may hold U+FEFF, which CUE's parser refuses), and
// what a user writes has to stay data.
func expression(v any) ast.Expr {
	switch at := v.(type) {
	case nil:
		return ast.NewNull()
	case bool:
		return ast.NewBool(at)
	case string:
		return ast.NewString(at)
	case json.Number:
		return number(at.String())
	case int64:
		return number(strconv.FormatInt(at, 10))
	case float64:
		text := strconv.FormatFloat(at, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0" // CUE tells 3 and 3.0 apart
		}
		return number(text)
	case []any:
		list := &ast.ListLit{}
		for _, item := range at {
			list.Elts = append(list.Elts, expression(item))
		}
		return list
	case map[string]any:
		object := &ast.StructLit{}
		for _, key := range slices.Sorted(maps.Keys(at)) {
			object.Elts = append(object.Elts, &ast.Field{Label: ast.NewString(key), Value: expression(at[key])})
		}
		return object
	}
	return ast.NewString(fmt.Sprint(v)) // nothing else comes out of JSON
}

func number(text string) ast.Expr {
	positive := strings.TrimPrefix(text, "-")
	kind := token.INT
	if strings.ContainsAny(positive, ".eE") {
		kind = token.FLOAT
	}
	literal := ast.NewLit(kind, positive)
	if positive != text {
		return &ast.UnaryExpr{Op: token.SUB, X: literal}
	}
	return literal
}

// writtenAt is what a user wrote at a path of the properties, as JSON.
func writtenAt(properties json.RawMessage, path []string) (string, bool) {
	v, err := decode(properties)
	if err != nil {
		return "", false
	}
	for _, name := range path {
		switch at := v.(type) {
		case map[string]any:
			next, has := at[name]
			if !has {
				return "", false
			}
			v = next
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(at) {
				return "", false
			}
			v = at[n]
		default:
			return "", false
		}
	}
	return written(v), true
}
