// SPDX-License-Identifier: Apache-2.0

package live

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Terminal is what is known about the place that is written to.
type Terminal struct {
	Out io.Writer
	// Interactive says that lines can be redrawn in place.
	Interactive bool
	// Color says that colours are shown and wanted.
	Color bool
	// ASCII says that nothing but ASCII should be used for decoration.
	ASCII bool
	// Size gives columns and lines, asked anew for each drawing; 0 is unknown.
	Size func() (width, height int)
}

// Detect looks at out and at the environment: TERM=dumb gives plain ASCII lines, a set NO_COLOR
// (https://no-color.org) no colours. What is not a terminal gets neither colours nor redrawing.
func Detect(out io.Writer, getenv func(string) string) Terminal {
	t := Terminal{Out: out, Size: func() (int, int) { return 0, 0 }}
	t.ASCII = getenv("TERM") == "dumb"
	file, isFile := out.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return t
	}
	t.Interactive = !t.ASCII
	t.Color = !t.ASCII && getenv("NO_COLOR") == ""
	t.Size = func() (int, int) {
		width, height, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 0, 0
		}
		return width, height
	}
	return t
}
