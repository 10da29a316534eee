// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// spread ranks the pods by how crowded their places are: deleting a pod of a
// higher rank leaves the group spread more evenly.
//
// Without constraints the places are the nodes: the pod of a node that would
// go last ranks 0, the one before it 1, and so on. With constraints, each
// constraint's places add to the rank, and places count for more the more of
// them there are.
func spread(entries []*entry, ranking Ranking) {
	for _, group := range groups(entries, func(e *entry) (string, bool) { return e.pod.Spec.NodeName, true }) {
		slices.SortFunc(group, compareOnNode)
		for i, e := range group {
			e.node = len(group) - 1 - i
			e.spread = float64(e.node)
		}
	}
	if len(ranking.Constraints) == 0 {
		return
	}
	for _, e := range entries {
		e.spread = 0
	}
	for _, constraint := range ranking.Constraints {
		order := compareInPlace
		if constraint.TopologyKey == corev1.LabelHostname {
			order = compareOnNode
		}
		places := groups(entries, func(e *entry) (string, bool) {
			place, ok := ranking.NodeLabels[e.pod.Spec.NodeName][constraint.TopologyKey]
			return place, ok
		})
		weight := math.Log(float64(len(places) + 2))
		for _, group := range places {
			slices.SortFunc(group, order)
			for i, e := range group {
				e.spread += float64(len(group)-i) * weight
			}
		}
	}
}

// groups splits the pods by a key, leaving out those that have none.
func groups(entries []*entry, key func(*entry) (string, bool)) map[string][]*entry {
	all := map[string][]*entry{}
	for _, e := range entries {
		if k, ok := key(e); ok {
			all[k] = append(all[k], e)
		}
	}
	return all
}
