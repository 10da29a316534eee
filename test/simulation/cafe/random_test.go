// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

func honest(seed uint64, tell func(format string, args ...any)) error {
	return Run(seed, Hooks{}, tell)
}

func TestRandom(t *testing.T) { world.PlayMany(t, honest) }

func TestTheSameSeedTellsTheSameStory(t *testing.T) { world.PlayTwice(t, honest) }
