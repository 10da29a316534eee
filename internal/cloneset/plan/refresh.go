// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// release gives up pods whose labels no longer match the selector.
func (p *pass) release() {
	for _, candidate := range p.world.Pods {
		if pod.IsTerminating(candidate) || p.selects(candidate) {
			continue
		}
		p.pods[candidate.UID] = step.ReleasePod{
			Because: "its labels no longer match the selector", Target: step.On(candidate), Owner: p.world.Set.UID,
		}
	}
}

// refresh brings each pod's own affairs one step further, whatever the update strategy says.
func (p *pass) refresh() {
	for _, m := range p.plan.Members {
		p.take(m.Pod, p.asked.Tend(m))
	}
}
