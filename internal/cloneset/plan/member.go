// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
)

// Member is one active pod as a pass judges it.
type Member = member.Member

// asked is what the set asks of each of its pods.
func asked(world *World, now time.Time) *member.Set {
	spec := &world.Set.Spec
	hooks := lifecycle.HooksOf(spec.Lifecycle)
	hooks.PreparesAll = true
	return &member.Set{
		History: slices.Concat(world.Revisions, world.Orphans), Hooks: hooks,
		Policy: policyOf(spec.UpdateStrategy.Type), PolicyField: "updateStrategy.type", Grace: graceOf(&spec.UpdateStrategy),
		MinReadySeconds: spec.MinReadySeconds, ChosenNames: spec.ScaleStrategy.PodsToDelete,
		RepeatsHash: true, GatesAll: true, ChoosesRecreated: true,
		ResizeOff: world.ResizeOff, Unresizable: world.Unresizable, Readings: world.Readings, Now: now,
	}
}

// policyOf is how pods are updated. Nothing asks for it where the type is OnDelete.
func policyOf(kind kruisev1alpha1.CloneSetUpdateStrategyType) member.Policy {
	switch kind {
	case kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType:
		return member.InPlaceIfPossible
	case kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType:
		return member.InPlaceOnly
	case kruisev1alpha1.ReCreateCloneSetUpdateStrategyType, kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType:
	}
	return member.Recreate
}

func graceOf(strategy *kruisev1alpha1.CloneSetUpdateStrategy) time.Duration {
	if s := strategy.InPlaceUpdateStrategy; s != nil {
		return time.Duration(s.GracePeriodSeconds) * time.Second
	}
	return 0
}

func (p *pass) judge() {
	for _, candidate := range p.world.Pods {
		if !pod.IsActive(candidate) || !p.selects(candidate) {
			continue
		}
		m := p.asked.Judge(candidate)
		p.lookAgainIn(m.LookAgain)
		p.plan.Members = append(p.plan.Members, m)
	}
}

func budgeted(m Member) budget.Member {
	return budget.Member{PreparingDelete: m.PreparingDelete(), Chosen: m.Chosen, Available: m.Available}
}

// newWhenScaling: a pod that prepares for its update counts as updated, because it will be.
func newWhenScaling(m Member) bool { return m.Updated || m.PreparingUpdate() }

func (p *pass) count(isNew func(Member) bool) budget.Counts {
	var counts budget.Counts
	for _, m := range p.plan.Members {
		if isNew(m) {
			counts.New.Add(budgeted(m))
		} else {
			counts.Old.Add(budgeted(m))
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

// take follows a verdict on a pod: its step, and what people have to be told.
func (p *pass) take(of *corev1.Pod, v member.Verdict) {
	p.tell(v)
	if v.Step != nil {
		p.pods[of.UID] = v.Step
	}
}

func (p *pass) tell(v member.Verdict) {
	p.plan.Refused = append(p.plan.Refused, v.Refused...)
	if v.Held != "" {
		p.hold(v.Held)
	}
}
