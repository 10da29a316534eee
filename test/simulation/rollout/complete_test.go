// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/adapter"
)

// demanded are the ways that a rollout must be known to go, in the words of who demands them, with the stories that tell them.
var demanded = map[string][]string{
	"succeeds":                           {"succeeds"},
	"pause and resume":                   {"is paused and resumed"},
	"partition, then more":               {"waits at a partition, then goes on"},
	"superseded in the middle":           {"is superseded in the middle"},
	"reverted":                           {"is reverted by a person"},
	"deleted, with and without a revert": {"is deleted in the middle", "is deleted in the middle with revertOnDelete"},
	"workload deleted":                   {"its workload is deleted under it"},
	"replicas changed by an autoscaler":  {"an autoscaler changes the number of pods under it"},
	"deadline, under each failurePolicy": {"misses its deadline and fails", "misses its deadline and waits", "misses its deadline and is reverted"},
	"metric, under each failurePolicy":   {"its metric fails, and it fails", "its metric fails, and it waits", "its metric fails, and it is reverted"},
}

// TestNoStoryIsMissing looks for each demanded story of each kind and operation in the transcripts that are checked in. One that cannot be
// told is there with the reason.
func TestNoStoryIsMissing(t *testing.T) {
	if got, want := len(stories), 15; got != want {
		t.Errorf("there are %d stories, want %d", got, want)
	}
	for _, of := range subjects {
		for _, op := range operations {
			raw, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("%s-%s.golden", of.name, op)))
			if err != nil {
				t.Errorf("%s, %s: %v", of.name, op, err)
				continue
			}
			for demand, told := range demanded {
				for _, name := range told {
					at := strings.Index("\n"+string(raw), "\n== "+name+"\n")
					reason := strings.Contains("\n"+string(raw), "\n== "+name+": cannot be: ")
					if at < 0 && (!reason || of.cannot(op) == "") {
						t.Errorf("%s, %s: there is neither a story nor a reason for %q: %s", of.name, op, demand, name)
					}
				}
			}
		}
	}
}

// TestEveryKindHasStories: who adds a kind to the rollout adds it here.
func TestEveryKindHasStories(t *testing.T) {
	registry, err := adapter.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range subjects {
		if _, err := registry.Of(of.ref(first)); err != nil {
			t.Errorf("%s: %v", of.name, err)
		}
	}
}

// TestWhatCannotBeIsRefused: a combination without stories is one that a rollout refuses, and says why.
func TestWhatCannotBeIsRefused(t *testing.T) {
	refused := 0
	for _, of := range subjects {
		for _, op := range operations {
			why := of.cannot(op)
			if why == "" {
				continue
			}
			refused++
			st := &carriedOut(t, of, op, Hooks{}).trait().Status
			if st.RollingState != rolloutv1alpha1.RolloutFailedState || !strings.Contains(st.Message, why) {
				t.Errorf("%s, %s: it is %s: %s; want it to say %q", of.name, op, st.RollingState, st.Message, why)
			}
		}
	}
	if refused == 0 {
		t.Error("nothing is refused")
	}
}
