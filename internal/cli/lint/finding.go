// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Finding is one thing that is wrong.
type Finding struct {
	// Field is its path, Value what stands there, empty for nothing, and Allowed says what may.
	Field, Value, Allowed string
}

// String is the finding in one line.
func (f Finding) String() string {
	if f.Value == "" {
		return fmt.Sprintf("%s: %s", f.Field, f.Allowed)
	}
	return fmt.Sprintf("%s: %s is not allowed: %s", f.Field, f.Value, f.Allowed)
}

// place is a path, and all that was found so far.
type place struct {
	path  string
	found *[]Finding
}

func (p place) at(field string) place { return place{p.path + "." + field, p.found} }

func (p place) item(i int) place { return place{fmt.Sprintf("%s[%d]", p.path, i), p.found} }

// report notes a finding; value is as a manifest would have it.
func (p place) report(value any, allowed string, args ...any) {
	text := ""
	switch v := value.(type) {
	case nil:
	case string:
		text = fmt.Sprintf("%q", v)
	case *intstr.IntOrString:
		text = v.String()
		if v.Type == intstr.String {
			text = fmt.Sprintf("%q", v.StrVal)
		}
	default:
		text = fmt.Sprint(v)
	}
	*p.found = append(*p.found, Finding{Field: p.path, Value: text, Allowed: fmt.Sprintf(allowed, args...)})
}

// between wants a number in a range; nil is the default.
func (p place) between(n *int32, low, high int32) {
	if n != nil && (*n < low || *n > high) {
		p.report(*n, "%s", numbers(low, high))
	}
}

func numbers(low, high int32) string {
	if high == maxInt32 {
		return fmt.Sprintf("use a whole number of %d or more", low)
	}
	return fmt.Sprintf("use a whole number from %d to %d", low, high)
}

const maxInt32 = 1<<31 - 1

// oneOf wants one of some words; empty is the default where optional.
func (p place) oneOf(value string, optional bool, words ...string) {
	if value == "" && optional || slices.Contains(words, value) {
		return
	}
	if value == "" {
		p.report(nil, "is missing: use one of %s", strings.Join(words, ", "))
		return
	}
	p.report(value, "use one of %s", strings.Join(words, ", "))
}

// text wants a text of some length, and of a form if one is given.
func (p place) text(value string, longest int, form *regexp.Regexp, like string) {
	switch {
	case value == "":
		p.report(nil, "is missing")
	case len([]rune(value)) > longest:
		p.report(value, "use at most %d characters", longest)
	case form != nil && !form.MatchString(value):
		p.report(value, "write it like %s", like)
	}
}

func (p place) atMost(n, most int) {
	if n > most {
		p.report(fmt.Sprintf("%d items", n), "at most %d", most)
	}
}

// once wants each key once.
func (p place) once(i int, key string, earlier []string, what string) {
	if slices.Contains(earlier, key) {
		p.item(i).at("name").report(key, "each name stands once%s", what)
	}
}
