// SPDX-License-Identifier: Apache-2.0

package tree

import "strings"

// glyphs are the characters that the renderer adds. All branches are equally wide.
type glyphs struct {
	tee, pipe, corner, blank, ellipsis string
	marks                              map[Mark]string
}

var unicodeGlyphs = glyphs{
	tee: "├─ ", pipe: "│  ", corner: "└─ ", blank: "   ", ellipsis: "…",
	marks: map[Mark]string{Good: "✔", Working: "↻", Waiting: "◌", Paused: "⏸", Bad: "✖", Leaving: "⊖"},
}

var asciiGlyphs = glyphs{
	tee: "|- ", pipe: "|  ", corner: "`- ", blank: "   ", ellipsis: "...",
	marks: map[Mark]string{Good: "+", Working: "~", Waiting: ".", Paused: "=", Bad: "x", Leaving: "-"},
}

func toneOf(mark Mark) Tone {
	switch mark {
	case Good:
		return Fine
	case Bad:
		return Wrong
	case Working, Waiting, Paused:
		return Alert
	case Leaving:
		return Faint
	case None:
		return Plain
	}
	return Plain
}

// paint colours a text; spaces at its end stay outside, so that trimming a line still works.
func (p printer) paint(text string, tone Tone) string {
	code, found := colours[tone]
	core := strings.TrimRight(text, " ")
	if !p.Color || !found || core == "" {
		return text
	}
	return "\x1b[" + code + "m" + core + "\x1b[0m" + text[len(core):]
}

var colours = map[Tone]string{Strong: "1", Faint: "2", Fine: "32", Alert: "33", Wrong: "31"}
