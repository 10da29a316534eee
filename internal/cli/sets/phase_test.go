// SPDX-License-Identifier: Apache-2.0

package sets

import "testing"

func TestEveryPhaseHasAWordAndAMark(t *testing.T) {
	for p := Unseen; p <= Complete; p++ {
		if p.String() == "Unknown" || p.mark() == 0 {
			t.Errorf("phase %d: word %q, mark %d", p, p, p.mark())
		}
	}
}
