// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAnObjectWithoutAGoTypeKeepsItsKind(t *testing.T) {
	id := schema.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: "Flock"}
	flock := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(3)}}}
	flock.SetGroupVersionKind(id)
	flock.SetName("web")
	empty, ok := EmptyLike(flock).(*unstructured.Unstructured)
	if !ok || empty.GroupVersionKind() != id || empty.GetName() != "" || len(empty.Object) != 2 {
		t.Errorf("got %v", empty)
	}
	other := flock.DeepCopy()
	other.SetKind("Herd")
	if kindOf(flock) == kindOf(other) {
		t.Errorf("a flock and a herd are one kind: %s", kindOf(flock))
	}
	if got := kindOf(&corev1.Pod{}); got != "*v1.Pod" {
		t.Errorf("a pod is a %s", got)
	}
}
