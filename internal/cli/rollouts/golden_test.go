// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/test/golden"
)

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// worlds are rollouts as an API server stores them, by the names of their files.
func worlds(t *testing.T) map[string]*Rollout {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no worlds: %v", err)
	}
	found := map[string]*Rollout{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &o.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		into := any(&rolloutv1alpha1.RolloutTrait{})
		if o.GetKind() == oamv1beta1.AppRolloutKind {
			into = &oamv1beta1.AppRollout{}
		}
		if err := yaml.UnmarshalStrict(raw, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if found[strings.TrimSuffix(filepath.Base(file), ".yaml")], err = Read(o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return found
}

func TestDocumentGolden(t *testing.T) {
	for name, r := range worlds(t) {
		t.Run(name, func(t *testing.T) {
			golden.Lines(t, name+".txt", tree.Render(NewView(r, now()).Document(false), tree.Options{Fold: sets.FoldAfter}))
		})
	}
	t.Run("terminal", func(t *testing.T) {
		view := NewView(worlds(t)["batch-verifying-metrics"], now())
		golden.Lines(t, "terminal.txt", tree.Render(view.Document(false), tree.Options{Width: 90, Height: 14, Color: true, ASCII: true}))
	})
}

// A golden file for each state that the engine knows, so that a new state cannot be forgotten here.
func TestEveryStateHasAWorld(t *testing.T) {
	have := map[engine.State]bool{}
	for _, r := range worlds(t) {
		have[engine.StateOf(&r.Status)] = true
	}
	for _, s := range engine.States() {
		if !have[s] {
			t.Errorf("no world is in the state %s", s)
		}
	}
}

func TestTablesGolden(t *testing.T) {
	for name, wide := range map[string]bool{"table": false, "table-wide": true} {
		var views []sets.View
		for world, r := range worlds(t) {
			r.Name = world
			views = append(views, NewView(r, now()))
		}
		columns, rows := Kind().Table(views, false, wide)
		golden.Lines(t, name+".txt", tree.Table(columns, rows, tree.Options{}))
	}
}

func TestLinesGolden(t *testing.T) {
	all := worlds(t)
	var lines []string
	for _, file := range files(t) {
		r := all[file]
		lines = append(lines, map[Outcome]string{GoesOn: "goes on   ", Succeeded: "succeeded ", Failed: "failed    "}[OutcomeOf(r)]+tree.Clean(Line(r)))
	}
	golden.Lines(t, "lines.txt", lines)
}

func files(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = strings.TrimSuffix(filepath.Base(found[i]), ".yaml")
	}
	return found
}

func TestARolloutThatIsToBeTriedAgainHasNotFailed(t *testing.T) {
	r := worlds(t)["failed"]
	r.Annotations = map[string]string{rolloutv1alpha1.AnnotationRetry: r.Status.Take()}
	if got := OutcomeOf(r); got != GoesOn {
		t.Errorf("outcome %d, want %d", got, GoesOn)
	}
}

func TestOnlyASuccessIsSettled(t *testing.T) {
	for name, r := range worlds(t) {
		if got, want := NewView(r, now()).Settled(), name == "succeeded" || name == "app-succeeded"; got != want {
			t.Errorf("%s: settled %t, want %t", name, got, want)
		}
	}
}

func TestNews(t *testing.T) {
	all := worlds(t)
	for sentence, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"what is there at first is told": {"", "paused", []string{"shop/web batch 3 of 4: paused by spec.rolloutPlan.paused"}},
		"a new state is told": {"batch-verifying-pods", "at-the-partition",
			[]string{"shop/web waits after batch 2 of 4 until spec.rolloutPlan.batchPartition, which is 1, lets the next one begin"}},
		"pods alone are not":            {"batch-verifying-pods", "batch-verifying-pods", nil},
		"a failure is told":             {"batch-verifying-pods", "failed", []string{"shop/web failed: batch 2 of 4 has made no progress for 10m0s: 2 of 3 updated pods are available, and batch 2 of 4 needs 3; the pods are left as they are", "shop/web condition Stalled is True: stands still"}},
		"waiting for something else is": {"batch-verifying-pods", "batch-verifying-metrics", []string{"shop/web the pods of batch 2 of 4 are available; metric errors is 0.02, wanted at most 0.01; samples in range: 0 of 3, out of range: 1, tolerated: 1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var before *sets.View
			if test.before != "" {
				view := NewView(all[test.before], now())
				before = &view
			}
			if diff := cmp.Diff(test.want, sets.Changes(before, NewView(all[test.after], now()))); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
