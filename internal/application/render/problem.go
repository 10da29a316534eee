// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing that keeps a component from being rendered.
type Problem struct {
	// Component is the name of the component, empty when a definition is wrong by itself.
	Component string `json:"component,omitempty"`
	// Definition is the type of the component, or of the trait when IsTrait is set.
	Definition string `json:"definition,omitempty"`
	IsTrait    bool   `json:"isTrait,omitempty"`
	// Field is a path that begins with properties, template, output, outputs, patch, traits, name or status.
	Field string `json:"field"`
	// Message says what is wrong, and what is allowed.
	Message string `json:"message"`
}

// Error names component, definition, field and what is allowed.
func (p Problem) Error() string {
	var b strings.Builder
	if p.Component != "" {
		fmt.Fprintf(&b, "component %q: ", p.Component)
	}
	switch {
	case p.IsTrait:
		fmt.Fprintf(&b, "trait %q: ", p.Definition)
	case p.Definition != "" && (p.Component == "" || !p.isOfTheUser()):
		fmt.Fprintf(&b, "definition %q: ", p.Definition)
	}
	return b.String() + p.Field + ": " + p.Message
}

// isOfTheUser tells whether the field stands in the application, and not in the definition.
func (p Problem) isOfTheUser() bool {
	root := p.Field[:len(p.Field)-len(strings.TrimLeft(p.Field, "abcdefghijklmnopqrstuvwxyz"))]
	return slices.Contains([]string{"name", "properties", "traits", "type"}, root)
}

// Problems are why a component cannot be rendered; at least one and at most ten.
type Problems []Problem

// OfTheUser tells whether something is wrong with what stands in the application: a name, a type, a property or a choice of traits. All
// else is what templates make of it.
func (p Problems) OfTheUser() bool { return slices.ContainsFunc(p, Problem.isOfTheUser) }

// Error has all of them, one after the other.
func (p Problems) Error() string {
	texts := make([]string, len(p))
	for i := range p {
		texts[i] = p[i].Error()
	}
	return strings.Join(texts, "; ")
}

// ProblemsOf are those in an error that rendering returned, nil when it is another error.
func ProblemsOf(err error) Problems {
	var all Problems
	var one Problem
	switch {
	case errors.As(err, &all):
		return all
	case errors.As(err, &one):
		return Problems{one}
	}
	return nil
}

// source is whose template is looked at, so that problems can name it.
type source struct {
	component, definition string
	isTrait               bool
}

func (s source) problem(field, format string, values ...any) Problem {
	return Problem{Component: s.component, Definition: s.definition, IsTrait: s.isTrait, Field: field, Message: fmt.Sprintf(format, values...)}
}

func (s source) problems(field, format string, values ...any) Problems {
	return Problems{s.problem(field, format, values...)}
}

// enough keeps messages readable: ten problems are told, and each of them once.
func (p Problems) enough() Problems {
	var kept Problems
	seen := map[Problem]bool{}
	for _, one := range p {
		if len(kept) < maxProblems && !seen[one] {
			kept = append(kept, one)
			seen[one] = true
		}
	}
	return kept
}

// shorten keeps a text that others wrote on one line of bounded length.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// fieldPath joins a path as people write it: a.b[0]["c.d"].
func fieldPath(steps []string) string {
	var b strings.Builder
	for i, step := range steps {
		_, notNumber := strconv.Atoi(step)
		switch {
		case notNumber == nil && i > 0:
			b.WriteString("[" + step + "]")
		case strings.ContainsAny(step, ". []\""):
			b.WriteString("[" + strconv.Quote(shorten(step)) + "]")
		case i > 0:
			b.WriteString("." + shorten(step))
		default:
			b.WriteString(step)
		}
	}
	return b.String()
}
