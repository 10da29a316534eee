// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cloneset/plan"
)

// observe builds the world that one decision depends on. It reads only.
func (r *Reconciler) observe(ctx context.Context, set *kruisev1alpha1.CloneSet, m *memory) (plan.World, error) {
	world := plan.World{Set: set, Live: m.Template(set, &set.Spec.Template), Taken: m.Taken, ResizeOff: r.ResizeOff, Unresizable: m.Unresizable, AtOnce: apply.UnitsPerPass}
	var err error
	if world.Pods, err = r.reader.Pods(ctx, set); err != nil {
		return world, err
	}
	if err := r.observeClaims(ctx, set, m, &world); err != nil {
		return world, err
	}
	own, err := r.reader.Revisions(ctx, set, set.Status.CurrentRevision)
	if err != nil {
		return world, err
	}
	orphans, err := r.reader.OrphanRevisions(ctx, set, set.Spec.Selector)
	if err != nil {
		return world, err
	}
	decoded := m.Decode(own, orphans)
	world.Revisions, world.Orphans = decoded[0], decoded[1]
	world.Readings = m.Readings(world.Pods)
	if len(set.Spec.Template.Spec.TopologySpreadConstraints) > 0 { // the only use of labels of nodes
		world.NodeLabels, err = r.reader.NodeLabels(ctx, world.Pods)
	}
	return world, err
}
