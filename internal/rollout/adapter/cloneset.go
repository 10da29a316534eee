// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// cloneSet counts in its status, by its newest revision, and its partition may be a percentage.
type cloneSet struct{ byNumber }

func (cloneSet) ID() schema.GroupVersionKind {
	return kruisev1alpha1.GroupVersion.WithKind("CloneSet")
}

func (cloneSet) places() places {
	p := usual()
	p.partition, p.paused = in("spec", "updateStrategy", "partition"), in("spec", "updateStrategy", "paused")
	return p
}

func (cloneSet) look(s *Seen, _ time.Time) error {
	status := kruisev1alpha1.CloneSetStatus{}
	if err := s.status(&status); err != nil {
		return err
	}
	s.fill(counts{
		int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas),
		int(status.UpdatedReplicas), int(status.UpdatedAvailableReplicas),
	})
	return nil
}
