// SPDX-License-Identifier: Apache-2.0

package step_test

import (
	"testing"

	"slipway.dev/slipway/internal/step"
)

func TestWordsFitTheirNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0 pods are", 1: "1 pod is", 2: "2 pods are", 21: "21 pods are"} {
		if got := step.Counted(n, "pod is", "pods are"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
