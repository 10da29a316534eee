// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

func honest(seed uint64, tell func(format string, args ...any)) error {
	return Run(seed, Hooks{}, tell)
}

func TestRandom(t *testing.T) { world.PlayMany(t, honest) }

func TestTheSameSeedTellsTheSameStory(t *testing.T) { world.PlayTwice(t, honest) }

// Stories that once did not end: unordered pods were updated although others were missing, and came back on the revision that the
// partition keeps, for ever.
func TestUnorderedPodsAreNotUpdatedForMissingOnes(t *testing.T) {
	for _, seed := range []uint64{5597, 6265} {
		if err := Run(seed, Hooks{}, nil); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
