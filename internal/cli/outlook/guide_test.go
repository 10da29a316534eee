// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// TestTheGuideShowsWhatIsTold: the block of the guide is what is printed of the manifest above it, but for what dots leave out.
func TestTheGuideShowsWhatIsTold(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guide", "plan-a-release.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\n## A rollout\n")
	block := func(kind string) string {
		t.Helper()
		_, after, found := strings.Cut(rest, "```"+kind+"\n")
		if !found {
			t.Fatalf("the guide has no block of %s", kind)
		}
		inside, _, _ := strings.Cut(after, "\n```")
		return inside
	}
	r := &rolloutv1alpha1.RolloutTrait{}
	if err := yaml.UnmarshalStrict([]byte(block("yaml")), r); err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t}
	s.held(kruise, "CloneSet")
	printed := s.foresee(r, nil).Lines(false)
	left := printed
	for _, line := range strings.Split(block("text"), "\n") {
		if line == "…" {
			continue
		}
		at := slices.Index(left, line)
		if at < 0 {
			t.Fatalf("the guide shows %q, and that is not printed, or not there:\n%s", line, strings.Join(printed, "\n"))
		}
		left = left[at+1:]
	}
}
