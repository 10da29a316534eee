// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway.dev/slipway/internal/fieldowner"
)

// Deliver is what to apply of a rendered workload so that no pod moves by it: a new workload has no pods, and one that is there
// keeps its size and, when the template is another, holds its pods back in the same write. The manager is who applies; what it
// has applied before, and what is a rollout's to say from then on, stays as it is.
//
// A kind without a number of pods has them all at once when it is new, and a kind that nothing is known of is applied as it is.
func (s *Seen) Deliver(rendered *unstructured.Unstructured, another bool, manager string) *unstructured.Unstructured {
	o := rendered.DeepCopy()
	if s.Kind == nil {
		return o
	}
	where := s.Kind.places()
	for _, p := range []path{where.paused, where.partition} {
		if len(p) > 0 {
			p.remove(o)
		}
	}
	if s.Object == nil {
		if len(where.replicas) > 0 {
			where.replicas.set(o, int64(0))
		}
		return o
	}
	if len(where.replicas) > 0 {
		where.replicas.remove(o)
	}
	if stops := s.stopsBy(rendered); another || len(stops) > 0 && fieldowner.Applied(s.Object, manager, stops...) {
		s.Kind.keep(s, o, 0, "")
	}
	for _, p := range []path{where.replicas, where.paused, where.partition} {
		if value := p.get(s.Object); value != nil && p.get(o) == nil && fieldowner.Applied(s.Object, manager, p...) {
			p.set(o, value)
		}
	}
	return o
}

// stopsBy is where a strategy stands that holds back pods and was not rendered; empty for kinds with a partition, which have no need of
// one, and where there is none such.
func (s *Seen) stopsBy(rendered *unstructured.Unstructured) path {
	where := s.Kind.places()
	if len(where.partition) > 0 || len(where.strategy) == 0 {
		return nil
	}
	if kind := append(slices.Clone(where.strategy), "type"); kind.text(s.Object) == onDelete && kind.text(rendered) != onDelete {
		return kind
	}
	return nil
}

// Has tells whether a workload that is there has the pod template of a rendered one, whatever the server has added to it.
func (s *Seen) Has(rendered *unstructured.Unstructured) bool {
	template, err := identity(s.Kind.places().template.tree(rendered))
	return err == nil && template == s.Workload.Template
}

// Size is how many pods a rendered workload of the kind asks for, and whether the kind has such a number.
func Size(k Kind, rendered *unstructured.Unstructured) (int, bool) {
	where := k.places().replicas
	if len(where) == 0 {
		return 0, false
	}
	if n, stands := where.number(rendered); stands {
		return n, true
	}
	return 1, true // what an absent number means for every kind
}

// HoldsTwoVersions tells whether a workload of the kind holds two versions of its template at once. One that does not is replaced
// by another object.
func HoldsTwoVersions(k Kind) bool {
	where := k.places()
	return len(where.partition) > 0 || len(where.strategy) > 0
}

// Opened is a workload as it would be if no rollout had left anything in it that holds back pods, so that its own controller rolls
// out what it has; nil when it is so. What was rendered, and what people have set, stays.
func (s *Seen) Opened(rendered *unstructured.Unstructured, managers ...string) *unstructured.Unstructured {
	if s.Kind == nil || s.Object == nil || s.Workload.Held || s.Workload.Owner != "" { // somebody's rollout holds it
		return nil
	}
	where, o := s.Kind.places(), s.Object.DeepCopy()
	ours := func(p path) bool {
		theirs, others := fieldowner.Whose(s.Object, managers, p...)
		return theirs && !others
	}
	left := func(p path) bool {
		return len(p) > 0 && p.get(s.Object) != nil && p.get(rendered) == nil && ours(p)
	}
	if left(where.paused) {
		s.unpause(o)
	}
	if left(where.partition) {
		s.Kind.open(s, o)
	}
	if stops := s.stopsBy(rendered); len(stops) > 0 && ours(stops) {
		where.strategy.restore(o, where.strategy.raw(rendered))
	}
	if same(s.Object, o) {
		return nil
	}
	return o
}
