// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"slipway.dev/slipway/test/golden"
)

func pods(from, to int, quiet bool) []Node {
	var nodes []Node
	for i := from; i < to; i++ {
		node := Node{
			Mark: Good, Quiet: quiet, Class: "available",
			Cells: []Span{{Text: fmt.Sprintf("web-%d", i)}, {Text: "available", Tone: Fine}, {Text: fmt.Sprintf("10.0.0.%d", i)}, {Text: "node-1"}},
		}
		if !quiet {
			node.Mark, node.Class = Waiting, "waiting"
			node.Cells[1] = Span{Text: "waiting", Tone: Alert}
			node.Cells = append(node.Cells, Span{Text: "the container app is not ready since the image cannot be pulled", Tone: Alert})
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func document(good, bad int) Document {
	return Document{
		Mark: Working,
		Head: []Span{{Text: "CloneSet demo/web", Tone: Strong}, {Text: "   updating: 5 of 12"}},
		Facts: []Fact{
			{Name: "replicas", Value: []Span{{Text: "12 desired, 9 available"}}},
			{Name: "update", Value: []Span{{Text: "in place, at most 3 unavailable"}}},
		},
		Columns: []Column{{Title: "POD"}, {Title: "STATE", Min: 10}, {Title: "IP", Drop: 2}, {Title: "NODE", Drop: 1}, {Title: "WHY"}},
		Nodes: []Node{
			{Heading: []Span{{Text: "revision 2", Tone: Strong}, {Text: " web:2"}}, Children: append(pods(0, good, true), pods(good, good+bad, false)...)},
			{Heading: []Span{{Text: "revision 1", Tone: Strong}, {Text: " web:1"}}, Children: pods(90, 92, true)},
		},
		Foot: [][]Span{{{Text: "watching"}}},
	}
}

func TestRenderGolden(t *testing.T) {
	for name, test := range map[string]struct {
		doc Document
		opt Options
	}{
		"plain":              {document(2, 1), Options{}},
		"all-quiet":          {document(2, 0), Options{}},
		"ascii":              {document(2, 1), Options{ASCII: true}},
		"color":              {document(1, 1), Options{Color: true}},
		"narrow-80":          {document(2, 1), Options{Width: 80}},
		"narrow-40":          {document(2, 1), Options{Width: 40}},
		"narrow-12-ascii":    {document(2, 1), Options{Width: 12, ASCII: true}},
		"folded":             {document(300, 3), Options{Fold: 10}},
		"folded-unavailable": {document(30, 30), Options{Fold: 4}},
		"low":                {document(30, 3), Options{Height: 14}},
		"too-low":            {document(30, 3), Options{Height: 5, Fold: 10}},
	} {
		t.Run(name, func(t *testing.T) { golden.Lines(t, name+".txt", Render(test.doc, test.opt)) })
	}
}

func TestFold(t *testing.T) {
	names := func(nodes []Node) (s []string) {
		for _, n := range nodes {
			s = append(s, n.Cells[0].Text)
		}
		return s
	}
	for sentence, test := range map[string]struct {
		nodes []Node
		limit int
		want  []string
		rest  string
	}{
		"no limit shows all":            {pods(0, 3, true), 0, []string{"web-0", "web-1", "web-2"}, ""},
		"what fits is not folded":       {pods(0, 2, true), 2, []string{"web-0", "web-1"}, ""},
		"a single node is never folded": {pods(0, 1, true), 0, []string{"web-0"}, ""},
		"quiet ones are counted":        {pods(0, 3, true), 2, nil, "3 available"},
		"the others are shown, in order": {append(pods(0, 3, true), pods(3, 5, false)...), 2,
			[]string{"web-3", "web-4"}, "and 3 available"},
		"too many others are counted too": {append(pods(0, 3, true), pods(3, 6, false)...), 2,
			[]string{"web-3", "web-4"}, "and 4: 3 available, 1 waiting"},
	} {
		t.Run(sentence, func(t *testing.T) {
			shown, rest := Fold(test.nodes, test.limit)
			if diff := cmp.Diff(test.want, names(shown)); diff != "" || rest != test.rest {
				t.Errorf("rest %q, want %q; shown (-want +got):\n%s", rest, test.rest, diff)
			}
		})
	}
}

var colour = regexp.MustCompile("\x1b\\[[0-9]+m")

// Whatever text a cluster holds: no line is wider than the terminal, there are no more lines than
// it has, and nothing but our own colours reaches it as a control sequence.
func TestRenderStaysInsideTheTerminal(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "你好世界", "é́́", "👩‍👩‍👧", "a\x1b[2Jb", "line\nline", "web-1"}))
	span := rapid.Custom(func(t *rapid.T) Span {
		return Span{Text: text.Draw(t, "text"), Tone: Tone(rapid.IntRange(0, 5).Draw(t, "tone"))}
	})
	leaf := rapid.Custom(func(t *rapid.T) Node {
		return Node{Mark: Mark(rapid.IntRange(0, 6).Draw(t, "mark")), Quiet: rapid.Bool().Draw(t, "quiet"), Class: text.Draw(t, "class"),
			Cells: rapid.SliceOfN(span, 0, 4).Draw(t, "cells")}
	})
	group := rapid.Custom(func(t *rapid.T) Node {
		return Node{Heading: rapid.SliceOfN(span, 0, 3).Draw(t, "heading"), Children: rapid.SliceOfN(leaf, 0, 8).Draw(t, "children")}
	})
	rapid.Check(t, func(t *rapid.T) {
		doc := Document{
			Head:    rapid.SliceOfN(span, 0, 3).Draw(t, "head"),
			Facts:   []Fact{{Name: "name", Value: rapid.SliceOfN(span, 0, 3).Draw(t, "fact")}},
			Columns: []Column{{Title: "A"}, {Title: "B", Drop: 2}, {Title: "C", Min: 7, Drop: 1}, {Title: "D"}},
			Nodes:   rapid.SliceOfN(group, 0, 3).Draw(t, "groups"),
		}
		opt := Options{
			Width: rapid.IntRange(1, 60).Draw(t, "width"), Height: rapid.IntRange(1, 30).Draw(t, "height"),
			Fold: rapid.IntRange(0, 10).Draw(t, "fold"), ASCII: rapid.Bool().Draw(t, "ascii"), Color: rapid.Bool().Draw(t, "color"),
		}
		lines := Render(doc, opt)
		if len(lines) > opt.Height {
			t.Fatalf("%d lines for a height of %d", len(lines), opt.Height)
		}
		for _, line := range lines {
			bare := line
			if opt.Color {
				bare = colour.ReplaceAllString(line, "")
			}
			if w := Width(bare); w > opt.Width {
				t.Fatalf("line %q is %d wide, the terminal %d", bare, w, opt.Width)
			}
			if strings.IndexFunc(bare, unsafeRune) >= 0 {
				t.Fatalf("line %q holds a control character", bare)
			}
		}
	})
}

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "web-1": 5, "你好": 4, "ｗｅｂ": 6, "e\u0301": 1, "✔": 1, "├─ ": 3, "a\u200bb": 2, "🚀": 2,
	} {
		if got := Width(text); got != want {
			t.Errorf("width of %q is %d, want %d", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for sentence, test := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"what fits stays":                       {"web", 3, "web"},
		"the ellipsis counts":                   {"web-1", 4, "web…"},
		"a wide character is not cut in halves": {"你好世界", 4, "你…"},
		"no room for anything":                  {"web", 0, ""},
		"an accent stays with its letter":       {"e\u0301abc", 2, "e\u0301…"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Cut(test.text, test.limit, "…"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
