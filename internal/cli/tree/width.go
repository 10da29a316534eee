// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width is the number of terminal columns that a text takes. Where terminals disagree
// (joined emoji) it is the larger number, so that a line may be short but never wraps.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x20 || (r >= 0x7f && r < 0xa0): // control
		return 0
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Clean makes a text from outside safe to print on one line: what a cluster holds may come
// from anybody, and an escape sequence in a message must not reach the terminal.
func Clean(text string) string {
	if strings.IndexFunc(text, unsafeRune) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unsafeRune(r):
			return unicode.ReplacementChar
		default:
			return r
		}
	}, text)
}

// unsafeRune also holds the characters that turn the direction of text around.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
}

// Cut shortens a text to at most limit columns, with the ellipsis at its end if anything was cut.
func Cut(text string, limit int, ellipsis string) string {
	if Width(text) <= limit {
		return text
	}
	room := limit - Width(ellipsis)
	if room < 0 {
		ellipsis, room = "", limit
	}
	used, end := 0, 0
	for i, r := range text {
		w := runeWidth(r)
		if used+w > room {
			break
		}
		used, end = used+w, i+len(string(r))
	}
	return text[:end] + ellipsis
}
