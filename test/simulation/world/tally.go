// SPDX-License-Identifier: Apache-2.0

package world

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
)

// PodsOf are the active pods of a workload: its own, and those of what it owns.
func (w *World) PodsOf(workload client.Object) []*corev1.Pod {
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
		return owner == nil || !family[owner.UID] || !Active(pod)
	})
}

// Tally counts pods by what they run.
type Tally struct {
	// All and Available are by what pods run, the version of their image.
	All, Available map[string]int
	// Pods are all of them, Serving those that are available.
	Pods, Serving int
}

// TallyOf counts pods as they are now.
func (w *World) TallyOf(pods []*corev1.Pod) Tally {
	t := Tally{All: map[string]int{}, Available: map[string]int{}}
	for _, pod := range pods {
		app := Running(pod).App
		t.All[app]++
		t.Pods++
		if Available(pod, 0, w.Clock.Now()) {
			t.Available[app]++
			t.Serving++
		}
	}
	return t
}

// Tallies tell the pods of all workloads of some kinds.
func (w *World) Tallies(kinds ...api.Kind) string {
	var parts []string
	for _, stored := range kinds {
		for _, o := range w.Server.List(stored) {
			parts = append(parts, o.GetName()+": "+w.TallyOf(w.PodsOf(o)).String())
		}
	}
	return strings.Join(parts, "; ")
}

// String tells them: "2 v1, 3 v2 (1 not available)".
func (t Tally) String() string {
	var parts []string
	for _, app := range slices.Sorted(maps.Keys(t.All)) {
		part := fmt.Sprintf("%d %s", t.All[app], app)
		if missing := t.All[app] - t.Available[app]; missing > 0 {
			part += fmt.Sprintf(" (%d not available)", missing)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "no pods"
	}
	return strings.Join(parts, ", ")
}
