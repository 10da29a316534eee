// SPDX-License-Identifier: Apache-2.0

package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// belong adopts pods that nobody controls and that could be ours, and gives up those that are none of ours by their
// labels or name. Neither deletes anything: until such a pod is gone or a member again, its position waits.
func (p *pass) belong() {
	for _, stray := range p.world.Strays {
		if p.adoptable(stray) {
			p.do(stray, step.AdoptPod{
				Because: "it matches the selector, has the name of a member, and nobody controls it",
				Target:  step.On(stray), Owner: ownerReference(p.world.Set),
			})
		}
	}
	for _, candidate := range p.world.Pods {
		_, named := ordinal.Of(p.world.Set.Name, candidate.Name)
		why := step.Because("its labels no longer match the selector")
		switch {
		case pod.IsTerminating(candidate):
			continue
		case named && p.selects(candidate):
			continue
		case p.selects(candidate):
			why = "its name is not that of a member"
		}
		p.do(candidate, step.ReleasePod{Because: why, Target: step.On(candidate), Owner: p.world.Set.UID})
	}
}

func (p *pass) adoptable(stray *corev1.Pod) bool {
	_, named := ordinal.Of(p.world.Set.Name, stray.Name)
	return named && p.selects(stray) && !pod.IsTerminating(stray) && pod.ControllerOf(stray) == ""
}

// selects tells whether the pod is the set's by its labels. A selector that cannot be read gives no pod up.
func (p *pass) selects(candidate *corev1.Pod) bool {
	return p.selector == nil || p.selector.Matches(labels.Set(candidate.Labels))
}
