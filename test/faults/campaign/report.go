// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"fmt"
	"slices"
	"strings"

	"slipway.dev/slipway/test/faults/judge"
)

// Cell is one operation of one kind under one fault.
type Cell struct {
	Fault     string `json:"fault"`
	Kind      string `json:"kind"`
	Operation string `json:"operation"`
	// Finished says that the status reported the spec as reached, Waiting what was missing where it did not.
	Finished bool   `json:"finished"`
	Waiting  string `json:"waiting,omitempty"`
	// Seconds is the wall time from the change of the spec until then; the fault is part of it.
	Seconds float64         `json:"seconds"`
	Broken  []judge.Finding `json:"broken"`
	// Writes is the most accepted writes of managers to one pod, Tries the most of all.
	Writes int `json:"writes"`
	Tries  int `json:"tries"`
}

// Good says that nothing was broken and that the operation finished.
func (c *Cell) Good() bool { return c.Finished && len(c.Broken) == 0 }

// Report is what a campaign found.
type Report struct {
	Seed   uint64            `json:"seed"`
	Faults map[string]string `json:"faults"` // by name, what each one is
	Cells  []Cell            `json:"cells"`
	// Errors are what kept a story from being told to its end.
	Errors []string `json:"errors,omitempty"`
}

// Good says that every cell is.
func (r *Report) Good() bool {
	return len(r.Errors) == 0 && !slices.ContainsFunc(r.Cells, func(c Cell) bool { return !c.Good() })
}

// String is the cell in one field of a table.
func (c *Cell) String() string {
	said := fmt.Sprintf("%.1f s", c.Seconds)
	if !c.Finished {
		said = "**did not finish** in " + said
	}
	counts := map[judge.Invariant]int{}
	for _, f := range c.Broken {
		counts[f.Invariant]++
	}
	for _, what := range slices.Sorted(func(yield func(judge.Invariant) bool) {
		for what := range counts {
			if !yield(what) {
				return
			}
		}
	}) {
		said += fmt.Sprintf(", **%s broken** %d×", what, counts[what])
	}
	return said
}

// Markdown is a table for each kind, and the faults in words.
func (r *Report) Markdown() string {
	var out strings.Builder
	var faults []string
	for _, c := range r.Cells {
		if !slices.Contains(faults, c.Fault) {
			faults = append(faults, c.Fault)
		}
	}
	for _, kind := range Kinds {
		rows := r.rows(kind, faults)
		if rows == "" {
			continue
		}
		fmt.Fprintf(&out, "### %s\n\n| fault | %s |\n|---%s|\n%s\n", kind, strings.Join(Operations, " | "), strings.Repeat("|---", len(Operations)), rows)
	}
	good, findings, writes, tries := 0, 0, 0, 0
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Good() {
			good++
		}
		findings += len(c.Broken)
		writes, tries = max(writes, c.Writes), max(tries, c.Tries)
	}
	fmt.Fprintf(&out, "%d of %d cells are good: %d broken invariants. One pod was changed at most %d times in one operation, and written to at most %d times. Seed %d.\n",
		good, len(r.Cells), findings, writes, tries, r.Seed)
	for _, e := range r.Errors {
		fmt.Fprintf(&out, "\nNot told to the end: %s\n", e)
	}
	return out.String()
}

func (r *Report) rows(kind string, faults []string) string {
	var out strings.Builder
	for _, fault := range faults {
		fields, played := make([]string, len(Operations)), false
		for i, operation := range Operations {
			n := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Kind == kind && c.Fault == fault && c.Operation == operation })
			if n >= 0 {
				fields[i], played = r.Cells[n].String(), true
			}
		}
		if played {
			fmt.Fprintf(&out, "| %s | %s |\n", r.Faults[fault], strings.Join(fields, " | "))
		}
	}
	return out.String()
}
