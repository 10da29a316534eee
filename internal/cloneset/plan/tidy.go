// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// tidy forgets history, finished pods and names of pods that are gone. It runs in every pass and holds nothing up.
func (p *pass) tidy() {
	p.removeFinished()
	live := []string{p.asked.Update.Hash, p.currentRevision.Hash}
	for _, m := range p.plan.Members {
		live = append(live, pod.RevisionHash(m.Pod))
	}
	limit := int(ptr.Deref(p.world.Set.Spec.RevisionHistoryLimit, 10))
	p.plan.Steps = append(p.plan.Steps, revision.Forget(p.world.Revisions, live, limit)...)
	p.trim()
}

// finishedKept is how many finished pods stay for people to look at.
const finishedKept = 10

func (p *pass) removeFinished() {
	finished := slices.Clone(p.world.Pods)
	finished = slices.DeleteFunc(finished, func(candidate *corev1.Pod) bool {
		if !pod.IsFinished(candidate) || pod.IsTerminating(candidate) || !p.selects(candidate) {
			return true
		}
		if p.keepsClaims(candidate) {
			p.plan.Steps = append(p.plan.Steps, step.DeletePod{
				Because: "it has finished and is in the way of its claims", Target: step.On(candidate), Cause: step.CleanUp,
			})
			return true
		}
		return false
	})
	slices.SortFunc(finished, func(a, b *corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for _, old := range finished[min(finishedKept, len(finished)):] {
		p.plan.Steps = append(p.plan.Steps, step.DeletePod{
			Because: step.Because(fmt.Sprintf("it has finished, and only the %d newest finished pods are kept", finishedKept)),
			Target:  step.On(old), Cause: step.CleanUp,
		})
	}
}

// trim removes names from podsToDelete that are no active pods, at least not any more.
func (p *pass) trim() {
	named := p.world.Set.Spec.ScaleStrategy.PodsToDelete
	kept := slices.DeleteFunc(slices.Clone(named), func(name string) bool {
		unseen := p.world.Unseen[name]
		return !slices.ContainsFunc(p.plan.Members, func(m Member) bool { return m.Pod.Name == name }) &&
			(unseen == nil || !pod.IsActive(unseen) || !pod.IsControlledBy(unseen, p.world.Set.UID))
	})
	if len(kept) < len(named) {
		p.plan.Steps = append(p.plan.Steps, step.TrimPodsToDelete{
			Because: "what it names besides are no active pods", Target: step.On(p.world.Set), Keep: kept,
		})
	}
}
