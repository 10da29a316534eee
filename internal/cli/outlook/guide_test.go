// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// TestTheGuideShowsWhatIsTold: each block of the guide is what is printed of the manifest above it, but for what dots leave out.
func TestTheGuideShowsWhatIsTold(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guide", "plan-a-release.md"))
	if err != nil {
		t.Fatal(err)
	}
	for title, told := range map[string]struct {
		rollout client.Object
		scene   func(*scene)
	}{
		"## A rollout":          {&rolloutv1alpha1.RolloutTrait{}, func(s *scene) { s.held(kruise, "CloneSet") }},
		"### Between revisions": {&oamv1beta1.AppRollout{}, func(s *scene) { s.apart("cart", true) }},
	} {
		t.Run(title, func(t *testing.T) {
			_, rest, _ := strings.Cut(string(raw), "\n"+title+"\n")
			block := func(kind string) string {
				t.Helper()
				_, after, found := strings.Cut(rest, "```"+kind+"\n")
				if !found {
					t.Fatalf("the guide has no block of %s", kind)
				}
				inside, _, _ := strings.Cut(after, "\n```")
				return inside
			}
			if err := yaml.UnmarshalStrict([]byte(block("yaml")), told.rollout); err != nil {
				t.Fatal(err)
			}
			s := &scene{t: t}
			told.scene(s)
			printed := s.foresee(told.rollout, nil).Lines(false)
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
		})
	}
}
