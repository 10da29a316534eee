// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"flag"
	"testing"

	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/test/faults/campaign"
)

var seed = flag.Uint64("seed", 1, "what strikes when")

func TestAReleaseInPlaceSurvivesTheWorstFaults(t *testing.T) {
	play(t, campaign.Options{Faults: []string{"leader-cut", "api-killed", "errors"}, Operations: []string{campaign.InPlace}}, 6)
}

func TestRolloutsSurviveTheirManager(t *testing.T) {
	play(t, campaign.Options{
		Faults: []string{"manager-killed"}, Operations: []string{campaign.Rollout}, Kinds: []string{campaign.CloneSet, campaign.Deployment},
	}, 2)
}

// play wants so many cells, and all of them good.
func play(t *testing.T, o campaign.Options, cells int) {
	t.Helper()
	repository, err := localcluster.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	o.Repository, o.Seed, o.Out = repository, *seed, t.Output()
	report, err := campaign.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Good() || len(report.Cells) != cells {
		t.Errorf("%d cells, want %d good ones:\n%s", len(report.Cells), cells, report.Markdown())
	}
}
