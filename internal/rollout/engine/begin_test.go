// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// A status of before a change says that all pods are on the newest template. Who believes it takes a rollout for done that has
// not begun.
func TestAStatusThatIsBehindTheSpecIsWaitedFor(t *testing.T) {
	for sentence, w := range map[string]World{
		"a new template that the workload's controller has not seen": newWorld(), "a size that it has not seen": scaling(4, 4), "a source": twoObjects(3),
	} {
		t.Run(sentence, func(t *testing.T) {
			w.Target.Held, w.Target.Differs = false, false
			if w.Source != nil {
				w.Source.Seen = false
			} else {
				w.Target.Seen = false
			}
			p := Next(w, start)
			if got := StateOf(&p.Status); got != Verifying || p.Status.WaitingFor != rolloutv1alpha1.WaitingForWorkload || p.LookAgain == 0 {
				t.Errorf("got state %s, waiting for %q, looks again in %s: %s", got, p.Status.WaitingFor, p.LookAgain, p.Status.Message)
			}
		})
	}
}
