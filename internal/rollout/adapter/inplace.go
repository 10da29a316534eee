// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway.dev/slipway/internal/step"
)

// What kinds have in common that keep two versions of their template apart by a partition: the number of pods that stay on
// older ones.

// counts are what a status says of pods.
type counts struct{ pods, ready, available, updated, updatedAvailable int }

// fill takes over what the status says, for kinds whose partition counts pods.
func (s *Seen) fill(c counts) {
	w, where := &s.Workload, s.Kind.places()
	w.Versions = true
	w.Pods, w.Ready, w.Available = c.pods, c.ready, c.available
	if s.counted {
		w.Updated, w.UpdatedAvailable = c.updated, c.updatedAvailable
	}
	w.Asked = between(0, w.Replicas-where.partition.share(s.Object, w.Replicas), w.Replicas)
	paused := where.paused.truth(s.Object)
	w.Waits = conditionMessage(s.Object, "Ready", "False") // kinds that have this condition tell there what they wait for
	if paused {
		w.Waits = "it is paused by " + where.paused.String()[1:]
	}
	s.judge(w.Pods, paused)
}

// judge says whether it has pods of an older template among its pods, and what it is in the middle of.
func (s *Seen) judge(pods int, paused bool) {
	w := &s.Workload
	w.Differs = !w.Seen || w.Updated < pods || s.newest != "" && s.current != "" && s.newest != s.current
	updates := !paused && w.Updated < min(w.Asked, w.Replicas)
	if w.Busy = s.busy(updates); updates && w.Seen && w.Ready < w.Pods {
		w.Remedy = "set its partition to all of its pods, and they go by this rollout"
		if len(s.Kind.places().paused) > 0 {
			w.Remedy = "pause it, or " + w.Remedy
		}
	}
}

// busy says what it is in the middle of by itself.
func (s *Seen) busy(updates bool) string {
	w := &s.Workload
	switch {
	case !w.Seen:
		return "its own controller has not looked at its spec yet"
	case w.Pods != w.Replicas:
		return fmt.Sprintf("scaling from %d to %d pods", w.Pods, w.Replicas)
	case updates:
		return fmt.Sprintf("updating by itself: %s on its newest template", step.Counted(w.Updated, "pod is", "pods are"))
	}
	return ""
}

// conditionMessage is what a condition says while it has a status; empty when it has another, or is not there.
func conditionMessage(o *unstructured.Unstructured, kind, status string) string {
	conditions, _ := in("status", "conditions").get(o).([]any)
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind && c["status"] == status {
			message, _ := c["message"].(string)
			return message
		}
	}
	return ""
}

// byNumber is for kinds whose partition is the number of pods that stay on older versions, whichever they are.
type byNumber struct{}

func (byNumber) reads() reads { return reads{} }

func (byNumber) keep(s *Seen, o *unstructured.Unstructured, n int, _ string) {
	setPartition(s, o, s.Workload.Replicas-n)
}

func (byNumber) open(s *Seen, o *unstructured.Unstructured) { setPartition(s, o, 0) }

// setPartition leaves n pods on older versions; nothing is done to what has no partition.
func setPartition(s *Seen, o *unstructured.Unstructured, n int) {
	if where := s.Kind.places().partition; len(where) > 0 {
		where.set(o, int64(max(n, 0)))
	}
}

func (byNumber) take(*Seen, int, step.Because) []step.Step { return nil }

func between(low, n, high int) int { return max(low, min(n, high)) }
