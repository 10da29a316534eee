// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/step"
)

// An ordered StatefulSet waits for a pod that is not ready, also for one of a version that it no longer wants. So somebody has to
// delete it, or a broken version blocks its own fix.
func TestABrokenPodOfAnOrderedStatefulSetMakesRoomForItsFix(t *testing.T) {
	broken := func() []client.Object { return append(podsOn("old", "old", "old", "old"), podOf(4, "older", unready)) }
	for sentence, c := range map[string]struct {
		change fields
		pods   []client.Object
		to     int
		want   []string
		// asked is how many pods may be on the newest template before anything is done.
		asked int
	}{
		"it is deleted when the batch reaches it":       {pods: broken(), to: 1, want: []string{"web-4"}},
		"also when the partition is there already":      {fields{"spec.updateStrategy.rollingUpdate.partition": int64(4)}, broken(), 1, []string{"web-4"}, 0},
		"but not when the batch does not":               {pods: broken(), to: 0},
		"nor one that is ready":                         {pods: podsOn("old", "old", "old", "old", "older"), to: 1},
		"nor one of the newest version":                 {fields{"spec.updateStrategy.rollingUpdate.partition": int64(4)}, append(podsOn("old", "old", "old", "old"), podOf(4, "new", unready)), 1, nil, 1},
		"nor one that goes":                             {pods: append(podsOn("old", "old", "old", "old"), podOf(4, "older", unready, leaving)), to: 1},
		"nor one of a set that waits for no pod":        {fields{"spec.podManagementPolicy": "Parallel", "spec.updateStrategy.rollingUpdate.partition": int64(4)}, broken(), 1, nil, 1},
		"nor any before its controller knows the fix":   {fields{"status.observedGeneration": int64(2)}, broken(), 1, nil, 0},
		"of several, those that the batch may touch go": {pods: append(podsOn("old", "old"), podOf(2, "older", unready), podOf(3, "older", unready), podOf(4, "older", unready)), to: 2, want: []string{"web-3", "web-4"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := held(t, "StatefulSet", nil, c.pods...)
			change(t, s, c.change)
			seen := observe(t, "StatefulSet", s, Ask{})
			if seen.Workload.Asked != c.asked {
				t.Errorf("%d pods may be updated, want %d", seen.Workload.Asked, c.asked)
			}
			var got []string
			for _, taken := range act(t, s, seen, engine.Advance{Because: because, To: c.to}) {
				if gone, deletes := taken.(step.DeletePod); deletes {
					got = append(got, gone.Name)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("deleted pods (-want +got):\n%s", diff)
			}
		})
	}
}

// change writes into the workload that a server has.
func change(t *testing.T, s client.Client, what fields) {
	t.Helper()
	o := observe(t, "StatefulSet", s, Ask{}).Object
	put(o, what)
	status := o.DeepCopy() // an update of the object leaves it out
	if err := s.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	status.SetResourceVersion(o.GetResourceVersion())
	if err := s.Status().Update(t.Context(), status); err != nil {
		t.Fatal(err)
	}
}
