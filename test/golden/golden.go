// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// File compares got with a file, or writes it.
func File(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("no golden file yet: run go test -update: %v", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-golden +now; go test -update accepts it):\n%s", path, diff)
	}
}

// Text is File for testdata/<file> of the package under test.
func Text(t testing.TB, file, got string) {
	t.Helper()
	File(t, filepath.Join("testdata", file), got)
}

// Lines is Text for lines without their ends.
func Lines(t testing.TB, file string, lines []string) {
	t.Helper()
	Text(t, file, strings.Join(lines, "\n")+"\n")
}
