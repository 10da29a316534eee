// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

func honest(seed uint64, tell func(format string, args ...any)) error {
	return Run(seed, Hooks{}, tell)
}

// TestRandom plays as many stories as a core that is idle plays in less than a minute. -seeds plays more.
func TestRandom(t *testing.T) { world.PlayAbout(t, 500, honest) }

func TestTheSameSeedTellsTheSameStory(t *testing.T) { world.PlayTwice(t, honest) }
