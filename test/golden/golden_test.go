// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"slipway.dev/slipway/test/golden"
)

// asked is a test that is asked what it says.
type asked struct {
	testing.TB
	said string
}

func (a *asked) Helper() {}

func (a *asked) Errorf(format string, args ...any) { a.said = fmt.Sprintf(format, args...) }

func (a *asked) Fatalf(format string, args ...any) {
	a.Errorf(format, args...)
	runtime.Goexit()
}

func TestADifferenceAndAMissingFileAreTold(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("testdata", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "web.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for sentence, c := range map[string]struct {
		file  string
		lines []string
		want  string
	}{
		"the same":        {"web.txt", []string{"one", "two"}, ""},
		"another line":    {"web.txt", []string{"one", "three"}, "three"},
		"no file is here": {"api.txt", []string{"one"}, "go test -update"},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := &asked{TB: t}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				golden.Lines(a, c.file, c.lines)
			}()
			<-ended
			if (a.said == "") != (c.want == "") || !strings.Contains(a.said, c.want) {
				t.Errorf("it says %q, want something with %q", a.said, c.want)
			}
		})
	}
}
