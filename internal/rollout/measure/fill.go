// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// mark stands before and after the name of a text that is to be filled in.
const mark = "\x00"

// filler reads a query from front to back, and so knows whether a text stands inside a string of it.
type filler struct {
	promQL bool
	out    strings.Builder
	// quote is what the string that is open ends with, a line end inside a comment, and 0 outside of both.
	quote byte
	// pattern is whether the string is a regular expression.
	pattern bool
	// filled is whether a text was filled into the string.
	filled bool
	// cut is whether an escape has begun inside the string, with nothing of the query left to escape.
	cut bool
}

// fill puts texts in the place of their marks, as strings of the language that the provider takes.
func fill(query string, provider rolloutv1alpha1.MetricProviderType, texts map[string]string) (string, error) {
	f := filler{promQL: provider != rolloutv1alpha1.WebProvider}
	for query != "" {
		if name, rest, isMark := cutMark(query); isMark {
			text, err := f.text(texts[name])
			if err != nil {
				return "", fmt.Errorf("{{ .%s }}: %w", name, err)
			}
			f.out.WriteString(text)
			f.filled = true
			query = rest
			continue
		}
		query = query[f.literal(query):]
	}
	if f.filled && (f.quote == '"' || f.quote == '\'' || f.quote == '`') {
		return "", fmt.Errorf("the string that %c begins has no end", f.quote)
	}
	return f.out.String(), nil
}

func cutMark(query string) (name, rest string, isMark bool) {
	query, isMark = strings.CutPrefix(query, mark)
	if !isMark {
		return "", "", false
	}
	return strings.Cut(query, mark)
}

// literal takes one character of the query, or two when the first escapes the second.
func (f *filler) literal(query string) int {
	n := 1
	switch c := query[0]; {
	case f.quote == 0 && (c == '"' || c == '\'' || c == '`' && f.promQL):
		f.pattern, f.filled = f.afterMatch(), false
		f.quote = c
	case f.quote == 0 && c == '#' && f.promQL:
		f.quote = '\n'
	case f.quote == c:
		f.quote = 0
	case c == '\\' && (f.quote == '"' || f.quote == '\''):
		if f.cut = len(query) > 1 && query[1:2] == mark; !f.cut {
			n = min(2, len(query))
		}
	}
	f.out.WriteString(query[:n])
	return n
}

// afterMatch tells whether a string that stands here is a regular expression.
func (f *filler) afterMatch() bool {
	before := strings.TrimRight(f.out.String(), " \t\n")
	return f.promQL && (strings.HasSuffix(before, "=~") || strings.HasSuffix(before, "!~"))
}

// text is a text as it can stand here.
func (f *filler) text(text string) (string, error) {
	// A regular expression of JSONPath's cannot be told from its other parts, and its keys know no escapes.
	if quoted := strconv.Quote(text); !f.promQL && (quoted != `"`+text+`"` || strings.Contains(text, "'")) {
		return "", fmt.Errorf("%s cannot stand in a JSONPath", quoted)
	}
	if f.cut {
		return "", errors.New("a backslash stands before it")
	}
	if f.quote == 0 && f.afterMatch() || f.quote != 0 && f.pattern {
		text = regexp.QuoteMeta(text)
	}
	quoted := strconv.Quote(text)
	escaped := quoted[1 : len(quoted)-1]
	switch f.quote {
	case '"':
		return escaped, nil
	case '\'':
		return strings.ReplaceAll(strings.ReplaceAll(escaped, `\"`, `"`), `'`, `\'`), nil
	case '`':
		if strings.Contains(text, "`") {
			return "", fmt.Errorf("%s cannot stand between backquotes", quoted)
		}
		return text, nil
	default:
		return quoted, nil
	}
}
