// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Ranking is what the order of victims depends on besides the pods.
type Ranking struct {
	MinReadySeconds int32
	Now             time.Time
	// Constraints are the workload's; without any, pods are spread over nodes.
	Constraints []corev1.TopologySpreadConstraint
	// NodeLabels holds the labels of nodes by node name. It is only read when
	// there are constraints; a node that is missing in it has no labels.
	NodeLabels map[string]map[string]string
}

// VictimOrder returns a sorted copy of the pods, those to delete first in
// front. The pods are one group: those that victims are taken from.
//
// The first difference decides: not bound to a node; Pending, then Unknown,
// then Running; not available; not ready; lower deletion cost; more of the
// group in the same place (see Ranking); ready more recently; more restarts;
// younger; and finally by name, so that the order is total.
func VictimOrder(pods []*corev1.Pod, ranking Ranking) []*corev1.Pod {
	entries := rank(pods, func(p *corev1.Pod) bool { return IsAvailable(p, ranking.MinReadySeconds, ranking.Now) })
	spread(entries, ranking)
	slices.SortFunc(entries, compareVictims)
	return unwrap(entries)
}

// UpdateOrder returns a sorted copy of the pods, those to update first in
// front, before any order that a user asks for.
//
// The first difference decides: not bound to a node; Pending, then Unknown,
// then Running; not ready; ready more recently; more restarts; younger; and
// finally by name, so that the order is total.
func UpdateOrder(pods []*corev1.Pod) []*corev1.Pod {
	entries := rank(pods, func(*corev1.Pod) bool { return false })
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(comparePlace(a, b), compareBool(a.ready, b.ready), compareAge(a, b))
	})
	return unwrap(entries)
}

// entry holds what pods are compared by, read once per pod.
type entry struct {
	pod              *corev1.Pod
	bound            bool
	phase            int
	available, ready bool
	since            time.Time // zero unless ready
	cost             int32
	node             int     // rank among the pods of the same node
	spread           float64 // rank over all places
	restarts         int32
}

func rank(pods []*corev1.Pod, available func(*corev1.Pod) bool) []*entry {
	entries := make([]*entry, len(pods))
	for i, p := range pods {
		since, ready := ReadySince(p)
		entries[i] = &entry{
			pod: p, bound: p.Spec.NodeName != "", phase: phaseRank(p.Status.Phase),
			available: available(p), ready: ready, since: since,
			cost: DeletionCost(p), restarts: maxRestarts(p),
		}
	}
	return entries
}

func unwrap(entries []*entry) []*corev1.Pod {
	pods := make([]*corev1.Pod, len(entries))
	for i, e := range entries {
		pods[i] = e.pod
	}
	return pods
}

func phaseRank(phase corev1.PodPhase) int {
	switch phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	case corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed:
	}
	return 0
}

func maxRestarts(p *corev1.Pod) int32 {
	var most int32
	for i := range p.Status.ContainerStatuses {
		most = max(most, p.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}

func compareVictims(a, b *entry) int {
	return cmp.Or(
		comparePlace(a, b),
		compareBool(a.available, b.available),
		compareBool(a.ready, b.ready),
		cmp.Compare(a.cost, b.cost),
		cmp.Compare(b.spread, a.spread),
		compareAge(a, b),
	)
}

// compareOnNode is the order of victims before they are spread.
func compareOnNode(a, b *entry) int {
	return cmp.Or(comparePlace(a, b), compareBool(a.ready, b.ready), cmp.Compare(a.cost, b.cost), compareAge(a, b))
}

// compareInPlace is the order of victims in one place larger than a node: of
// pods that crowd the same node, more go first.
func compareInPlace(a, b *entry) int {
	return cmp.Or(
		comparePlace(a, b), compareBool(a.ready, b.ready), cmp.Compare(a.cost, b.cost),
		cmp.Compare(b.node, a.node), compareAge(a, b),
	)
}

func comparePlace(a, b *entry) int {
	return cmp.Or(compareBool(a.bound, b.bound), cmp.Compare(a.phase, b.phase))
}

// compareAge ends every order. Pods that are not ready are ready since the
// zero time, all of them, so only ready pods are told apart by it.
func compareAge(a, b *entry) int {
	return cmp.Or(
		compareRecency(a.since, b.since),
		cmp.Compare(b.restarts, a.restarts),
		compareRecency(a.pod.CreationTimestamp.Time, b.pod.CreationTimestamp.Time),
		cmp.Compare(a.pod.Name, b.pod.Name),
	)
}

// compareBool puts false first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// compareRecency puts the later time first, and an unset time before all.
func compareRecency(a, b time.Time) int {
	return cmp.Or(compareBool(!a.IsZero(), !b.IsZero()), b.Compare(a))
}
