// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// podsOf are the active pods of a workload: its own, and those of what it owns.
func podsOf(w *world.World, workload client.Object) []*corev1.Pod {
	family := map[types.UID]bool{workload.GetUID(): true}
	for _, stored := range []api.Kind{api.ReplicaSets, api.InPlaceSets} {
		for _, o := range w.Server.List(stored) {
			if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.UID == workload.GetUID() {
				family[o.GetUID()] = true
			}
		}
	}
	return slices.DeleteFunc(w.Pods(), func(pod *corev1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(pod)
		return owner == nil || !family[owner.UID] || !world.Active(pod)
	})
}

// tally counts pods by what they run.
type tally struct {
	all, available map[string]int
	pods, serving  int
}

func tallyOf(w *world.World, pods []*corev1.Pod) tally {
	t := tally{all: map[string]int{}, available: map[string]int{}}
	for _, pod := range pods {
		app := world.Running(pod).App
		t.all[app]++
		t.pods++
		if world.Available(pod, 0, w.Clock.Now()) {
			t.available[app]++
			t.serving++
		}
	}
	return t
}

// String tells them: "2 v1, 3 v2 (1 not available)".
func (t tally) String() string {
	var parts []string
	for _, app := range slices.Sorted(maps.Keys(t.all)) {
		part := fmt.Sprintf("%d %s", t.all[app], app)
		if missing := t.all[app] - t.available[app]; missing > 0 {
			part += fmt.Sprintf(" (%d not available)", missing)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "no pods"
	}
	return strings.Join(parts, ", ")
}

// summary tells all workloads with their pods.
func summary(w *world.World, stored api.Kind) string {
	var parts []string
	for _, o := range w.Server.List(stored) {
		parts = append(parts, o.GetName()+": "+tallyOf(w, podsOf(w, o)).String())
	}
	return strings.Join(parts, "; ")
}
