// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/story"
)

// followStatefulSetOfApps has a StatefulSet of apps/v1 recreate its pods from the highest position down to its partition.
func followStatefulSetOfApps(p *play, w *workload) ([]story.Moment, error) {
	set, err := ofKind[appsv1.StatefulSet](w)
	if err != nil {
		return nil, err
	}
	defaulted(w.object.GroupVersionKind(), set)
	start := 0
	if set.Spec.Ordinals != nil {
		start = int(set.Spec.Ordinals.Start)
	}
	s := &podset{
		template: &set.Spec.Template, size: int(*set.Spec.Replicas), names: []string{}, fields: counts.fields,
		asked: &member.Set{Policy: member.Recreate, MinReadySeconds: set.Spec.MinReadySeconds},
	}
	for n := range s.size {
		s.names = append(s.names, ordinal.Name(set.Name, start+n))
	}
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return s.follow(p, w)
	}
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if s.atOnce, err = budget.Resolve(rolling.MaxUnavailable, s.size, budget.Up, "spec.updateStrategy.rollingUpdate.maxUnavailable"); err != nil {
		return nil, err
	}
	partition := int(ptr.Deref(rolling.Partition, 0))
	s.old = func(position int) bool { return position < partition }
	s.turn = func(behind []*corev1.Pod) []*corev1.Pod {
		var due []*corev1.Pod
		for position := s.size - 1; position >= partition; position-- {
			if at := slices.IndexFunc(behind, func(c *corev1.Pod) bool { return c.Name == s.names[position] }); at >= 0 {
				due = append(due, behind[at])
			}
		}
		return due
	}
	return s.follow(p, w)
}

// followDaemonSet has a DaemonSet go node by node; while it is held by OnDelete, whoever deletes its pods updates them.
func followDaemonSet(p *play, w *workload) ([]story.Moment, error) {
	set, err := ofKind[appsv1.DaemonSet](w)
	if err != nil {
		return nil, err
	}
	defaulted(w.object.GroupVersionKind(), set)
	s := &podset{
		template: &set.Spec.Template, size: int(set.Status.DesiredNumberScheduled),
		asked: &member.Set{Policy: member.Recreate, MinReadySeconds: set.Spec.MinReadySeconds},
	}
	s.fields = func(n counts) map[string]any {
		return map[string]any{
			"desiredNumberScheduled": s.size, "currentNumberScheduled": n.pods, "numberReady": n.ready, "numberAvailable": n.available, "updatedNumberScheduled": n.updated,
		}
	}
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return s.follow(p, w)
	}
	if s.atOnce, err = budget.Resolve(set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable, s.size, budget.Up, "spec.updateStrategy.rollingUpdate.maxUnavailable"); err != nil {
		return nil, err
	}
	s.turn = func(behind []*corev1.Pod) []*corev1.Pod { return behind }
	return s.follow(p, w)
}
