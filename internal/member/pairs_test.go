// SPDX-License-Identifier: Apache-2.0

package member

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/revision"
)

// Comparing two templates is the dearest part of a decision, and thousands of pods share one pair.
func TestTwoRevisionsAreComparedOnceInAPass(t *testing.T) {
	older := revision.Revision{Hash: "a", Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}}}}
	newer := revision.Revision{Hash: "b", Template: older.Template.DeepCopy()}
	newer.Template.Spec.Containers[0].Image = "app:2"
	s := &Set{History: []revision.Revision{older, newer}, Update: newer}
	first := s.difference("a")
	if first.Images["app"] != "app:2" {
		t.Fatalf("the difference is %+v", first)
	}
	s.History = nil // whoever looks again finds nothing
	if diff := cmp.Diff(first, s.difference("a")); diff != "" {
		t.Errorf("the second look (-first +second):\n%s", diff)
	}
}
