// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// named is how many pods or failures a message names before it only counts the others.
const named = 3

// Shortened joins the first few of a list and counts the others.
func Shortened(list []string, separator string) string {
	if len(list) <= named {
		return strings.Join(list, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:named], separator), len(list)-named)
}

// Pods is a number of pods in words.
func Pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// Waiting says what a pod that is not available waits for. The update is what its in-place update waits for, or "".
func Waiting(p *corev1.Pod, update string) string {
	return fmt.Sprintf("pod %s (%s)", p.Name, cmp.Or(pod.WaitingFor(p), update, "ready, and not yet for minReadySeconds"))
}

// Failures are what went wrong with steps that a condition is about. Conflicts are left out: the view was old, and
// nobody has to know.
func Failures(outcomes []apply.Outcome, about func(step.Step) bool) []string {
	var failed []string
	for _, o := range outcomes {
		if o.Err != nil && !apply.IsConflict(o.Err) && about(o.Step) {
			failed = append(failed, o.Err.Error())
		}
	}
	return failed
}
