// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"strings"

	"slipway.dev/slipway/internal/cli/live"
)

// narrator tells the story between the pictures.
type narrator struct {
	terminal live.Terminal
	chapter  int
}

// begin starts a numbered chapter.
func (n *narrator) begin(format string, args ...any) {
	n.chapter++
	title := fmt.Sprintf("%d. %s", n.chapter, fmt.Sprintf(format, args...))
	if n.terminal.Color {
		title = "\x1b[1m" + title + "\x1b[0m"
	}
	fmt.Fprintf(n.terminal.Out, "\n%s\n", title)
}

func (n *narrator) say(format string, args ...any) {
	fmt.Fprintln(n.terminal.Out, strings.TrimRight("   "+fmt.Sprintf(format, args...), " "))
}

func (n *narrator) lines(lines []string) {
	for _, line := range lines {
		n.say("%s", line)
	}
}

// space separates a picture from what is said around it.
func (n *narrator) space() { fmt.Fprintln(n.terminal.Out) }

// aside is for the output of others, indented like what is said.
func (n *narrator) aside() io.Writer { return &indented{out: n.terminal.Out, fresh: true} }

type indented struct {
	out   io.Writer
	fresh bool // at the beginning of a line
}

func (w *indented) Write(p []byte) (int, error) {
	var text []byte
	for _, c := range p {
		if w.fresh && c != '\n' {
			text = append(text, "   "...)
		}
		w.fresh = c == '\n'
		text = append(text, c)
	}
	if _, err := w.out.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}
