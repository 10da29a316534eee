// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSectionsHaveTheirBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "guide.md")
	const text = "# A guide\n\n```sh\nnot yet\n```\n\n## 1. First\n\n```yaml\na: 1\n```\n\n```sh\none\n```\n\nand\n\n```sh\ntwo\n```\n## 2. Second\n\n```console\n$ three\n```\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Text = strings.SplitN(got[i].Text, "\n", 2)[0]
	}
	want := []Section{
		{Text: "First", Commands: []string{"one\n", "two\n"}, Manifests: []string{"a: 1\n"}},
		{Text: "Second", Shown: []string{"$ three\n"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
}

func TestAShellKeepsItsVariablesAndEndsWithAFailure(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(t.Context(), dir, "GREETING=hello")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, step := range []struct{ commands, want string }{
		{"name=world", ""}, {"echo $GREETING $name", "hello world\n"}, {"pwd", dir + "\n"},
	} {
		if got, err := s.Run(step.commands); err != nil || got != step.want {
			t.Errorf("%s: got %q, %v, want %q", step.commands, got, err, step.want)
		}
	}
	if got, err := s.Run("echo before\nfalse\necho after"); err == nil || got != "before\n" {
		t.Errorf("a command that fails: got %q, %v", got, err)
	}
	if _, err := s.Run("echo again"); err == nil {
		t.Error("the shell goes on after a failure")
	}
}
