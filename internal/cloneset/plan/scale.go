// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/lifecycle"
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
		p.hold(fmt.Sprintf("%s missing, and scaleStrategy.maxUnavailable lets %d be created now", counted(s.Need, "pod is", "pods are"), s.Create.Total()))
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
	if count <= 0 || p.hooks.MarksNotReady() { // a pod out of service may have been let down already: it goes
		return false
	}
	prepared := p.membersWhere(func(m Member) bool { return m.preparingDelete() && !m.Chosen })
	prepared = p.rank(prepared)
	slices.Reverse(prepared)
	prepared = prepared[:min(count, len(prepared))]
	for _, kept := range prepared {
		p.pods[kept.UID] = step.PatchPod{
			Because: "it is wanted again before its deletion began", Target: step.On(kept), Patch: lifecycle.Enter(p.hooks.First(), p.now),
		}
	}
	return len(prepared) > 0
}

func (p *pass) add(s budget.Scaling) bool {
	wanted := slices.Concat(p.creatable(p.currentRevision, s.Create.Old), p.creatable(p.updateRevision, s.Create.New))
	if len(wanted) == 0 {
		return false
	}
	why := fmt.Sprintf("%d of %d pods are missing", s.Need, p.plan.Limits.Replicas+s.Surge)
	for i, id := range p.idsFor(len(wanted)) {
		p.claimsFor(id, why)
		p.creations = append(p.creations, step.CreatePod{Because: step.Because(why), Pod: newPod(p.world.Set, p.hooks, wanted[i], id, p.now)})
	}
	return len(p.creations) > 0
}

func (p *pass) deletePrepared() bool {
	prepared := p.membersWhere(func(m Member) bool { return m.preparingDelete() && !lifecycle.Blocks(p.hooks.PreDelete, m.Pod) })
	for _, doomed := range prepared {
		p.delete(doomed, step.ScaleIn, "it was prepared for its deletion and nothing holds it any more")
	}
	return len(prepared) > 0
}

func (p *pass) deleteChosen(s budget.Scaling) bool {
	allowed := budget.NewDeletions(s)
	deleted, available := false, p.availability()
	for _, doomed := range p.rank(p.membersWhere(func(m Member) bool { return m.Chosen && !m.preparingDelete() })) {
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
		p.delete(victim, step.ScaleIn, fmt.Sprintf("there %s more than wanted", are(s.Over)))
		deleted = true
	}
	return deleted
}

func (p *pass) delete(doomed *corev1.Pod, cause step.DeleteCause, why string) {
	p.pods[doomed.UID] = p.deletion(doomed, cause, why)
}

// deletion is the step that deletes a pod, or that prepares its deletion when a hook holds it.
func (p *pass) deletion(doomed *corev1.Pod, cause step.DeleteCause, why string) step.Step {
	if !lifecycle.Blocks(p.hooks.PreDelete, doomed) {
		return step.DeletePod{Because: step.Because(why), Target: step.On(doomed), Cause: cause}
	}
	prepared := step.PatchPod{
		Because: step.Because(why + "; its preDelete hook comes first"), Target: step.On(doomed),
		Conditions: p.marked(doomed, p.hooks.PreDelete, lifecycle.BeforeDelete),
		Patch:      lifecycle.Enter(kruisev1alpha1.LifecyclePreparingDelete, p.now),
	}
	if cause == step.Recreate {
		// So that it is not called off as a scale-in that is not needed any more.
		prepared.Patch.Labels[kruisev1alpha1.LabelSpecifiedDelete] = ptr.To("true")
	}
	return prepared
}

// marked are the conditions that take a pod out of service while a hook works on it. A pod whose condition
// cannot be read stays in service, and people are told.
func (p *pass) marked(held *corev1.Pod, hook *kruisev1alpha1.LifecycleHook, why lifecycle.Reason) []corev1.PodCondition {
	conditions, err := lifecycle.MarkNotReady(held, hook, why, p.now)
	if err != nil {
		p.plan.Refused = append(p.plan.Refused, err.Error())
	}
	return conditions
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

// are is a number of pods with the verb before it.
func are(n int) string {
	if n == 1 {
		return "is 1 pod"
	}
	return fmt.Sprintf("are %d pods", n)
}

// counted is a number with the words that fit it.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
