// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// scale creates and deletes pods. It returns true when it did: then the pass updates nothing, because
// the numbers it would count on are about to change.
func (p *pass) scale() bool {
	set := p.world.Set
	s := budget.Scale(p.plan.Limits, p.count(Member.newWhenScaling), budget.Options{
		ExcludePreparingDelete: set.Labels[kruisev1alpha1.LabelScalingExcludePreparingDelete] == "true",
		SameRevision:           p.currentRevision.Hash == p.updateRevision.Hash,
	})
	if s.Limited {
		p.plan.Throttled = true
		p.hold(fmt.Sprintf("%d pods are missing, and scaleStrategy.maxUnavailable lets %d be created now", s.Need, s.Create.Total()))
	}
	switch {
	case p.revoke(s.Revoke):
	case p.add(s):
	case p.deletePrepared():
	case p.deleteChosen(s):
	case p.scaleIn(s):
	default:
		return false
	}
	return true
}

// revoke calls deletions off that a larger number of replicas makes needless. The pods that would have
// gone last are kept.
func (p *pass) revoke(count int) bool {
	if count <= 0 {
		return false
	}
	prepared := p.membersWhere(func(m Member) bool { return m.preparingDelete() && !m.Chosen })
	prepared = p.rank(prepared)
	slices.Reverse(prepared)
	prepared = prepared[:min(count, len(prepared))]
	for _, kept := range prepared {
		p.pods[kept.UID] = step.PatchPod{
			Because: "it is wanted again before its deletion began", Target: step.On(kept),
			Patch: step.Patch{
				Labels:      map[string]*string{kruisev1alpha1.LabelLifecycleState: ptr.To(string(kruisev1alpha1.LifecycleNormal))},
				Annotations: map[string]*string{kruisev1alpha1.AnnotationLifecycleTimestamp: ptr.To(p.now.UTC().Format(time.RFC3339))},
			},
		}
	}
	return len(prepared) > 0
}

func (p *pass) add(s budget.Scaling) bool {
	names := p.newNames()
	for i := range s.Create.Total() {
		from := p.currentRevision
		if i >= s.Create.Old {
			from = p.updateRevision
		}
		created := newPod(p.world.Set, from, names.next(), p.now)
		p.creations = append(p.creations, step.CreatePod{
			Because: step.Because(fmt.Sprintf("%d of %d pods are missing", s.Need, p.plan.Limits.Replicas+s.Surge)), Pod: created,
		})
	}
	return s.Create.Total() > 0
}

func (p *pass) deletePrepared() bool {
	prepared := p.membersWhere(Member.preparingDelete)
	for _, doomed := range prepared {
		p.delete(doomed, step.ScaleIn, "it was prepared for its deletion and nothing holds it any more")
	}
	return len(prepared) > 0
}

func (p *pass) deleteChosen(s budget.Scaling) bool {
	allowed := budget.NewDeletions(s)
	deleted, available := false, p.availability()
	for _, doomed := range p.rank(p.membersWhere(func(m Member) bool { return m.Chosen })) {
		if !allowed.Spend(available[doomed.UID]) {
			p.hold("pods chosen for deletion wait until others are available")
			continue
		}
		p.delete(doomed, step.Chosen, "it was chosen for deletion")
		deleted = true
	}
	return deleted
}

func (p *pass) scaleIn(s budget.Scaling) bool {
	victims := s.Victims()
	if victims.Total() == 0 {
		return false
	}
	if len(p.membersWhere(func(m Member) bool { return m.Chosen || m.preparingDelete() })) > 0 {
		p.hold("scaling in waits for the pods that are on their way out")
		return false
	}
	allowed := budget.NewDeletions(s)
	deleted, available := false, p.availability()
	older := p.rank(p.membersWhere(func(m Member) bool { return !m.newWhenScaling() }))
	newer := p.rank(p.membersWhere(Member.newWhenScaling))
	for _, victim := range slices.Concat(older[:min(victims.Old, len(older))], newer[:min(victims.New, len(newer))]) {
		if !allowed.Spend(available[victim.UID]) {
			p.hold("scaling in waits until enough pods are available")
			continue
		}
		p.delete(victim, step.ScaleIn, fmt.Sprintf("there are %d pods more than wanted", s.Over))
		deleted = true
	}
	return deleted
}

func (p *pass) delete(doomed *corev1.Pod, cause step.DeleteCause, why string) {
	p.pods[doomed.UID] = step.DeletePod{Because: step.Because(why), Target: step.On(doomed), Cause: cause}
}

func (p *pass) rank(pods []*corev1.Pod) []*corev1.Pod {
	return pod.VictimOrder(pods, pod.Ranking{
		MinReadySeconds: p.world.Set.Spec.MinReadySeconds, Now: p.now,
		Constraints: p.world.Set.Spec.Template.Spec.TopologySpreadConstraints, NodeLabels: p.world.NodeLabels,
	})
}

func (p *pass) availability() map[types.UID]bool {
	available := map[types.UID]bool{}
	for _, m := range p.plan.Members {
		available[m.Pod.UID] = m.Available
	}
	return available
}

// hold notes what keeps the pass from doing more. The first reason found is the one that people see.
func (p *pass) hold(why string) {
	if p.plan.Held == "" {
		p.plan.Held = why
	}
}
