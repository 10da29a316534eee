// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

// TestAStatefulSetWaitsForTheNamesOfItsPods makes one again while pods of the one before have its names.
func TestAStatefulSetWaitsForTheNamesOfItsPods(t *testing.T) {
	s := newSimulation(subjectOf(t, "statefulset"), Hooks{})
	for _, app := range []string{"v1", "v2"} {
		s.Must(s.Server.Create("user", s.newWorkload(world.SetName, 2, app)))
		if err := s.Rest(); err != nil {
			t.Fatal(err)
		}
		if got, want := s.TallyOf(s.Pods()).String(), "2 "+app; got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
		s.Remove(s.stored, world.SetName)
	}
}
