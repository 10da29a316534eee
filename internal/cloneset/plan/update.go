// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// update brings pods to the update revision, as many as the partition wants and the allowances let.
func (p *pass) update() {
	s := budget.Scale(p.plan.Limits, p.count(func(m Member) bool { return m.Updated }), budget.Options{
		SameRevision: p.currentRevision.Hash == p.updateRevision.Hash,
	})
	strategy := &p.world.Set.Spec.UpdateStrategy
	switch {
	case strategy.Paused:
		if s.Wish > 0 {
			p.hold(fmt.Sprintf("paused with %s to update", counted(s.Wish, "pod", "pods")))
		}
		return
	case p.repairResizes(s.Cap):
		return
	case s.Wish <= 0:
		p.callOff(p.candidates())
		return
	case strategy.Type == kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType:
		p.callOff(p.candidates())
		p.hold(fmt.Sprintf("%s (updateStrategy.type is OnDelete)", counted(s.Wish, "pod is updated when somebody deletes it", "pods are updated when somebody deletes them")))
		return
	}
	unavailable, onTarget := p.unavailable()
	allowance := budget.NewAllowance(s, unavailable, onTarget)
	candidates := p.candidates()
	for i, m := range candidates {
		switch stop := allowance.Refuses(m.Available); stop {
		case budget.NotStopped:
		case budget.StoppedByUnavailable:
			p.hold(stop.String())
			continue
		case budget.StoppedByTarget:
			// A pod that prepares for its update was allowed for when it began, and is unavailable already. If
			// the allowance has shrunk since, only its update brings it back.
			if !m.preparingUpdate() {
				p.hold(stop.String())
				return
			}
		case budget.StoppedByWish:
			p.callOff(candidates[i:])
			return
		}
		next, refused := p.updateOf(m)
		if refused {
			continue // it costs the others nothing
		}
		allowance.Spend(m.Available)
		if next != nil {
			p.pods[m.Pod.UID], p.turns[m.Pod.UID] = next, 1+i
		}
	}
}

func (p *pass) unavailable() (all, onTarget int) {
	for _, m := range p.plan.Members {
		// An updated pod that is resized while it serves uses the allowance too: a resize that no node can make
		// must not reach all pods. But one that can only be replaced does not wait for its node.
		resizing := m.Updated && m.Unreadable == nil && !m.Progress.Finished
		if !m.Available || resizing {
			all++
			if m.Updated && m.Progress.Infeasible == "" {
				onTarget++
			}
		}
	}
	return all, onTarget
}

// candidates are the pods to update, first in front: in the order that does least harm, then as the user
// asks for. Those that prepare for their update already come before all others.
func (p *pass) candidates() []Member {
	members := map[types.UID]Member{}
	var pods []*corev1.Pod
	for _, m := range p.plan.Members {
		if !m.Updated && !m.preparingDelete() {
			members[m.Pod.UID] = m
			pods = append(pods, m.Pod)
		}
	}
	var ordered []Member
	for _, candidate := range p.order(pods) {
		ordered = append(ordered, members[candidate.UID])
	}
	slices.SortStableFunc(ordered, func(a, b Member) int {
		switch {
		case a.preparingUpdate() == b.preparingUpdate():
			return 0
		case a.preparingUpdate():
			return -1
		}
		return 1
	})
	return ordered
}

// order is the order of updates. What cannot be read of it was refused before.
func (p *pass) order(pods []*corev1.Pod) []*corev1.Pod {
	strategy := &p.world.Set.Spec.UpdateStrategy
	prioritised, err := pod.ByPriority(pod.UpdateOrder(pods), strategy.PriorityStrategy)
	if err != nil {
		return nil
	}
	all := p.membersWhere(func(Member) bool { return true })
	return pod.Scatter(prioritised, all, strategy.ScatterStrategy)
}

// updateOf is the step that updates a pod. It is nil when the pod waits for a hook, and it is refused when
// the pod can only be left as it is.
func (p *pass) updateOf(m Member) (next step.Step, refused bool) {
	strategy := &p.world.Set.Spec.UpdateStrategy
	if strategy.Type != kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType && strategy.Type != kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType {
		return p.recreate(m, fmt.Sprintf("revision %s replaces %s", p.updateRevision.Hash, pod.RevisionHash(m.Pod))), false
	}
	d := p.difference(pod.RevisionHash(m.Pod)).Onto(p.strayed(m))
	if refusals := slices.Concat(d.Refusals, d.Refused(m.Pod)); len(refusals) > 0 {
		return p.fallBack(m, strings.Join(refusals, ", ")+" cannot change in place")
	}
	if m.Unreadable != nil {
		return p.fallBack(m, m.Unreadable.Error())
	}
	if why := p.world.Unresizable[m.Pod.UID]; why != "" && len(d.Resources) > 0 {
		return p.fallBack(m, why)
	}
	aim := p.aim()
	if d.Empty() && m.Progress.Finished {
		relabelled := inplace.Relabel(m.Pod, aim)
		relabelled.Because = step.Because(fmt.Sprintf("revisions %s and %s mean the same pod", pod.RevisionHash(m.Pod), p.updateRevision.Hash))
		return relabelled, false
	}
	if held, waits := p.beforeUpdate(m); waits {
		return held, false
	}
	begun, err := inplace.Begin(m.Pod, d, aim, p.grace(), p.now)
	if err != nil {
		return p.fallBack(m, err.Error())
	}
	begun.Because = step.Because(fmt.Sprintf("revision %s replaces %s: %s", p.updateRevision.Hash, pod.RevisionHash(m.Pod), d))
	if p.hooks.Configured() {
		entered := lifecycle.Enter(kruisev1alpha1.LifecycleUpdating, p.now)
		maps.Copy(begun.Patch.Labels, entered.Labels)
		maps.Copy(begun.Patch.Annotations, entered.Annotations)
	}
	return begun, false
}

// aim is the update revision.
func (p *pass) aim() inplace.Aim {
	return inplace.Aim{Revision: p.updateRevision.Name, Label: revision.LabelValue(p.updateRevision.Name), Hash: p.updateRevision.Hash}
}

func (p *pass) grace() time.Duration {
	if s := p.world.Set.Spec.UpdateStrategy.InPlaceUpdateStrategy; s != nil {
		return time.Duration(s.GracePeriodSeconds) * time.Second
	}
	return 0
}

// fallBack is what happens to a pod that cannot be updated in place.
func (p *pass) fallBack(m Member, why string) (next step.Step, refused bool) {
	if p.world.Set.Spec.UpdateStrategy.Type == kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType {
		if m.Unreadable == nil { // else refresh has said it
			p.refuse(m, why+", and updateStrategy.type is InPlaceOnly")
		}
		return nil, true
	}
	return p.recreate(m, why), false
}

func (p *pass) recreate(m Member, why string) step.Step {
	return p.deletion(m.Pod, step.Recreate, why)
}

// difference is what stands between an older revision and the update revision.
func (p *pass) difference(fromHash string) inplace.Difference {
	pair := [2]string{fromHash, p.updateRevision.Hash}
	if known, computed := p.pairs[pair]; computed {
		return known
	}
	d := inplace.Difference{Refusals: []string{fmt.Sprintf("revision %q of the pod, which is not in the history any more,", fromHash)}}
	for _, r := range slices.Concat(p.world.Revisions, p.world.Orphans) {
		if r.Hash == fromHash && r.Err == nil {
			if d = inplace.Compare(r.Template, p.updateRevision.Template); p.world.ResizeOff {
				d = d.WithoutResize()
			}
		}
	}
	p.pairs[pair] = d
	return d
}
