// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// scale creates and deletes pods. It returns true when it did: then the pass updates nothing, because
// the numbers it would count on are about to change.
func (p *pass) scale() bool {
	set := p.world.Set
	s := budget.Scale(p.plan.Limits, p.count(newWhenScaling), budget.Options{
		ExcludePreparingDelete: set.Labels[kruisev1alpha1.LabelScalingExcludePreparingDelete] == "true",
		SameRevision:           p.currentRevision.Hash == p.asked.Update.Hash,
	})
	if s.Limited {
		p.plan.Throttled = true
		p.hold(fmt.Sprintf("%s missing, and scaleStrategy.maxUnavailable lets %d be created now", step.Counted(s.Need, "pod is", "pods are"), s.Create.Total()))
	}
	switch {
	case p.revoke(s.Revoke):
	case p.add(s):
	case p.deletePrepared():
	case p.replaceHopeless():
	case p.deleteChosen(s):
	case p.scaleIn(s):
	default:
		return false
	}
	return true
}

// revoke calls deletions off that a larger number of replicas makes needless. The pods that would have
// gone last are kept.
func (p *pass) revoke(count int) (some bool) {
	if count <= 0 {
		return false
	}
	prepared := p.rank(p.membersWhere(func(m Member) bool { return m.PreparingDelete() && !m.Chosen }))
	slices.Reverse(prepared)
	for _, kept := range prepared[:min(count, len(prepared))] {
		revoked := p.asked.Revoke(kept)
		p.take(kept, revoked)
		some = some || revoked.Step != nil
	}
	return some
}

func (p *pass) add(s budget.Scaling) bool {
	wanted := slices.Concat(p.creatable(p.currentRevision, s.Create.Old), p.creatable(p.asked.Update, s.Create.New))
	if len(wanted) == 0 {
		return false
	}
	of := "of " + step.Counted(p.plan.Limits.Replicas+s.Surge, "pod", "pods")
	why := step.Counted(s.Need, of+" is missing", of+" are missing")
	for i, id := range p.idsFor(len(wanted)) {
		p.claimsFor(id, why)
		p.creations = append(p.creations, step.CreatePod{Because: step.Because(why), Pod: p.newPod(wanted[i], id)})
	}
	return len(p.creations) > 0
}

func (p *pass) deletePrepared() bool {
	prepared := p.membersWhere(func(m Member) bool { return m.PreparingDelete() && !p.asked.HoldsDeletion(m.Pod) })
	for _, doomed := range prepared {
		p.delete(doomed, step.ScaleIn, "it was prepared for its deletion and nothing holds it any more")
	}
	return len(prepared) > 0
}

// replaceHopeless replaces pods that can never come to a node.
func (p *pass) replaceHopeless() (some bool) {
	for _, m := range p.plan.Members {
		if name := p.lostClaim(m.Pod); name != "" && !m.PreparingDelete() {
			p.delete(m.Pod, step.Recreate, fmt.Sprintf("its claim %s is gone, and no template makes it any more", name))
			some = true
		}
	}
	return some
}

func (p *pass) deleteChosen(s budget.Scaling) bool {
	allowed := budget.NewDeletions(s)
	deleted, available := false, p.availability()
	for _, doomed := range p.rank(p.membersWhere(func(m Member) bool { return m.Chosen && !m.PreparingDelete() })) {
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
	if len(p.membersWhere(func(m Member) bool { return m.Chosen || m.PreparingDelete() })) > 0 {
		p.hold("scaling in waits for the pods that are on their way out")
		return false
	}
	allowed := budget.NewDeletions(s)
	deleted, available := false, p.availability()
	older := p.rank(p.membersWhere(func(m Member) bool { return !newWhenScaling(m) }))
	newer := p.rank(p.membersWhere(newWhenScaling))
	for _, victim := range slices.Concat(older[:min(victims.Old, len(older))], newer[:min(victims.New, len(newer))]) {
		if !allowed.Spend(available[victim.UID]) {
			p.hold("scaling in waits until enough pods are available")
			continue
		}
		p.delete(victim, step.ScaleIn, excess(s.Over))
		deleted = true
	}
	return deleted
}

func (p *pass) delete(doomed *corev1.Pod, cause step.DeleteCause, why string) {
	p.take(doomed, p.asked.Delete(doomed, cause, why))
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

func excess(pods int) string {
	verb := "are"
	if pods == 1 {
		verb = "is"
	}
	return fmt.Sprintf("there %s %s more than wanted", verb, step.Counted(pods, "pod", "pods"))
}
