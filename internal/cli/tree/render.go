// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"slices"
	"strings"
)

const (
	gap = 2 // columns between two cells
	// keep is how much of the last column must stay visible before other columns give way to it.
	keep = 32
)

// Render gives the lines of a document, without line ends.
func Render(doc Document, opt Options) []string {
	fold := opt.Fold
	lines := render(doc, opt, fold)
	if opt.Height <= 0 || len(lines) <= opt.Height {
		return lines
	}
	if fold <= 0 || fold > opt.Height {
		fold = opt.Height
	}
	for ; fold >= 1 && len(lines) > opt.Height; fold-- {
		lines = render(doc, opt, fold)
	}
	if len(lines) > opt.Height {
		p := printer{Options: opt}
		hidden := len(lines) - opt.Height + 1
		more := p.line([]Span{{Text: fmt.Sprintf("%s %d more lines", p.glyphs().ellipsis, hidden), Tone: Faint}})
		lines = append(lines[:opt.Height-1:opt.Height-1], more)
	}
	return lines
}

// row is a line of the tree before it is laid out.
type row struct {
	prefix  string // branches
	mark    Mark
	heading []Span
	cells   []Span
}

func render(doc Document, opt Options, fold int) []string {
	p := printer{Options: opt}
	rows := flatten(doc.Nodes, "", fold, p.glyphs())

	var lines []string
	if len(doc.Head) > 0 {
		lines = append(lines, p.line(p.marked(doc.Mark, doc.Head)))
	}
	lines = append(lines, p.facts(doc.Facts)...)
	if len(rows) > 0 {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, p.table(doc.Columns, rows)...)
	}
	if len(doc.Foot) > 0 {
		lines = append(lines, "")
		for _, foot := range doc.Foot {
			lines = append(lines, p.line(foot))
		}
	}
	return lines
}

// flatten walks the tree in order and folds long groups of children.
func flatten(nodes []Node, prefix string, fold int, g glyphs) []row {
	shown, rest := Fold(nodes, fold)
	var rows []row
	for i, node := range shown {
		branch, below := g.tee, g.pipe
		if i == len(shown)-1 && rest == "" {
			branch, below = g.corner, g.blank
		}
		rows = append(rows, row{prefix: prefix + branch, mark: node.Mark, heading: node.Heading, cells: node.Cells})
		rows = append(rows, flatten(node.Children, prefix+below, fold, g)...)
	}
	if rest != "" {
		rows = append(rows, row{prefix: prefix + g.corner, heading: []Span{{Text: g.ellipsis + " " + rest, Tone: Faint}}})
	}
	return rows
}

// Fold picks the nodes that are shown when at most limit may be (0 is all), in their order,
// and counts the others by class. Quiet nodes go first; if the others alone are still too many,
// the last of them go too.
func Fold(nodes []Node, limit int) (shown []Node, rest string) {
	if limit <= 0 || len(nodes) <= limit || len(nodes) <= 1 {
		return nodes, ""
	}
	var classes []string
	hidden := map[string]int{}
	for _, node := range nodes {
		if !node.Quiet && len(shown) < limit {
			shown = append(shown, node)
			continue
		}
		if hidden[node.Class] == 0 {
			classes = append(classes, node.Class)
		}
		hidden[node.Class]++
	}
	if len(classes) == 0 {
		return shown, ""
	}
	counts := make([]string, 0, len(classes))
	total := 0
	for _, class := range classes {
		counts = append(counts, strings.TrimSpace(fmt.Sprintf("%d %s", hidden[class], Clean(class))))
		total += hidden[class]
	}
	if len(classes) == 1 {
		if len(shown) == 0 {
			return nil, counts[0]
		}
		return shown, "and " + counts[0]
	}
	return shown, fmt.Sprintf("and %d: %s", total, strings.Join(counts, ", "))
}

type printer struct{ Options }

func (p printer) glyphs() glyphs {
	if p.ASCII {
		return asciiGlyphs
	}
	return unicodeGlyphs
}

func (p printer) marked(mark Mark, spans []Span) []Span {
	if mark == None {
		return spans
	}
	return append([]Span{{Text: p.glyphs().marks[mark], Tone: toneOf(mark)}, {Text: " "}}, spans...)
}

// line joins spans, cut to the width.
func (p printer) line(spans []Span) string {
	total := 0
	for _, s := range spans {
		total += Width(Clean(s.Text))
	}
	ellipsis := Cut(p.glyphs().ellipsis, p.Width, "")
	room := p.Width - Width(ellipsis)
	var b strings.Builder
	for _, s := range spans {
		text := Clean(s.Text)
		if p.Width > 0 && total > p.Width {
			if Width(text) > room {
				b.WriteString(p.paint(Cut(text, room, "")+ellipsis, s.Tone))
				break
			}
			room -= Width(text)
		}
		b.WriteString(p.paint(text, s.Tone))
	}
	return strings.TrimRight(b.String(), " ")
}

func (p printer) facts(facts []Fact) []string {
	wide := 0
	for _, f := range facts {
		wide = max(wide, Width(f.Name))
	}
	lines := make([]string, 0, len(facts))
	for _, f := range facts {
		name := Span{Text: "  " + pad(f.Name, wide) + "  ", Tone: Faint}
		lines = append(lines, p.line(append([]Span{name}, f.Value...)))
	}
	return lines
}

// table lays out the rows below one line of titles.
func (p printer) table(columns []Column, rows []row) []string {
	widths := make([]int, len(columns))
	filled := make([]bool, len(columns))
	anyCells := false
	for _, r := range rows {
		for c := range columns {
			text := p.cell(r, c)
			if len(r.cells) > 0 && text != "" {
				filled[c], anyCells = true, true
				widths[c] = max(widths[c], Width(text), Width(columns[c].Title), columns[c].Min)
			}
		}
	}
	shown := p.choose(columns, widths, filled)
	var lines []string
	if anyCells {
		var titles []Span
		for i, c := range shown {
			titles = append(titles, Span{Text: fit(columns[c].Title, widths[c], i == len(shown)-1), Tone: Faint})
		}
		lines = append(lines, p.line(titles))
	}
	for _, r := range rows {
		lines = append(lines, p.row(r, shown, widths))
	}
	return lines
}

// cell is the text of a cell as it is measured; the first one includes branches and mark.
func (p printer) cell(r row, c int) string {
	if c >= len(r.cells) {
		return ""
	}
	text := p.text(r.cells[c])
	if c == 0 {
		return r.prefix + p.icon(r.mark) + text
	}
	return text
}

// text is what a cell shows.
func (p printer) text(cell Span) string { return p.icon(cell.Icon) + Clean(cell.Text) }

func (p printer) icon(mark Mark) string {
	if mark == None {
		return ""
	}
	return p.glyphs().marks[mark] + " "
}

// choose drops columns until the line fits, the last one counting with at most keep.
func (p printer) choose(columns []Column, widths []int, filled []bool) []int {
	var shown []int
	for c := range columns {
		if filled[c] || c == 0 {
			shown = append(shown, c)
		}
	}
	for p.Width > 0 {
		need := 0
		for i, c := range shown {
			if i == len(shown)-1 {
				need += min(widths[c], keep)
			} else {
				need += widths[c] + gap
			}
		}
		worst := -1
		for i, c := range shown {
			if columns[c].Drop > 0 && (worst < 0 || columns[c].Drop > columns[shown[worst]].Drop) {
				worst = i
			}
		}
		if need <= p.Width || worst < 0 {
			break
		}
		shown = slices.Delete(shown, worst, worst+1)
	}
	return shown
}

func (p printer) row(r row, shown []int, widths []int) string {
	lead := []Span{{Text: r.prefix, Tone: Faint}}
	if r.mark != None {
		lead = append(lead, Span{Text: p.icon(r.mark), Tone: toneOf(r.mark)})
	}
	if len(r.cells) == 0 {
		return p.line(append(lead, r.heading...))
	}
	spans := lead
	for i, c := range shown {
		last := i == len(shown)-1
		var cell Span
		if c < len(r.cells) {
			cell = r.cells[c]
		}
		room := widths[c]
		if c == 0 {
			room -= Width(r.prefix) + Width(p.icon(r.mark))
		}
		spans = append(spans, Span{Text: fit(p.text(cell), room, last), Tone: cell.Tone})
	}
	return p.line(spans)
}

// fit pads a cell to its column and the gap behind it; the last one ends where its text ends.
func fit(text string, wide int, last bool) string {
	if last {
		return text
	}
	return pad(text, wide+gap)
}

func pad(text string, wide int) string {
	return text + strings.Repeat(" ", max(wide-Width(text), 0))
}

// Table gives the lines of a plain table without branches: titles, then one line per row.
// Height and Fold of the options do not count.
func Table(columns []Column, nodes []Node, opt Options) []string {
	rows := make([]row, 0, len(nodes))
	for _, node := range nodes {
		rows = append(rows, row{mark: node.Mark, heading: node.Heading, cells: node.Cells})
	}
	return printer{Options: opt}.table(columns, rows)
}
