// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/test/builders"
)

// keeping is a set of three that are updated in any order, of which as many stay.
func keeping(kept int32, settings ...func(*builders.StatefulSetBuilder)) *scene {
	return set(3, append([]func(*builders.StatefulSetBuilder){inParallel, unordered, partition(kept), unavailable("2")}, settings...)...)
}

// TestThePartitionKeepsAsManyAsItSays is about pods that are updated in any order while others are missing or about to be.
func TestThePartitionKeepsAsManyAsItSays(t *testing.T) {
	const waits = "pod web-0 waits: pods are missing, and the partition of 2 counts only those that are there"
	hooks := hooked(false)
	for sentence, c := range map[string]struct {
		scene *scene
		want  []string
		held  string
	}{
		"one on its way out comes back updated, and no other goes":          {keeping(2).pods("0cT 1cA 2cA"), nil, ""},
		"so does one that has finished":                                     {keeping(2).pods("0cF 1cA 2cA"), []string{"delete 0 (failed)"}, ""},
		"and one that this pass deletes because somebody chose it":          {keeping(2).pods("0cA* 1cA 2cA"), []string{"delete 0 (specified)"}, ""},
		"and one that prepares for that":                                    {keeping(2, hooks).pod(0, current, is(preparingDelete), chosen).pods("1cA 2cA"), nil, "pod web-0 waits: the preDelete hook holds its deletion"},
		"a chosen one that cannot go yet takes nobody's place":              {keeping(1, unavailable("1")).pods("0cA* 1cu 2uA"), []string{"update 1"}, "pod web-0 is chosen for deletion and waits: *"},
		"one that prepares for its update waits for a missing one":          {keeping(2, inPlace, hooks).pod(0, current, is(preparingUpdate), letGo).pods("1cA"), []string{"create 2@c"}, waits},
		"and goes when that is there":                                       {keeping(2, inPlace, hooks).pod(0, current, is(preparingUpdate), letGo).pods("1cA 2cu"), []string{"update 0"}, ""},
		"or still there":                                                    {keeping(2, inPlace, hooks).pod(0, current, is(preparingUpdate), letGo).pods("1cA 2cT"), []string{"update 0"}, ""},
		"of two that prepare one waits where one may go":                    {keeping(1, inPlace, hooks).pod(0, current, is(preparingUpdate), letGo).pod(1, current, is(preparingUpdate), letGo), []string{"update 1", "create 2@c"}, "pod web-0 waits: pods are missing, and the partition of 1 counts only those that are there"},
		"its update is called off where the missing one may not be created": {keeping(2, inPlace, hooks, scaleCap("1")).pod(0, current, is(preparingUpdate), letGo).pods("1cA"), []string{"PatchPod 0", "1 creations throttled"}, "*"},
		"or cannot be":                {keeping(2, inPlace, hooks).pod(0, current, is(preparingUpdate), letGo).pods("1cA 2cA").foreign(), []string{"PatchPod 0"}, "*"},
		"or the partition was raised": {keeping(3, inPlace, hooks).pod(0, current, is(preparingUpdate), letGo).pods("1cA"), []string{"PatchPod 0", "create 2@c"}, ""},
		"one that prepares while another is updated already goes on all the same": {keeping(1, inPlace, hooks).pod(0, current, is(preparingUpdate), letGo).pods("1cA 2uA"), []string{"update 0"}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := plan.Next(c.scene.world, now)
			if diff := cmp.Diff(c.want, c.scene.told(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if prefix, open := cutStar(c.held); got.Held != c.held && !(open && len(got.Held) > len(prefix) && got.Held[:len(prefix)] == prefix) {
				t.Errorf("held %q, want %q", got.Held, c.held)
			}
		})
	}
}
