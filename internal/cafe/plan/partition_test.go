// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// TestAPartitionIsKeptAndReached: with every kind of pod set, whatever crashes, no pod beyond the partition is updated, on the way
// there and on the way back, and those that are not kept are.
func TestAPartitionIsKeptAndReached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 12).Draw(t, "replicas")
		kinds := []cafev1alpha1.PodSetType{cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType}
		c := newCells(int32(total), drawUnitsOf(t), kind(rapid.SampledFrom(kinds).Draw(t, "kind")), beta(rapid.Int32Range(0, 3).Draw(t, "batch")), confirmed)
		c.edit("brings up all", kept(0))
		c.settle(t)
		defer func() {
			if t.Failed() {
				t.Logf("the story:\n%s", strings.Join(c.log, "\n"))
			}
		}()
		version, keeps := "v2", total
		c.edit("releases v2 and keeps all", image(version), kept(int32(keeps)))
		for range rapid.IntRange(1, 5).Draw(t, "batches") {
			for range rapid.IntRange(0, 8).Draw(t, "passes") {
				c.look(crash{asks: rapid.IntRange(-1, 3).Draw(t, "asks"), silent: rapid.Bool().Draw(t, "silent")})
				c.act()
				c.now = c.now.Add(time.Second)
				if n := newOnes(c, version); n > total-keeps {
					t.Fatalf("%d of %d pods are on %s, and %d are to be kept", n, total, version, keeps)
				}
			}
			if rapid.Bool().Draw(t, "turns") { // those that have not been let go have the other version for sure
				version = map[string]string{"v1": "v2", "v2": "v1"}[version]
				c.settle(t)
				keeps = total - newOnes(c, version)
				c.edit(fmt.Sprintf("goes to %s, and keeps %d", version, keeps), image(version), kept(int32(keeps)))
				continue
			}
			keeps = rapid.IntRange(0, keeps).Draw(t, "keeps")
			c.edit(fmt.Sprintf("keeps %d", keeps), kept(int32(keeps)))
		}
		c.settle(t)
		if n := newOnes(c, version); n != total-keeps {
			t.Errorf("%d of %d pods are on %s, and %d are to be kept", n, total, version, keeps)
		}
	})
}

// newOnes is how many pods have the image, of those that a unit is to have: ReplicaSets have both for a while.
func newOnes(c *cells, tag string) int {
	n := 0
	for _, s := range c.sets {
		for _, p := range s.pods {
			if c.imageOf(p.version) == tag {
				n++
			}
		}
	}
	return n
}
