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
	repository, err := localcluster.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	report, err := campaign.Run(t.Context(), campaign.Options{
		Repository: repository, Seed: *seed, Out: t.Output(),
		Faults: []string{"leader-cut", "api-killed", "errors"}, Operations: []string{campaign.InPlace},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Good() || len(report.Cells) != 6 {
		t.Errorf("%d cells, want 6 good ones:\n%s", len(report.Cells), report.Markdown())
	}
}
