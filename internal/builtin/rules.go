// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/internal/budget"
)

// StatefulSetRules are by which a StatefulSet goes through its pods: they are made from the lowest ordinal up, and updated from the
// highest down.
type StatefulSetRules struct {
	// First and Last are the lowest and the highest ordinal that is wanted. Last is below First when none is.
	First, Last int
	// Partition is the lowest ordinal that is updated, and Down how many pods are updated at once.
	Partition, Down int
	// Ordered: one pod is made, or taken away, after the other.
	Ordered bool
	// OnDelete: pods are updated when somebody deletes them.
	OnDelete bool
}

// RulesOfStatefulSet reads them from a StatefulSet with its defaults. It fails on numbers that cannot be read.
func RulesOfStatefulSet(set *appsv1.StatefulSet) (StatefulSetRules, error) {
	replicas := int(ptr.Deref(set.Spec.Replicas, 1))
	r := StatefulSetRules{
		Down: 1, Ordered: set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement,
		OnDelete: set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
	}
	if set.Spec.Ordinals != nil {
		r.First = int(set.Spec.Ordinals.Start)
	}
	r.Last, r.Partition = r.First+replicas-1, r.First
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		r.Partition = r.First + int(ptr.Deref(rolling.Partition, 0)) // it counts from the first ordinal on
		if rolling.MaxUnavailable != nil {
			down, err := budget.Resolve(rolling.MaxUnavailable, replicas, budget.Up, "spec.updateStrategy.rollingUpdate.maxUnavailable")
			if err != nil {
				return StatefulSetRules{}, err
			}
			r.Down = max(1, down)
		}
	}
	return r, nil
}

// Wants tells whether there is to be a pod with this ordinal.
func (r StatefulSetRules) Wants(ordinal int) bool { return ordinal >= r.First && ordinal <= r.Last }

// Keeps tells whether a pod with this ordinal that has to be made anew is one of the template before.
func (r StatefulSetRules) Keeps(ordinal int) bool { return !r.OnDelete && ordinal < r.Partition }

// DaemonSetRules are by which a DaemonSet updates its pods.
type DaemonSetRules struct {
	// Surge is on how many nodes a new pod may stand beside an older one, which goes when the new one is available. Where it is 0,
	// older pods go first, and Down is how many may be unavailable.
	Surge, Down int
	// OnDelete: pods are updated when somebody deletes them.
	OnDelete bool
}

// RulesOfDaemonSet reads them from a DaemonSet with its defaults that has pods on so many nodes. It fails on numbers that cannot be
// read.
func RulesOfDaemonSet(set *appsv1.DaemonSet, nodes int) (DaemonSetRules, error) {
	r := DaemonSetRules{Down: 1, OnDelete: set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType}
	rolling := ptr.Deref(set.Spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
	var err error
	if r.Surge, err = budget.Resolve(rolling.MaxSurge, nodes, budget.Up, "spec.updateStrategy.rollingUpdate.maxSurge"); err != nil {
		return DaemonSetRules{}, err
	}
	if rolling.MaxUnavailable == nil {
		if r.Surge > 0 {
			r.Down = 0
		}
		return r, nil
	}
	if r.Down, err = budget.Resolve(rolling.MaxUnavailable, nodes, budget.Up, "spec.updateStrategy.rollingUpdate.maxUnavailable"); err != nil {
		return DaemonSetRules{}, err
	}
	if r.Down == 0 && r.Surge == 0 {
		r.Down = 1 // it would never go on
	}
	return r, nil
}
