// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/builtin"
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
	rules, err := builtin.RulesOfStatefulSet(set)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the field
	}
	s := &podset{
		template: &set.Spec.Template, size: rules.Last - rules.First + 1, names: []string{}, fields: counts.fields,
		asked: &member.Set{Policy: member.Recreate, MinReadySeconds: set.Spec.MinReadySeconds},
	}
	for n := rules.First; n <= rules.Last; n++ {
		s.names = append(s.names, ordinal.Name(set.Name, n))
	}
	if rules.OnDelete {
		return s.follow(p, w)
	}
	s.atOnce = rules.Down
	s.old = func(position int) bool { return rules.Keeps(rules.First + position) }
	s.turn = func(behind []*corev1.Pod) []*corev1.Pod {
		var due []*corev1.Pod
		for n := rules.Last; n >= rules.Partition; n-- {
			if at := slices.IndexFunc(behind, func(c *corev1.Pod) bool { return c.Name == ordinal.Name(set.Name, n) }); at >= 0 {
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
	rules, err := builtin.RulesOfDaemonSet(set, s.size)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the field
	}
	if rules.OnDelete {
		return s.follow(p, w)
	}
	s.atOnce, s.besides = rules.Down, rules.Surge > 0
	if s.besides {
		s.atOnce = rules.Surge
	}
	s.turn = func(behind []*corev1.Pod) []*corev1.Pod { return behind }
	return s.follow(p, w)
}
