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
	c := counts{
		int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas),
		int(status.UpdatedReplicas), int(status.UpdatedAvailableReplicas),
	}
	// Some publishers of this API do not say how many are both: at least those that the others cannot be.
	c.updatedAvailable = max(c.updatedAvailable, c.updated+min(c.available, c.pods)-c.pods)
	s.fill(c)
	return nil
}
