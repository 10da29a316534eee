// SPDX-License-Identifier: Apache-2.0

package cafe_test

import (
	"testing"

	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// TestAPartitionTakesThePlaceOfGroups holds a release back, lets two pods go, and then all.
func TestAPartitionTakesThePlaceOfGroups(t *testing.T) {
	kept := func(n int32) func(*cafev1alpha1.CafeDeployment) bool {
		return func(d *cafev1alpha1.CafeDeployment) bool {
			return d.Status.Phase == cafev1alpha1.PausedPhase && d.Status.UpdatedAvailableReplicas == 5-n && d.Spec.Strategy.Partition != nil && *d.Spec.Strategy.Partition == n
		}
	}
	set := func(image string, partition *int32) func(*cafev1alpha1.CafeDeployment) {
		return func(d *cafev1alpha1.CafeDeployment) {
			d.Spec.Template.Spec.Containers[0].Image = "registry.test/app:" + image
			d.Spec.Strategy.Partition = partition
		}
	}
	for _, kind := range []cafev1alpha1.PodSetType{cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.CloneSetPodSetType} {
		t.Run(string(kind), func(t *testing.T) {
			p := play(t, kind, func(d *cafev1alpha1.CafeDeployment) {
				d.Spec.Strategy.NeedWaitingForConfirm, d.Spec.Strategy.BatchSize = true, nil
			})
			p.edit(set("v1", ptr.To[int32](0)))
			first := p.until("the creation", stable)
			p.edit(set("v2", ptr.To[int32](5)))
			p.until("all pods are kept", func(d *cafev1alpha1.CafeDeployment) bool {
				return kept(5)(d) && d.Status.UpdateRevision != first.Status.UpdateRevision
			})
			p.edit(set("v2", ptr.To[int32](3)))
			p.until("two pods are updated", kept(3))
			p.edit(set("v2", ptr.To[int32](0)))
			done := p.until("the end", stable)
			if s := done.Status; s.CurrentRevision != s.UpdateRevision || len(s.Groups) != 2 {
				t.Errorf("at the end: %+v", s)
			}
		})
	}
}
