// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

// TestRelease tells every way that a rollout can go, for each kind and operation. A change of a transcript is a change of behaviour:
// read the difference as a user would.
func TestRelease(t *testing.T) {
	for _, of := range subjects {
		for _, op := range operations {
			name := of.name + "-" + string(op)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var text strings.Builder
				for _, st := range stories {
					if why := of.cannot(op); why != "" {
						fmt.Fprintf(&text, "== %s: cannot be: %s\n", st.name, why)
						continue
					}
					told, err := tell(of, op, st, Hooks{})
					if err != nil {
						t.Errorf("%s: %v\n%s", st.name, err, told)
					}
					fmt.Fprintf(&text, "== %s\n%s\n", st.name, told)
				}
				world.CompareGolden(t, name, text.String())
			})
		}
	}
}
