// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// asClaimed counts from what the workloads are asked for when they are claimed. The plan was verified before that, and the first
// webhooks can take hours: what others have changed meanwhile is part of no batch.
func (m *machine) asClaimed() {
	r, from := m.status.Running, int32(m.Target.Before.Replicas)
	if r.Mode == rolloutv1alpha1.TwoObjectsMode && m.Source != nil {
		from = int32(m.Source.Before.Replicas)
	}
	grown := from - m.status.RolloutOriginalSize
	if grown == 0 {
		return
	}
	m.status.RolloutOriginalSize = from
	switch r.Mode {
	case rolloutv1alpha1.ScaleMode:
		to := ptr.Deref(r.TargetSize, from)
		r.Total = max(to-from, from-to)
	case rolloutv1alpha1.InPlaceMode:
		r.Total = from
	case rolloutv1alpha1.TwoObjectsMode:
		if r.TargetSize == nil {
			r.Total = max(r.Total+grown, 0)
		}
	}
	if batches := Batches(&m.Rollout.Plan, int(r.Total)); CheckBatches(batches, int(r.Total)) == nil {
		r.RolloutBatches = batches
	}
}
