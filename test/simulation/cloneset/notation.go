// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/world"
)

// Summary tells the members of the set in the notation of the contract: `3oA 1nu@U` are three old available pods and a new one
// that is not ready because it is being updated. r: ready but not available yet; *: chosen; @G: in a grace period; @T: terminating;
// @F: finished; @PN, @PU, @PD: preparing to become normal, for its update, for its deletion; @UD: updated, and its hook is not back yet.
func (s *scene) Summary() string {
	number := map[string]int{}
	var order []string
	for _, pod := range s.Pods {
		n := s.Notation(pod)
		if number[n]++; number[n] == 1 {
			order = append(order, n)
		}
	}
	return tellCounts(number, order)
}

// Notation is one pod of the summary.
func (s *scene) Notation(pod *corev1.Pod) string {
	text := "n"
	if s.Old(pod) {
		text = "o"
	}
	switch {
	case world.Available(pod, s.set.Spec.MinReadySeconds, s.Now):
		text += "A"
	case world.Active(pod) && world.Ready(pod):
		text += "r"
	default:
		text += "u"
	}
	if chosen(pod, s.set) {
		text += "*"
	}
	gate := world.Condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady)
	switch {
	case pod.DeletionTimestamp != nil:
		text += "@T"
	case !world.Active(pod):
		text += "@F"
	case pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "":
		text += "@G"
	case letters[world.StateOf(pod)] != "":
		text += letters[world.StateOf(pod)]
	case gate != nil && gate.Status == corev1.ConditionFalse:
		text += "@U"
	}
	return text
}

// An update that is under way is told by its gate.
var letters = map[kruisev1alpha1.LifecycleState]string{
	kruisev1alpha1.LifecyclePreparingNormal: "@PN", kruisev1alpha1.LifecyclePreparingUpdate: "@PU",
	kruisev1alpha1.LifecyclePreparingDelete: "@PD", kruisev1alpha1.LifecycleUpdated: "@UD",
}

func tellCounts(number map[string]int, order []string) string {
	if len(order) == 0 {
		return "no pods"
	}
	// The old side first, as in the contract's examples; within a side, by first appearance of the names.
	var parts []string
	for _, side := range []string{"o", "n"} {
		for _, n := range order {
			if strings.HasPrefix(n, side) {
				parts = append(parts, fmt.Sprintf("%d%s", number[n], n))
			}
		}
	}
	return strings.Join(parts, " ")
}
