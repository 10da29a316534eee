// SPDX-License-Identifier: Apache-2.0

package tree

// Mark is the icon in front of a line.
type Mark int

// The marks. None leaves no space for an icon.
const (
	None    Mark = iota
	Good         // all is as wanted
	Working      // something is being done
	Waiting      // nothing is done until something else happens
	Paused       // a person said stop
	Bad          // it failed, or will not get there alone
	Leaving      // it is going away
)

// Tone is how a piece of text is coloured, where colours are wanted.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Strong
	Faint
	Fine  // good news
	Alert // worth a look
	Wrong // bad news
)

// Span is a piece of text in one tone.
type Span struct {
	Text string
	Tone Tone
	// Icon stands before the text of a cell. In other places it is left out.
	Icon Mark
}

// Fact is one line below the head: a name and what is known under it.
type Fact struct {
	Name  string
	Value []Span
}

// Column is one column of the table that the rows of the tree share.
type Column struct {
	Title string
	// Min is the least width, so that the table does not jump when short words come and go.
	Min int
	// Drop says in which order columns give way when the line gets too narrow:
	// the highest goes first, 0 stays.
	Drop int
}

// Node is one line of the tree: a heading when it has Heading, otherwise a row of the table.
type Node struct {
	Mark Mark
	// Heading runs over all columns.
	Heading []Span
	// Cells are the row; the first one stands in the tree. Missing cells are empty.
	Cells []Span
	// Quiet nodes are the first to be folded away when there are too many.
	Quiet bool
	// Class names what folded nodes are counted under, like "available".
	Class    string
	Children []Node
}

// Document is what is rendered.
type Document struct {
	Mark    Mark
	Head    []Span
	Facts   []Fact
	Columns []Column
	Nodes   []Node
	// Foot are lines below the tree.
	Foot [][]Span
}

// Options say for whom a document is rendered. The zero value is a plain file without limits.
type Options struct {
	// Width is the number of terminal columns; 0 is no limit.
	Width int
	// Height is the number of lines; 0 is no limit. Groups are folded further to fit it,
	// and what still does not fit is cut off with a note.
	Height int
	// Fold is how many children of one node are shown before they are folded; 0 is all.
	Fold int
	// ASCII avoids every other character in what this package adds.
	ASCII bool
	// Color adds ANSI colours.
	Color bool
}
