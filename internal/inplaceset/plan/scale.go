// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// scale creates and deletes pods. It returns true when it did: then the pass updates nothing, because the numbers it
// would count on are about to change.
func (p *pass) scale() bool {
	s := p.scaling(willBeUpdated)
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

// scaling are the quantities of the pass, with the pods of each side counted as isNew says.
func (p *pass) scaling(isNew func(member.Member) bool) budget.Scaling {
	var counts budget.Counts
	for _, m := range p.plan.Members {
		side := &counts.Old
		if isNew(m) {
			side = &counts.New
		}
		side.Add(budget.Member{PreparingDelete: m.PreparingDelete(), Chosen: m.Chosen, Available: m.Available})
	}
	return budget.Scale(p.plan.Limits, counts, budget.Options{SameRevision: p.currentRevision.Hash == p.asked.Update.Hash})
}

func isUpdated(m member.Member) bool { return m.Updated }

// willBeUpdated: where pods are created and deleted, one that prepares for its update counts as updated.
func willBeUpdated(m member.Member) bool { return m.Updated || m.PreparingUpdate() }

// revoke calls deletions off that a larger number of replicas makes needless. The pods that would have gone last are
// kept.
func (p *pass) revoke(count int) (some bool) {
	prepared := p.rank(p.podsWhere(func(m member.Member) bool { return m.PreparingDelete() && !m.Chosen }))
	slices.Reverse(prepared)
	for _, kept := range prepared[:min(count, len(prepared))] {
		p.take(kept, p.asked.Revoke(kept))
		some = true
	}
	return some
}

func (p *pass) add(s budget.Scaling) bool {
	of := "of " + step.Counted(p.plan.Limits.Replicas, "pod", "pods")
	why := step.Because(step.Counted(s.Need, of+" is missing", of+" are missing"))
	used := maps.Clone(p.world.Taken)
	if used == nil {
		used = map[string]bool{}
	}
	for _, existing := range p.world.Pods {
		used[existing.Name] = true
	}
	sides := []struct {
		from  revision.Revision
		count int
	}{{p.currentRevision, s.Create.Old}, {p.asked.Update, s.Create.New}}
	for _, side := range sides {
		for range side.count {
			p.creations = append(p.creations, step.CreatePod{Because: why, Pod: p.newPod(side.from, used)})
		}
	}
	return len(p.creations) > 0
}

// newPod is a pod made from a revision, with the first name of the set's sequence that nothing uses.
func (p *pass) newPod(from revision.Revision, used map[string]bool) *corev1.Pod {
	set, name := p.world.Set, ""
	for n := 0; name == "" || used[name]; n++ {
		name = set.Name + "-" + member.ID(set.UID, n)
	}
	used[name] = true
	return p.asked.New(from, metav1.ObjectMeta{
		Namespace: set.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{ownerReference(set)},
	})
}

// deletePrepared deletes pods that traffic has left. Of one that makes room for its successor it says again what it was
// that a living pod could not take.
func (p *pass) deletePrepared() (some bool) {
	for _, m := range p.plan.Members {
		if !m.PreparingDelete() || p.asked.HoldsDeletion(m.Pod) {
			continue
		}
		v := p.asked.Delete(m.Pod, step.ScaleIn, "traffic has left it, and it was to be deleted")
		if m.Chosen && !m.Updated {
			if again := p.asked.UpdateOf(m); isDeletion(again.Step) {
				v = again
			}
		}
		p.take(m.Pod, v)
		some = true
	}
	return some
}

func isDeletion(s step.Step) bool {
	_, is := s.(step.DeletePod)
	return is
}

// deleteChosen deletes pods that somebody has asked for by their label.
func (p *pass) deleteChosen(s budget.Scaling) (some bool) {
	allowed, available := budget.NewDeletions(s), p.availability()
	for _, doomed := range p.rank(p.podsWhere(func(m member.Member) bool { return m.Chosen && !m.PreparingDelete() })) {
		if !allowed.Spend(available[doomed.UID]) {
			p.hold("pods chosen for deletion wait until others are available")
			continue
		}
		p.take(doomed, p.asked.Delete(doomed, step.Chosen, "it was chosen for deletion"))
		some = true
	}
	return some
}

func (p *pass) scaleIn(s budget.Scaling) (some bool) {
	victims := s.Victims()
	if victims.Total() == 0 {
		return false
	}
	if len(p.podsWhere(func(m member.Member) bool { return m.Chosen || m.PreparingDelete() })) > 0 {
		p.hold("scaling in waits for the pods that are on their way out")
		return false
	}
	allowed, available := budget.NewDeletions(s), p.availability()
	older := p.rank(p.podsWhere(func(m member.Member) bool { return !willBeUpdated(m) }))
	newer := p.rank(p.podsWhere(willBeUpdated))
	more := step.Counted(s.Over, "pod more than wanted is there", "pods more than wanted are there")
	for _, victim := range slices.Concat(older[:min(victims.Old, len(older))], newer[:min(victims.New, len(newer))]) {
		if !allowed.Spend(available[victim.UID]) {
			p.hold("scaling in waits until enough pods are available")
			continue
		}
		p.take(victim, p.asked.Delete(victim, step.ScaleIn, more))
		some = true
	}
	return some
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

func (p *pass) podsWhere(wanted func(member.Member) bool) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, m := range p.plan.Members {
		if wanted(m) {
			pods = append(pods, m.Pod)
		}
	}
	return pods
}
