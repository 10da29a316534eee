// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"io"
	"strings"
)

// Screen redraws a block of lines in place. The caller keeps lines narrower than the terminal
// and the block lower: what wraps or scrolls cannot be overwritten.
type Screen struct {
	out    io.Writer
	drawn  []string
	hidden bool
}

// NewScreen starts below what is on the terminal now.
func NewScreen(out io.Writer) *Screen { return &Screen{out: out} }

// Draw replaces the block. Only lines that changed are sent.
func (s *Screen) Draw(lines []string) error {
	var b strings.Builder
	if !s.hidden {
		b.WriteString("\x1b[?25l")
		s.hidden = true
	}
	if n := len(s.drawn); n > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", n)
	}
	for i, line := range lines {
		if i >= len(s.drawn) || s.drawn[i] != line {
			b.WriteString(line)
			b.WriteString("\x1b[K")
		}
		b.WriteString("\r\n")
	}
	if len(lines) < len(s.drawn) {
		b.WriteString("\x1b[J")
	}
	s.drawn = append(s.drawn[:0], lines...)
	if _, err := io.WriteString(s.out, b.String()); err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	return nil
}

// Close leaves the block as it is and gives the cursor back.
func (s *Screen) Close() error {
	if !s.hidden {
		return nil
	}
	s.hidden, s.drawn = false, nil
	if _, err := io.WriteString(s.out, "\x1b[?25h"); err != nil {
		return fmt.Errorf("showing the cursor: %w", err)
	}
	return nil
}
