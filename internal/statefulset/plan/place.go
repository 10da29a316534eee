// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/pod"
)

// slot is a position.
type slot struct {
	position, ordinal int
	// name is that of its pod, whether or not there is one.
	name string
	// member is nil when there is none.
	member *Member
	// inTheWay is why no pod of that name can be created, although there is no member; empty when one can.
	inTheWay string
	// unavailable: nobody serves here, or somebody is about to stop serving.
	unavailable bool
}

// judge finds the members among the pods of the set. A pod of a spec that cannot be read has no position.
func (p *pass) judge() {
	for _, candidate := range p.world.Pods {
		n, named := ordinal.Of(p.world.Set.Name, candidate.Name)
		if !named || !p.selects(candidate) {
			continue
		}
		m := Member{Member: p.asked.Judge(candidate), Ordinal: n, Position: -1}
		if i, isLive := slices.BinarySearch(p.live, n); isLive {
			m.Position = i
		}
		if pod.IsActive(candidate) {
			p.lookAgainIn(m.LookAgain)
		}
		p.plan.Members = append(p.plan.Members, m)
	}
	for i := range p.plan.Members {
		p.members = append(p.members, &p.plan.Members[i])
	}
	slices.SortFunc(p.members, func(a, b *Member) int { return cmp.Compare(b.Ordinal, a.Ordinal) })
}

// place finds out who is at which position.
func (p *pass) place() {
	inTheWay := p.inTheWay()
	for i, n := range p.live {
		name := ordinal.Name(p.world.Set.Name, n)
		p.slots = append(p.slots, slot{position: i, ordinal: n, name: name, inTheWay: inTheWay[name]})
	}
	for _, m := range p.members {
		if m.Position >= 0 {
			p.slots[m.Position].member = m
			if !m.newWhenScaling() {
				p.older++
			}
		}
	}
	for i := range p.slots {
		if s := &p.slots[i]; s.member == nil || !s.member.serves() || s.member.changing() || p.grows(s) {
			s.unavailable = true
			p.down++
		}
	}
}

// inTheWay says of names of members why no pod can be created under them, though no member has them.
func (p *pass) inTheWay() map[string]string {
	why := map[string]string{}
	for name := range p.world.Taken {
		why[name] = "its name is taken by a pod that is not the set's"
	}
	for name := range p.world.Others {
		why[name] = "its name is taken by a pod that is not the set's"
	}
	for _, stray := range p.world.Strays {
		if why[stray.Name] = "it is being adopted"; !p.adoptable(stray) {
			why[stray.Name] = "its name is taken by a pod that is not the set's"
		}
	}
	for _, candidate := range p.world.Pods {
		if !p.selects(candidate) {
			why[candidate.Name] = "its name is taken by a pod that is given up"
		}
	}
	return why
}

// condemned tells whether the ordinal of the pod is not live.
func (m *Member) condemned() bool { return m.Position < 0 }

// serves tells whether the pod is available and will be.
func (m *Member) serves() bool { return m.Available && pod.IsActive(m.Pod) }

// changing tells whether an update in place is under way that has not come to its end, also one during which the pod
// serves on.
func (m *Member) changing() bool { return m.Unreadable == nil && !m.Progress.Finished }

// inService is as serves, without the time for which a pod has to be ready.
func (m *Member) inService() bool {
	return m.Ready && pod.IsActive(m.Pod) && pod.Lifecycle(m.Pod) == kruisev1alpha1.LifecycleNormal
}

// healthy is as inService, and not in the middle of a change.
func (m *Member) healthy() bool { return m.inService() && !m.changing() }

// going tells whether the pod goes already, be it that its hook has to let it go first.
func (m *Member) going() bool { return pod.IsTerminating(m.Pod) || m.PreparingDelete() }

// waiting says why a pod does not serve, in the words that people see.
func (m *Member) waiting() string {
	why := pod.WaitingFor(m.Pod)
	switch {
	case why != "":
	case m.changing():
		why = m.Progress.Waiting
	default:
		why = "it has not been ready for minReadySeconds"
	}
	return fmt.Sprintf("pod %s is not available: %s", m.Pod.Name, why)
}

// terminating names a pod of the set that is being deleted.
func (p *pass) terminating() (*corev1.Pod, bool) {
	for _, m := range p.members {
		if pod.IsTerminating(m.Pod) {
			return m.Pod, true
		}
	}
	return nil, false
}
