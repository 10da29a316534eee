// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// byPosition is for kinds whose pods have positions, and whose partition holds back those below it. Pods below it may be on the
// newest template all the same: when it was brought back, those that had not been updated are. So a partition is chosen by what
// the pods are on.
type byPosition struct{}

const onDelete = "OnDelete"

func (byPosition) reads() reads { return reads{pods: true} }

func (byPosition) take(*Seen, int, step.Because) []step.Step { return nil }

func (byPosition) keep(s *Seen, o *unstructured.Unstructured, n int, revision string) {
	rolls(s, o)
	s.Kind.places().partition.set(o, int64(s.partitionFor(n, revision)))
}

// rolls has a set update its pods by itself.
func rolls(s *Seen, o *unstructured.Unstructured) {
	strategy := s.Kind.places().strategy
	if kind := append(append(path{}, strategy...), "type"); kind.text(o) == onDelete {
		kind.set(o, "RollingUpdate")
	}
}

func (byPosition) open(s *Seen, o *unstructured.Unstructured) {
	s.Kind.places().partition.set(o, int64(0))
}

// place finds the pods at the positions of the ordinals.
func (s *Seen) place(ordinals []int) {
	byName := map[string]*corev1.Pod{}
	for _, p := range s.pods {
		byName[p.Name] = p
	}
	s.positions = make([]*corev1.Pod, len(ordinals))
	for i, n := range ordinals {
		s.positions[i] = byName[ordinal.Name(s.Object.GetName(), n)]
	}
}

// count takes over what the status says, and counts the pods that it does not tell apart.
func (s *Seen) count(pods, ready, available int, minReadySeconds int32, now time.Time) {
	w := &s.Workload
	w.Versions = true
	w.Pods, w.Ready, w.Available = pods, ready, available
	w.Updated, w.UpdatedAvailable = s.updatedOf(s.positions, minReadySeconds, now)
	w.Waits = s.waitsOf(s.positions)
}

// position says how many pods may be on the newest template with the partition that stands there.
func (s *Seen) position(partition int, still bool) {
	w := &s.Workload
	w.Asked = allowed(s.onRevision(s.newest), partition)
	s.judge(s.active(), still)
	if w.Seen && w.Pods < w.Replicas && w.Ready < w.Pods {
		w.Busy = "" // it waits for a pod that may never be ready, and a new template may be its fix
	}
}

// active is how many of the pods at positions are active.
func (s *Seen) active() int {
	n := 0
	for _, p := range s.positions {
		if p != nil && pod.IsActive(p) {
			n++
		}
	}
	return n
}

// onRevision tells of each position whether its pod is of the revision, or will be when it is made. One on its way out counts
// as what it is: it comes back.
func (s *Seen) onRevision(revision string) []bool {
	on := make([]bool, len(s.positions))
	for i, p := range s.positions {
		on[i] = revision != "" && (p != nil && pod.HasRevision(p, revision) || p == nil && s.current == revision)
	}
	return on
}

// allowed is how many pods may be on the newest template with a partition: those from it on, and those below that are.
func allowed(on []bool, partition int) int {
	n := 0
	for i := range on {
		if i >= partition || on[i] {
			n++
		}
	}
	return n
}

// partitionFor is the lowest partition with which no more than n pods may be on the newest template; where too many are, the one
// that moves none.
func (s *Seen) partitionFor(n int, revision string) int {
	on := s.onRevision(revision)
	for partition := range on {
		if allowed(on, partition) <= n {
			return partition
		}
	}
	return len(on)
}
