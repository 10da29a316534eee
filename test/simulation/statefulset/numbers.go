// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/world"
)

// numbers are what a spec asks for. They are computed here a second time, in other words than the planner's, so that a mistake
// in one of the two is seen.
type numbers struct {
	Replicas, Partition, Unavailable int
	Create                           int // how many live pods may be unavailable when one is created; -1 for any number
	Ordered, Unordered               bool
	Live                             []int // the ordinals that pods are to have, ascending
}

func numbersOf(set *kruisev1beta1.StatefulSet) numbers {
	r := rolling(set)
	n := numbers{Replicas: int(ptr.Deref(set.Spec.Replicas, 1)), Unavailable: 1, Create: -1, Ordered: set.Spec.PodManagementPolicy != kruisev1beta1.ParallelPodManagement}
	n.Partition = min(int(ptr.Deref(r.Partition, 0)), n.Replicas)
	if !n.Ordered {
		n.Unavailable = max(1, world.Share(r.MaxUnavailable, n.Replicas, false, 1))
		if c := set.Spec.ScaleStrategy; c != nil && c.MaxUnavailable != nil {
			n.Create = max(1, world.Share(c.MaxUnavailable, n.Replicas, false, 1))
		}
		n.Unordered = r.UnorderedUpdate != nil
	}
	next := 0
	if set.Spec.Ordinals != nil {
		next = int(set.Spec.Ordinals.Start)
	}
	for ; len(n.Live) < n.Replicas; next++ {
		if !reserved(set.Spec.ReserveOrdinals, next) {
			n.Live = append(n.Live, next)
		}
	}
	return n
}

// reserved looks through all entries; the simulation has few and small ones.
func reserved(entries []intstr.IntOrString, ordinal int) bool {
	for _, e := range entries {
		first, last, isRange := strings.Cut(e.String(), "-")
		if !isRange {
			last = first
		}
		from, _ := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		if from <= ordinal && ordinal <= to {
			return true
		}
	}
	return false
}

// ordinalOf reads the ordinal out of a name; false when it is not that of a member.
func ordinalOf(name string) (int, bool) {
	digits, is := strings.CutPrefix(name, world.SetName+"-")
	n, err := strconv.Atoi(digits)
	return n, is && err == nil && strconv.Itoa(n) == digits && n >= 0
}

// position is where a pod of that name stands among the live ones; -1 for nowhere.
func (n *numbers) position(name string) int {
	ordinal, is := ordinalOf(name)
	for i, live := range n.Live {
		if is && live == ordinal {
			return i
		}
	}
	return -1
}

// nameAt is the name of the pod at a position.
func (n *numbers) nameAt(position int) string {
	return world.SetName + "-" + strconv.Itoa(n.Live[position])
}
