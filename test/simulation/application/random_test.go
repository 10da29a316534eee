// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

func honest(seed uint64, tell func(format string, args ...any)) error {
	return Run(seed, Hooks{}, tell)
}

// TestRandom plays stories with random edits and plans, autoscalers, crashes and faults.
func TestRandom(t *testing.T) { world.PlayAbout(t, 100, honest) }

func TestTheSameSeedTellsTheSameStory(t *testing.T) { world.PlayTwice(t, honest) }
