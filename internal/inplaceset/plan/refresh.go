// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/traffic"
)

// letGo closes the gate of pods that somebody has deleted: components watch the gate, and hold the pod by their finalizers
// until then. It is done for whatever component is on the pod, also while the set itself is deleted.
func (p *pass) letGo() {
	for _, doomed := range p.world.Pods {
		if !pod.IsTerminating(doomed) || len(traffic.Routing(doomed)) == 0 {
			continue
		}
		if closed := inplace.CloseGate(doomed, p.now); len(closed) > 0 {
			p.pods[doomed.UID] = step.SetConditions{
				Because: "it is being deleted, and traffic has to leave it", Target: step.On(doomed), Conditions: closed,
			}
		}
	}
}

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

// refresh brings each pod's own affairs one step further, whatever the strategy says.
func (p *pass) refresh() {
	for _, m := range p.plan.Members {
		p.take(m.Pod, p.asked.Tend(m))
	}
}

// finishedKept is how many finished pods stay for people to look at.
const finishedKept = 10

// tidy forgets history and finished pods. It holds nothing up.
func (p *pass) tidy() {
	finished := slices.DeleteFunc(slices.Clone(p.world.Pods), func(candidate *corev1.Pod) bool {
		return !pod.IsFinished(candidate) || pod.IsTerminating(candidate) || !p.selects(candidate)
	})
	slices.SortFunc(finished, func(a, b *corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for _, old := range finished[min(finishedKept, len(finished)):] {
		p.pods[old.UID] = step.DeletePod{
			Because: step.Because(fmt.Sprintf("it has finished, and only the %d newest finished pods are kept", finishedKept)),
			Target:  step.On(old), Cause: step.CleanUp,
		}
	}
	live := []string{p.asked.Update.Hash, p.currentRevision.Hash}
	for _, m := range p.plan.Members {
		live = append(live, pod.RevisionHash(m.Pod))
	}
	limit := int(ptr.Deref(p.world.Set.Spec.RevisionHistoryLimit, 10))
	p.forgotten = revision.Forget(p.world.Revisions, live, limit)
}
