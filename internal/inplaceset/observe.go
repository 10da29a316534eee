// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"context"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/unit"
)

// observe builds the world that one decision depends on. It reads only.
func (r *Reconciler) observe(ctx context.Context, set *cafev1alpha1.InPlaceSet, m *owned.Memory) (plan.World, error) {
	template := unit.Within(&set.Spec.Template, set.Spec.UnitType, set.Spec.DeployUnit)
	world := plan.World{Set: set, Live: m.Template(set, template), Taken: m.Taken}
	var err error
	if world.Pods, err = r.reader.Pods(ctx, set); err != nil {
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
