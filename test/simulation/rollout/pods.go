// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"

	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// summary tells all workloads with their pods.
func summary(w *world.World, stored api.Kind) string {
	var parts []string
	for _, o := range w.Server.List(stored) {
		parts = append(parts, o.GetName()+": "+w.TallyOf(w.PodsOf(o)).String())
	}
	return strings.Join(parts, "; ")
}
