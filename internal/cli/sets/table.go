// SPDX-License-Identifier: Apache-2.0

package sets

import (
	"cmp"
	"fmt"
	"slices"

	"slipway.dev/slipway/internal/cli/tree"
)

// Table lays many sets out as a table, by namespace and name. Namespaces adds their column, wide adds
// strategy, revision and images.
func Table(views []View, namespaces, wide bool) ([]tree.Column, []tree.Node) {
	columns := []tree.Column{
		{Title: "NAME"}, {Title: "DESIRED", Drop: 3}, {Title: "UPDATED", Drop: 2}, {Title: "READY", Drop: 2},
		{Title: "AVAILABLE", Drop: 1}, {Title: "AGE", Drop: 4},
	}
	if wide {
		columns = append(columns, tree.Column{Title: "STRATEGY"}, tree.Column{Title: "REVISION"}, tree.Column{Title: "IMAGES"})
	}
	return Rows(columns, views, namespaces, func(v View) []tree.Span { return v.cells(wide) })
}

func (v View) cells(wide bool) []tree.Span {
	cells := []tree.Span{
		{Text: v.Name}, {Text: fmt.Sprint(v.Desired)}, {Text: fmt.Sprint(v.Updated)}, {Text: fmt.Sprint(v.Ready)},
		{Text: fmt.Sprint(v.Available)}, {Text: age(v.Age)},
	}
	if wide {
		cells = append(cells, tree.Span{Text: v.Strategy}, tree.Span{Text: orDash(v.UpdateRevision)},
			tree.Span{Text: join(v.Images)})
	}
	return cells
}

// Rows lays many objects out under columns of their kind, by namespace and name, each with its mark in front and its headline at
// the end. Namespaces adds their column.
func Rows(columns []tree.Column, views []View, namespaces bool, cells func(View) []tree.Span) ([]tree.Column, []tree.Node) {
	columns = append(columns, tree.Column{Title: "STATUS"})
	if namespaces {
		columns = slices.Insert(columns, 0, tree.Column{Title: "NAMESPACE"})
	}
	sorted := slices.SortedFunc(slices.Values(views), func(a, b View) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	rows := make([]tree.Node, 0, len(sorted))
	for _, v := range sorted {
		row := cells(v)
		if namespaces {
			row = slices.Insert(row, 0, tree.Span{Text: v.Namespace})
		}
		mark := v.Phase.mark()
		rows = append(rows, tree.Node{Mark: mark, Cells: append(row, tree.Span{Text: v.Headline, Tone: tone(mark)})})
	}
	return columns, rows
}
