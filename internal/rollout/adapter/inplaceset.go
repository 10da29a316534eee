// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// inPlaceSet counts in its status, by its newest revision, and its partition may be a percentage.
type inPlaceSet struct{ byNumber }

func (inPlaceSet) ID() schema.GroupVersionKind {
	return cafev1alpha1.GroupVersion.WithKind("InPlaceSet")
}

func (inPlaceSet) places() places {
	p := usual()
	p.partition, p.paused = in("spec", "strategy", "partition"), in("spec", "strategy", "paused")
	return p
}

func (inPlaceSet) look(s *Seen, _ time.Time) error {
	status := cafev1alpha1.InPlaceSetStatus{}
	if err := s.status(&status); err != nil {
		return err
	}
	s.fill(counts{
		int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas),
		int(status.UpdatedReplicas), int(status.UpdatedAvailableReplicas),
	})
	return nil
}
