// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/member"
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
func Pods(n int32) string { return step.Counted(int(n), "pod", "pods") }

// One is what something adds to a counter of a status that it counts for, or not.
func One(counts bool) int32 {
	if counts {
		return 1
	}
	return 0
}

// Waiting names a pod that is not available, and says what it waits for.
func Waiting(m member.Member) string {
	why := cmp.Or(pod.WaitingFor(m.Pod), m.Progress.Waiting, "ready, and not yet for minReadySeconds")
	return fmt.Sprintf("pod %s (%s)", m.Pod.Name, why)
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
