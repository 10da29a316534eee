// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func lines(checked []Checked) string {
	var b strings.Builder
	for _, c := range checked {
		fmt.Fprintf(&b, "%s: %s\n", c.Where, c.Note)
		for _, f := range c.Findings {
			fmt.Fprintf(&b, "  %s\n", f)
		}
	}
	return b.String()
}

func TestFilesGolden(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		size *int
	}{
		"good": {"good", nil}, "bad": {"bad", nil}, "good-for-twelve": {"good", ptr.To(12)}, "good-for-three": {"good", ptr.To(3)},
		"app": {"app", nil}, "app-for-five": {"app", ptr.To(5)},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("testdata", test.file+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			checked, err := File(test.file+".yaml", bytes.NewReader(raw), test.size)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, lines(checked))
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	for sentence, test := range map[string]struct{ text, want string }{
		"no YAML":                 {"a: [", "f: document 1"},
		"no object":               {"5", "is not an object of Kubernetes"},
		"nothing to check":        {"kind: Pod\napiVersion: v1\n", "f: holds no RolloutTrait, AppRollout, Application or MetricTemplate"},
		"a key that stands twice": {"kind: RolloutTrait\nkind: RolloutTrait\n", `key "kind" already set`},
	} {
		t.Run(sentence, func(t *testing.T) {
			if _, err := File("f", strings.NewReader(test.text), nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestAScaleDividesWhatComesOrGoes(t *testing.T) {
	for sentence, test := range map[string]struct {
		size *int
		want string
	}{
		"up":                            {ptr.To(3), "goals of 10 pods: 4 8 10"},
		"down":                          {ptr.To(18), "goals of 5 pods: 2 4 5"},
		"to the size that it has":       {ptr.To(13), "goals of 13 pods: 6 12 13"},
		"from a size that nobody tells": {nil, "goals of 10 pods: 4 8 10 (assumed; --size says otherwise)"},
	} {
		t.Run(sentence, func(t *testing.T) {
			file := `{"apiVersion":"standard.oam.dev/v1alpha1","kind":"RolloutTrait","metadata":{"name":"grow"},"spec":{
				"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},
				"rolloutPlan":{"targetSize":13,"rolloutBatches":[{"replicas":"40%"},{"replicas":"40%"},{}]}}}`
			checked, err := File("f", strings.NewReader(file), test.size)
			if err != nil || len(checked) != 1 || len(checked[0].Findings) > 0 {
				t.Fatalf("%v, %v", checked, err)
			}
			if checked[0].Note != test.want {
				t.Errorf("note %q, want %q", checked[0].Note, test.want)
			}
		})
	}
}

// Whatever is in a file, reading it ends; and what passes is something that the engine can begin with.
func FuzzFile(f *testing.F) {
	for _, name := range []string{"good", "bad"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
		if err != nil {
			f.Fatal(err)
		}
		for document := range bytes.SplitSeq(raw, []byte("---\n")) {
			f.Add(document)
		}
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		checked, err := File("f", bytes.NewReader(document), nil)
		if err != nil {
			return
		}
		for _, c := range checked {
			if strings.HasPrefix(c.Note, "goals") && len(c.Findings) > 0 {
				t.Errorf("%s has goals and findings: %v", c.Where, c.Findings)
			}
		}
	})
}

func TestWhatPassesForASizeIsAccepted(t *testing.T) {
	plan := rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](5)}
	for size := range 30 {
		spec := &rolloutv1alpha1.RolloutTraitSpec{RolloutPlan: plan}
		a, wrong := Goals(spec, &size)
		if len(wrong) > 0 {
			continue
		}
		if err := engine.CheckBatches(engine.Batches(&plan, size), size); err != nil || a.Total != size || size > 0 && a.Goals[4] != size {
			t.Errorf("%d pods: %v, %v", size, a, err)
		}
	}
}
