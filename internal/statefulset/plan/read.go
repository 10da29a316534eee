// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
)

// read resolves the spec. It fails on what the API server would have rejected, had the schema been there when the
// object was stored.
func (p *pass) read() error {
	spec := &p.world.Set.Spec
	var err error
	if p.selector, err = pod.Selector(spec.Selector, spec.Template.Labels); err != nil {
		return err
	}
	if p.world.Live.Err != nil {
		return fmt.Errorf("spec.template: %w", p.world.Live.Err)
	}
	p.ordered = spec.PodManagementPolicy != kruisev1beta1.ParallelPodManagement
	if p.plan.Limits, err = LimitsOf(p.world.Set); err != nil {
		return err
	}
	if u := rolling(p.world.Set).UnorderedUpdate; u != nil {
		if _, err := pod.ByPriority(nil, u.PriorityStrategy); err != nil {
			return err
		}
	}
	p.live, err = Live(p.world.Set)
	return err
}

// LimitsOf are the numbers of a spec. Percentages are of the replicas and round down, but to no less than 1. Where
// pods are ordered, one at a time is updated and creations wait for one another anyway.
func LimitsOf(set *kruisev1beta1.StatefulSet) (budget.Limits, error) {
	replicas, r := max(0, int(ptr.Deref(set.Spec.Replicas, 1))), rolling(set)
	limits := budget.Limits{Replicas: replicas, Unavailable: 1}
	if updates(set) {
		limits.Partition = min(max(0, int(ptr.Deref(r.Partition, 0))), replicas)
	}
	if set.Spec.PodManagementPolicy != kruisev1beta1.ParallelPodManagement {
		return limits, nil
	}
	unavailable, err := resolve(r.MaxUnavailable, replicas, "spec.updateStrategy.rollingUpdate.maxUnavailable")
	if unavailable != nil {
		limits.Unavailable = *unavailable
	}
	if scale := set.Spec.ScaleStrategy; scale != nil {
		created, errOfScale := resolve(scale.MaxUnavailable, replicas, "spec.scaleStrategy.maxUnavailable")
		limits.CreateUnavailable, err = created, errors.Join(err, errOfScale)
	}
	return limits, err
}

func resolve(v *intstr.IntOrString, replicas int, field string) (*int, error) {
	if v == nil {
		return nil, nil
	}
	n, err := budget.Resolve(v, replicas, budget.Down, field)
	return ptr.To(max(1, n)), err
}

// rolling is how updates are made; its absence means all its defaults.
func rolling(set *kruisev1beta1.StatefulSet) *kruisev1beta1.RollingUpdateStatefulSetStrategy {
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil {
		return r
	}
	return &kruisev1beta1.RollingUpdateStatefulSetStrategy{}
}

// updates tells whether pods are updated by the set at all, and not by whoever deletes them.
func updates(set *kruisev1beta1.StatefulSet) bool {
	return set.Spec.UpdateStrategy.Type != kruisev1beta1.OnDeleteStatefulSetStrategyType
}

// asked is what the set asks of each of its pods.
func asked(world *World, now time.Time) *member.Set {
	r := rolling(world.Set)
	s := &member.Set{
		History: slices.Concat(world.Revisions, world.Orphans), Hooks: lifecycle.HooksOf(world.Set.Spec.Lifecycle),
		PolicyField: "updateStrategy.rollingUpdate.podUpdatePolicy", NeedsGate: true, MinReadySeconds: ptr.Deref(r.MinReadySeconds, 0),
		ResizeOff: world.ResizeOff, Unresizable: world.Unresizable, Readings: world.Readings, Now: now,
	}
	switch r.PodUpdatePolicy {
	case kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType:
		s.Policy = member.InPlaceIfPossible
	case kruisev1beta1.InPlaceOnlyPodUpdateStrategyType:
		s.Policy = member.InPlaceOnly
	case kruisev1beta1.RecreatePodUpdateStrategyType:
	}
	if r.InPlaceUpdateStrategy != nil {
		s.Grace = time.Duration(r.InPlaceUpdateStrategy.GracePeriodSeconds) * time.Second
	}
	return s
}
