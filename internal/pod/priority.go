// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// ByPriority returns the pods in the order that a user asks for, first in front; pods that the strategy
// does not tell apart keep their order.
//
// By weight: the larger sum of the weights of the terms that match a pod goes first. By order: pods with
// none of the keys go first; then pods by the first key in the list that they have, and within a key by
// the number at the end of its value, the larger first. A nil strategy changes nothing. The error names a
// selector that cannot be read.
func ByPriority(pods []*corev1.Pod, strategy *kruisev1alpha1.UpdatePriorityStrategy) ([]*corev1.Pod, error) {
	sorted := slices.Clone(pods)
	switch {
	case strategy == nil:
	case len(strategy.WeightPriority) > 0:
		weigh, err := weights(strategy.WeightPriority)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(sorted, func(a, b *corev1.Pod) int { return cmp.Compare(weigh(b), weigh(a)) })
	case len(strategy.OrderPriority) > 0:
		slices.SortStableFunc(sorted, func(a, b *corev1.Pod) int { return compareOrder(a, b, strategy.OrderPriority) })
	}
	return sorted, nil
}

func weights(terms []kruisev1alpha1.UpdatePriorityWeightTerm) (func(*corev1.Pod) int64, error) {
	selectors := make([]labels.Selector, len(terms))
	for i := range terms {
		selector, err := metav1.LabelSelectorAsSelector(&terms[i].MatchSelector)
		if err != nil {
			return nil, fmt.Errorf("spec.updateStrategy.priorityStrategy.weightPriority[%d].matchSelector: %w", i, err)
		}
		selectors[i] = selector
	}
	return func(p *corev1.Pod) (sum int64) {
		for i, selector := range selectors {
			if selector.Matches(labels.Set(p.Labels)) {
				sum += int64(terms[i].Weight)
			}
		}
		return sum
	}, nil
}

func compareOrder(a, b *corev1.Pod, terms []kruisev1alpha1.UpdatePriorityOrderTerm) int {
	keyOfA, numberOfA := orderOf(a, terms)
	keyOfB, numberOfB := orderOf(b, terms)
	return cmp.Or(
		cmp.Compare(keyOfA, keyOfB),
		cmp.Compare(len(numberOfB), len(numberOfA)), // without leading zeros, the longer number is the larger
		cmp.Compare(numberOfB, numberOfA),
	)
}

// orderOf is the place of the first key that the pod has, -1 for none, and the digits at the end of the
// key's value. Digits, not an int: a label may hold more of them than an int.
func orderOf(p *corev1.Pod, terms []kruisev1alpha1.UpdatePriorityOrderTerm) (place int, number string) {
	for i, term := range terms {
		if value, has := p.Labels[term.OrderedKey]; has {
			digits := value[len(strings.TrimRight(value, "0123456789")):]
			return i, strings.TrimLeft(digits, "0")
		}
	}
	return -1, ""
}
