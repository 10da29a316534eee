// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

func honest(seed uint64, tell func(format string, args ...any)) error {
	return Run(seed, Hooks{}, tell)
}

// TestRandom plays fewer stories than the other kinds do: there is more in each of them.
func TestRandom(t *testing.T) { world.PlayAbout(t, 800, honest) }

func TestTheSameSeedTellsTheSameStory(t *testing.T) { world.PlayTwice(t, honest) }
