// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// emulate plays what was written on an endless terminal and gives its lines.
func emulate(t rapid.TB, written string) (lines []string, cursorHidden bool) {
	t.Helper()
	screen := [][]rune{{}}
	row, col := 0, 0
	sequence := regexp.MustCompile(`^\x1b\[(\??[0-9]*)([A-Za-z])`)
	for len(written) > 0 {
		if m := sequence.FindStringSubmatch(written); m != nil {
			written = written[len(m[0]):]
			switch m[2] {
			case "A":
				n, _ := strconv.Atoi(m[1])
				if row -= n; row < 0 {
					t.Fatalf("the cursor went above the first line")
				}
			case "K":
				screen[row] = screen[row][:min(col, len(screen[row]))]
			case "J":
				screen = screen[:row+1]
				screen[row] = screen[row][:min(col, len(screen[row]))]
			case "l", "h":
				cursorHidden = m[2] == "l"
			default:
				t.Fatalf("unknown sequence %q", m[0])
			}
			continue
		}
		r := []rune(written)[0]
		written = written[len(string(r)):]
		switch r {
		case '\r':
			col = 0
		case '\n':
			if row++; row == len(screen) {
				screen = append(screen, nil)
			}
		default:
			for len(screen[row]) <= col {
				screen[row] = append(screen[row], ' ')
			}
			screen[row][col] = r
			col++
		}
	}
	for _, line := range screen[:len(screen)-1] {
		lines = append(lines, string(line))
	}
	return lines, cursorHidden
}

func TestScreenShowsTheLastBlockOnly(t *testing.T) {
	line := rapid.SampledFrom([]string{"", "web", "web-1 available", "✔ ok"})
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		screen := NewScreen(&out)
		blocks := rapid.SliceOfN(rapid.SliceOfN(line, 0, 5), 1, 6).Draw(t, "blocks")
		for _, block := range blocks {
			if err := screen.Draw(block); err != nil {
				t.Fatal(err)
			}
		}
		want := blocks[len(blocks)-1]
		got, hidden := emulate(t, out.String())
		if !hidden {
			t.Fatalf("the cursor is visible while drawing")
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Fatalf("terminal (-want +got):\n%s", cmp.Diff(want, got))
		}
		if err := screen.Close(); err != nil {
			t.Fatal(err)
		}
		if _, hidden := emulate(t, out.String()); hidden {
			t.Fatalf("the cursor stays hidden after closing")
		}
	})
}

func TestScreenSendsOnlyWhatChanged(t *testing.T) {
	var out bytes.Buffer
	screen := NewScreen(&out)
	if err := screen.Draw([]string{"same", "old"}); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := screen.Draw([]string{"same", "new"}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "same") || !strings.Contains(got, "new") {
		t.Errorf("sent %q", got)
	}
}

func TestDetectIsPlainWithoutATerminal(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for sentence, test := range map[string]struct {
		term  string
		ascii bool
	}{
		"a file is plain":            {"xterm", false},
		"TERM=dumb also means ASCII": {"dumb", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := Detect(file, func(key string) string { return map[string]string{"TERM": test.term}[key] })
			if got.Interactive || got.Color || got.ASCII != test.ascii {
				t.Errorf("got %+v", got)
			}
			if w, h := got.Size(); w != 0 || h != 0 {
				t.Errorf("size %d x %d, want unknown", w, h)
			}
		})
	}
}
