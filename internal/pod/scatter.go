// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// Scatter returns the waiting pods with those that carry a term's label spread over the sequence, so that
// no batch of a release holds too many of them. All are all active pods, waiting or not: they tell in which
// proportion the label stands to the rest.
//
// Of several terms, those that match the most waiting pods are applied first, each to the result of the
// one before.
func Scatter(waiting, all []*corev1.Pod, terms []kruisev1alpha1.UpdateScatterTerm) []*corev1.Pod {
	if len(terms) > 1 {
		terms = slices.DeleteFunc(slices.Clone(terms), func(t kruisev1alpha1.UpdateScatterTerm) bool { return matching(waiting, t) == 0 })
		slices.SortStableFunc(terms, func(a, b kruisev1alpha1.UpdateScatterTerm) int {
			return cmp.Compare(matching(waiting, b), matching(waiting, a))
		})
	}
	for _, term := range terms {
		waiting = scatterOne(waiting, all, term)
	}
	return waiting
}

func scatterOne(waiting, all []*corev1.Pod, term kruisev1alpha1.UpdateScatterTerm) []*corev1.Pod {
	var match, others []*corev1.Pod
	for _, p := range waiting {
		if carries(p, term) {
			match = append(match, p)
		} else {
			others = append(others, p)
		}
	}
	if len(match) <= 1 || len(others) <= 1 {
		return waiting
	}
	// One pod with the label is kept for the end, so that the label is there in the first and the last batch.
	last := match[len(match)-1]
	match = match[:len(match)-1]

	total := matching(all, term)
	matchStep, othersStep, groups, ahead := proportion(len(match), len(others), total-1, len(all)-total)
	scattered, others := others[:ahead:ahead], others[ahead:]
	for range groups {
		var next []*corev1.Pod
		next, match = cut(match, matchStep)
		scattered = append(scattered, next...)
		next, others = cut(others, othersStep)
		scattered = append(scattered, next...)
	}
	scattered = append(scattered, match...)
	scattered = append(scattered, others...)
	return append(scattered, last)
}

// proportion says how to mix m pods with the label and n others, of which there are allM and allN in
// total: groups of matchStep and othersStep pods, with `ahead` of the others in front of them.
func proportion(m, n, allM, allN int) (matchStep, othersStep, groups, ahead int) {
	if allN*m >= n*allM { // not more others wait than their share of all pods
		groups = min(m, n)
		return rounded(m, groups), rounded(n, groups), groups, 0
	}
	// Pods with the label were updated less than their share: the others catch up first.
	size := min(allM, allN)
	matchStep, othersStep = rounded(allM, size), rounded(allN, size)
	groups = min(m/matchStep, n/othersStep)
	return matchStep, othersStep, groups, n - groups*othersStep
}

// rounded is a/b, half away from zero.
func rounded(a, b int) int { return (2*a + b) / (2 * b) }

func cut(list []*corev1.Pod, n int) (head, rest []*corev1.Pod) {
	n = min(n, len(list))
	return list[:n], list[n:]
}

func matching(pods []*corev1.Pod, term kruisev1alpha1.UpdateScatterTerm) int {
	count := 0
	for _, p := range pods {
		if carries(p, term) {
			count++
		}
	}
	return count
}

// carries tells whether the pod has the label; a missing label has the empty value.
func carries(p *corev1.Pod, term kruisev1alpha1.UpdateScatterTerm) bool {
	return p.Labels[term.Key] == term.Value
}
