// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

// TestRelease tells every way that a release of an application can go, in place and apart. A change of a transcript is a change of
// behaviour: read the difference as a user would.
func TestRelease(t *testing.T) {
	for name, all := range map[string][]story{"application": slices.Concat(stories, unclaimed), "approllout": slices.Concat(byHandStories, unclaimedByHand)} {
		for _, kind := range []string{inPlace, apart} {
			t.Run(name+"-"+kind, func(t *testing.T) {
				t.Parallel()
				var text strings.Builder
				for _, st := range all {
					if st.only != "" && st.only != kind {
						continue
					}
					told, err := st.play(kind, Hooks{})
					if err != nil {
						t.Errorf("%s: %v\n%s", st.name, err, told)
					}
					fmt.Fprintf(&text, "== %s\n%s\n", st.name, told)
				}
				world.CompareGolden(t, name+"-"+kind, text.String())
			})
		}
	}
}
