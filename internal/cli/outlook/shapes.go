// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/budget"
	inplacesetplan "slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/pod"
	statefulsetplan "slipway.dev/slipway/internal/statefulset/plan"
)

// statefulSet recreates its pods from the highest position down to its partition.
func statefulSet(_ *play, w *workload) (*podset, error) {
	set, err := ofKind[appsv1.StatefulSet](w)
	if err != nil {
		return nil, err
	}
	start, partition := 0, 0
	if set.Spec.Ordinals != nil {
		start = int(set.Spec.Ordinals.Start)
	}
	s := &podset{
		template: &set.Spec.Template, size: int(ptr.Deref(set.Spec.Replicas, 1)), atOnce: 1, fields: counts.fields,
		asked: &member.Set{Policy: member.Recreate, MinReadySeconds: set.Spec.MinReadySeconds},
	}
	for n := range s.size {
		s.names = append(s.names, ordinal.Name(set.Name, start+n))
	}
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil {
		partition = int(ptr.Deref(r.Partition, 0))
		if n, err := budget.Resolve(r.MaxUnavailable, s.size, budget.Up, "spec.updateStrategy.rollingUpdate.maxUnavailable"); err == nil {
			s.atOnce = max(n, 1)
		}
	}
	if set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		s.downTo(partition)
	}
	return s, nil
}

// downTo updates the pods from the highest position down to a partition.
func (s *podset) downTo(partition int) {
	s.old = func(position int) bool { return position < partition }
	s.turn = func(behind []*corev1.Pod) []*corev1.Pod {
		var due []*corev1.Pod
		for position := len(s.names) - 1; position >= partition; position-- {
			for _, c := range behind {
				if c.Name == s.names[position] {
					due = append(due, c)
				}
			}
		}
		return due
	}
}

// advancedStatefulSet does the same, or goes by priorities, and keeps the pods that it can.
func advancedStatefulSet(p *play, w *workload) (*podset, error) {
	set, err := ofKind[kruisev1beta1.StatefulSet](w)
	if err != nil {
		return nil, err
	}
	limits, err := statefulsetplan.LimitsOf(set)
	if err != nil {
		return nil, err
	}
	start := 0
	if set.Spec.Ordinals != nil {
		start = int(set.Spec.Ordinals.Start)
	}
	reserved, err := ordinal.ParseReserved(set.Spec.ReserveOrdinals)
	if err != nil {
		return nil, err
	}
	s := &podset{
		template: &set.Spec.Template, size: limits.Replicas, atOnce: limits.Unavailable, fields: counts.fields,
		asked: &member.Set{PolicyField: "updateStrategy.rollingUpdate.podUpdatePolicy", NeedsGate: true},
	}
	for _, n := range reserved.Live(start, s.size) {
		s.names = append(s.names, ordinal.Name(set.Name, n))
	}
	if set.Spec.Lifecycle != nil {
		p.assume("lifecycle hooks are taken to let go at once")
	}
	r := ptr.Deref(set.Spec.UpdateStrategy.RollingUpdate, kruisev1beta1.RollingUpdateStatefulSetStrategy{})
	s.asked.MinReadySeconds = ptr.Deref(r.MinReadySeconds, 0)
	switch r.PodUpdatePolicy {
	case kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType:
		s.asked.Policy = member.InPlaceIfPossible
	case kruisev1beta1.InPlaceOnlyPodUpdateStrategyType:
		s.asked.Policy = member.InPlaceOnly
	case kruisev1beta1.RecreatePodUpdateStrategyType:
	}
	switch {
	case r.Paused || set.Spec.UpdateStrategy.Type == kruisev1beta1.OnDeleteStatefulSetStrategyType:
	case r.UnorderedUpdate != nil && set.Spec.PodManagementPolicy == kruisev1beta1.ParallelPodManagement:
		s.whichever(limits.Partition, func(behind []*corev1.Pod) []*corev1.Pod {
			sorted, err := pod.ByPriority(behind, r.UnorderedUpdate.PriorityStrategy)
			if err != nil {
				return nil // its controller refuses it
			}
			return sorted
		})
	default:
		s.downTo(limits.Partition)
	}
	return s, nil
}

// whichever updates all but as many pods as the partition keeps, in an order.
func (s *podset) whichever(partition int, order func([]*corev1.Pod) []*corev1.Pod) {
	s.turn = func(behind []*corev1.Pod) []*corev1.Pod {
		return order(behind)[:max(len(behind)-partition, 0)]
	}
	s.old = func(int) bool {
		updated := 0
		for _, c := range s.pods {
			updated += one(pod.HasRevision(c, s.update.Name))
		}
		return updated >= s.size-partition
	}
}

// inPlaceSet keeps the pods that it can.
func inPlaceSet(_ *play, w *workload) (*podset, error) {
	set, err := ofKind[cafev1alpha1.InPlaceSet](w)
	if err != nil {
		return nil, err
	}
	limits, err := inplacesetplan.LimitsOf(&set.Spec)
	if err != nil {
		return nil, err
	}
	s := &podset{
		template: &set.Spec.Template, size: limits.Replicas, atOnce: limits.Unavailable, fields: counts.fields,
		asked: &member.Set{
			Policy: member.InPlaceIfPossible, PolicyField: "kind InPlaceSet", Loss: "its successor gets another IP",
			MinReadySeconds: set.Spec.MinReadySeconds, RepeatsHash: true, GatesAll: true, ResizeOff: true,
		},
	}
	if !set.Spec.Strategy.Paused {
		s.whichever(limits.Partition, pod.UpdateOrder)
	}
	return s, nil
}

// daemonSet is held by OnDelete: whoever deletes its pods updates them. By itself it goes node by node.
func daemonSet(_ *play, w *workload) (*podset, error) {
	set, err := ofKind[appsv1.DaemonSet](w)
	if err != nil {
		return nil, err
	}
	s := &podset{
		template: &set.Spec.Template, size: int(set.Status.DesiredNumberScheduled), atOnce: 1,
		asked: &member.Set{Policy: member.Recreate, MinReadySeconds: set.Spec.MinReadySeconds},
	}
	s.fields = func(n counts) map[string]any {
		return map[string]any{
			"desiredNumberScheduled": s.size, "currentNumberScheduled": n.pods, "numberReady": n.ready, "numberAvailable": n.available, "updatedNumberScheduled": n.updated,
		}
	}
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return s, nil
	}
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil {
		if n, err := budget.Resolve(r.MaxUnavailable, s.size, budget.Up, "spec.updateStrategy.rollingUpdate.maxUnavailable"); err == nil {
			s.atOnce = max(n, 1)
		}
	}
	s.whichever(0, slices.Clone[[]*corev1.Pod])
	return s, nil
}
