// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"slipway.dev/slipway/internal/rollout/engine"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./hack/states FILE.dot")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(Dot()), 0o644); err != nil { //nolint:gosec // documentation, for everybody to read
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Dot is the table of states in the language of graphviz. The ways that every running state has are drawn once.
func Dot() string {
	var b strings.Builder
	b.WriteString(`digraph rollout {
  rankdir=TB; nodesep=0.45; ranksep=0.5; fontname="Helvetica";
  node [shape=box, style="rounded,filled", fillcolor="#eef3fb", color="#4a6fa5", fontname="Helvetica", fontsize=12];
  edge [color="#555555", fontname="Helvetica", fontsize=10];
  running [label="any running state", style="rounded,dashed", color="#888888"];
`)
	for _, s := range engine.States() {
		if s.Batch == "" {
			fmt.Fprintf(&b, "  %s%s;\n", id(s), look(s))
		}
	}
	b.WriteString("  subgraph cluster_batches {\n    label=\"rollingInBatches\"; style=\"rounded\"; color=\"#4a6fa5\"; fontsize=12;\n")
	for _, s := range engine.States() {
		if s.Batch != "" {
			fmt.Fprintf(&b, "    %s%s;\n", id(s), look(s))
		}
	}
	b.WriteString("  }\n")
	told := map[engine.Event]bool{}
	for _, e := range engine.Edges() {
		from, common := id(e.From), engine.Always(e.On) && e.From != engine.None && !e.From.Rolling.IsFinal()
		if common {
			if told[e.On] {
				continue
			}
			told[e.On], from = true, "running"
		}
		fmt.Fprintf(&b, "  %s -> %s [label=%q];\n", from, id(e.To), e.On)
	}
	b.WriteString("}\n")
	return b.String()
}

func id(s engine.State) string {
	switch {
	case s == engine.None:
		return "none"
	case s.Batch != "":
		return string(s.Batch)
	}
	return string(s.Rolling)
}

func look(s engine.State) string {
	switch s {
	case engine.None:
		return ` [label="", shape=circle, width=0.2, fillcolor="#333333"]`
	case engine.Succeeded:
		return ` [fillcolor="#dff3df", color="#3c8d40", peripheries=2]`
	case engine.Failed:
		return ` [fillcolor="#fbe3e3", color="#b23b3b", peripheries=2]`
	case engine.Failing, engine.BatchVerifyFailed:
		return ` [fillcolor="#fbeee3", color="#b2703b"]`
	}
	return ""
}
