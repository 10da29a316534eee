// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/pod"
)

// Member is one active pod as a pass judges it.
type Member struct {
	Pod *corev1.Pod
	// Updated: the pod carries the update revision.
	Updated bool
	// Ready and Available are as the status counts them.
	Ready, Available bool
	// Chosen: somebody asked for the deletion of this very pod.
	Chosen bool
	// Progress is how far the pod's in-place update has come. Unreadable is set instead when the pod's
	// annotations make no sense; such a pod is only ever replaced.
	Progress   inplace.Progress
	Unreadable error
}

func (p *pass) judge() {
	spec := &p.world.Set.Spec
	for _, candidate := range p.world.Pods {
		if !pod.IsActive(candidate) || !p.selects(candidate) {
			continue
		}
		m := Member{Pod: candidate, Updated: pod.HasRevision(candidate, p.plan.UpdateRevision)}
		m.Progress, m.Unreadable = p.world.reading(candidate).Progress(candidate, p.now)
		// The gate says the same for pods that have one, and it stays open where no container restarts. A pod
		// without it would count as available between the change of its image and the moment when the node
		// acts on it.
		if why := p.world.Unresizable[candidate.UID]; why != "" && m.Updated && m.Progress.NextBatch {
			m.Progress.Infeasible = why // it was to be resized in its next batch
		}
		settled := m.Progress.Finished || m.Unreadable != nil || inplace.GateOpen(candidate)
		m.Ready = settled && pod.IsReady(candidate)
		m.Available = settled && pod.IsAvailable(candidate, spec.MinReadySeconds, p.now)
		m.Chosen = pod.IsChosen(candidate, spec.ScaleStrategy.PodsToDelete)
		if wait, byTime := pod.AvailableIn(candidate, spec.MinReadySeconds, p.now); settled && byTime {
			p.lookAgainIn(wait)
		}
		if m.Progress.Holding {
			// In whole seconds: the annotation counts no finer.
			p.lookAgainIn((m.Progress.GraceLeft + time.Second - 1).Truncate(time.Second))
		}
		p.plan.Members = append(p.plan.Members, m)
	}
}

func (m Member) preparingDelete() bool {
	return pod.Lifecycle(m.Pod) == kruisev1alpha1.LifecyclePreparingDelete
}

func (m Member) preparingUpdate() bool {
	return pod.Lifecycle(m.Pod) == kruisev1alpha1.LifecyclePreparingUpdate
}

func (m Member) counted() budget.Member {
	return budget.Member{PreparingDelete: m.preparingDelete(), Chosen: m.Chosen, Available: m.Available}
}

// newWhenScaling: a pod that prepares for its update counts as updated, because it will be.
func (m Member) newWhenScaling() bool { return m.Updated || m.preparingUpdate() }

func (p *pass) count(isNew func(Member) bool) budget.Counts {
	var counts budget.Counts
	for _, m := range p.plan.Members {
		if isNew(m) {
			counts.New.Add(m.counted())
		} else {
			counts.Old.Add(m.counted())
		}
	}
	return counts
}

func (p *pass) membersWhere(wanted func(Member) bool) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, m := range p.plan.Members {
		if wanted(m) {
			pods = append(pods, m.Pod)
		}
	}
	return pods
}
