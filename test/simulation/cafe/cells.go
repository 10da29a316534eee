// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

const cellLabel = "cafe.sofastack.io/cell"

// cells are the nodes with what they have room for.
type cells struct {
	*world.World
	// room is how many pods a cell can have; absent for any number.
	room map[string]int
}

// newCells gives each cell two nodes, and the world a scheduler that knows them.
func newCells(w *world.World, names ...string) *cells {
	c := &cells{World: w, room: map[string]int{}}
	for _, name := range names {
		for n := range 2 {
			w.Must(w.Server.Create("user", &corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%d", name, n), Labels: map[string]string{cellLabel: name},
			}}))
		}
	}
	w.Place = c.place
	return c
}

// place is the node that has fewest pods, of those that a pod may go to.
func (c *cells) place(pod *corev1.Pod) (string, bool) {
	onNode, inCell, cellOf := map[string]int{}, map[string]int{}, map[string]string{}
	for _, o := range c.Server.List(api.Nodes) {
		cellOf[o.GetName()] = o.GetLabels()[cellLabel]
	}
	for _, other := range c.Pods() {
		if node := other.Spec.NodeName; node != "" && other.Status.Phase != corev1.PodFailed {
			onNode[node]++
			inCell[cellOf[node]]++
		}
	}
	best := ""
	for _, o := range c.Server.List(api.Nodes) {
		cell := o.GetLabels()[cellLabel]
		if limit, limited := c.room[cell]; cell == "" || limited && inCell[cell] >= limit || !mayGo(pod, o.GetLabels()) {
			continue
		}
		if best == "" || onNode[o.GetName()] < onNode[best] {
			best = o.GetName()
		}
	}
	return best, best != ""
}

// mayGo tells whether the node affinity that a pod requires lets it go to a node with these labels.
func mayGo(pod *corev1.Pod, labels map[string]string) bool {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	return slices.ContainsFunc(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return r.Operator != corev1.NodeSelectorOpIn || !slices.Contains(r.Values, labels[r.Key])
		})
	})
}
