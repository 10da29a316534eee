// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"slipway.dev/slipway/internal/rollout/measure"
)

// Path is a JSONPath that finds numbers.
type Path struct {
	text string
}

// ParsePath reads a JSONPath: {.a.b}, $.a.b, .a.b or a.b. It fails for syntax errors, and for what never leads to one number:
// range, unions, text around the path, and more than one "..", with all of which a small document and a small path could
// keep a manager busy for ever.
func ParsePath(text string) (Path, error) {
	braced := strings.TrimSpace(text)
	if braced == "" {
		return Path{}, errors.New("the JSONPath is empty")
	}
	if !strings.HasPrefix(braced, "{") {
		braced = strings.TrimPrefix(braced, "$")
		if !strings.HasPrefix(braced, ".") && !strings.HasPrefix(braced, "[") {
			braced = "." + braced
		}
		braced = "{" + braced + "}"
	}
	parsed, err := jsonpath.Parse("query", braced)
	if err != nil {
		return Path{}, fmt.Errorf("JSONPath %s: %w", text, err)
	}
	if len(parsed.Root.Nodes) != 1 || parsed.Root.Nodes[0].Type() != jsonpath.NodeList {
		return Path{}, fmt.Errorf("JSONPath %s: it is not one path, such as {.errors.rate}", text)
	}
	descents := 0
	if err := checkPath(parsed.Root, &descents); err != nil {
		return Path{}, fmt.Errorf("JSONPath %s: %w", text, err)
	}
	return Path{text: braced}, nil
}

func checkPath(node jsonpath.Node, descents *int) error {
	switch n := node.(type) {
	case *jsonpath.ListNode:
		for _, child := range n.Nodes {
			if err := checkPath(child, descents); err != nil {
				return err
			}
		}
		return nil
	case *jsonpath.FilterNode:
		return errors.Join(checkPath(n.Left, descents), checkPath(n.Right, descents))
	case *jsonpath.RecursiveNode:
		if *descents++; *descents > 1 {
			return errors.New("it has more than one \"..\"")
		}
		return nil
	case *jsonpath.UnionNode:
		return errors.New("it has a union, and one number is wanted")
	case *jsonpath.IdentifierNode:
		return fmt.Errorf("%q is not known", n.Name)
	default:
		return nil
	}
}

// Sample takes the one number out of a document, as package json reads it.
func (p Path) Sample(document any) measure.Sample {
	path := jsonpath.New("query").AllowMissingKeys(true)
	if err := path.Parse(p.text); err != nil {
		return measure.Sample{Kind: measure.Fault, Message: err.Error()}
	}
	lists, err := path.FindResults(document)
	if err != nil {
		return measure.Sample{Kind: measure.Fault, Message: err.Error()}
	}
	var found []reflect.Value
	for _, list := range lists {
		found = append(found, list...)
	}
	switch len(found) {
	case 0:
		return measure.Sample{Kind: measure.NoData, Message: "the JSONPath finds nothing"}
	case 1:
		return numberIn(found[0])
	default:
		return measure.Sample{Kind: measure.Fault, Message: fmt.Sprintf("the JSONPath finds %d values, and one is wanted", len(found))}
	}
}

func numberIn(found reflect.Value) measure.Sample {
	for found.IsValid() && found.Kind() == reflect.Interface {
		found = found.Elem()
	}
	if !found.IsValid() {
		return measure.Sample{Kind: measure.NoData, Message: "the JSONPath finds null"}
	}
	switch v := found.Interface().(type) {
	case float64:
		return measure.Of(v)
	case string:
		if number, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return measure.Of(number)
		}
		return measure.Sample{Kind: measure.Fault, Message: fmt.Sprintf("the JSONPath finds %q, which is not a number", v)}
	default:
		return measure.Sample{Kind: measure.Fault, Message: "the JSONPath finds something that is not a number"}
	}
}
