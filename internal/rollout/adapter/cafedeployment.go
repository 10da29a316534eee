// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// cafeDeployment releases in groups of its own, unless a partition says how many pods of all units stay on older versions:
// then what is beyond it goes at once, and the batches of the rollout take the place of the groups. While paused it is not
// scaled either.
type cafeDeployment struct{ byNumber }

func (cafeDeployment) ID() schema.GroupVersionKind {
	return cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind)
}

func (cafeDeployment) places() places {
	p := usual()
	p.partition, p.paused, p.stopsAll = in("spec", "strategy", "partition"), in("spec", "strategy", "pause"), true
	return p
}

func (k cafeDeployment) look(s *Seen, _ time.Time) error {
	status := cafev1alpha1.CafeDeploymentStatus{}
	if err := s.status(&status); err != nil {
		return err
	}
	s.fill(counts{
		int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas),
		int(status.UpdatedReplicas), int(status.UpdatedAvailableReplicas),
	})
	w := &s.Workload
	switch {
	case !w.Seen: // it has said so
	case k.places().paused.truth(s.Object):
		w.Busy = "" // nothing begins, and a partition voids what has begun
	case status.CurrentGroup > 0 && k.places().partition.get(s.Object) == nil:
		w.Busy = fmt.Sprintf("updating by itself: it is at group %d of %d", status.CurrentGroup, len(status.Groups))
	}
	return nil
}

// open gives it its own groups back, which have nothing to do.
func (k cafeDeployment) open(_ *Seen, o *unstructured.Unstructured) { k.places().partition.remove(o) }
