// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// Apart makes a workload live beside an older one of the same component: it is called like the component's revision, and its pods
// carry that name, so that it selects no others. One that is live already keeps its name and its selector, which cannot change.
func Apart(workload, live *unstructured.Unstructured, revision string) {
	mark := map[string]any{oamv1beta1.LabelComponentRevision: revision}
	workload.SetName(revision)
	if live != nil {
		workload.SetName(live.GetName())
		if mark = nil; selected(live) != "" {
			mark = map[string]any{oamv1beta1.LabelComponentRevision: selected(live)}
		}
	}
	for _, at := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
		labels, _, err := unstructured.NestedMap(workload.Object, at...)
		if err != nil {
			continue // it is no map: the server will say so
		}
		if labels == nil {
			labels = map[string]any{}
		}
		for name, value := range mark {
			labels[name] = value
		}
		if len(labels) > 0 {
			_ = unstructured.SetNestedMap(workload.Object, labels, at...) // what is in the way is refused by the server
		}
	}
}

// selected is the component revision by whose name a workload selects its pods; empty for one that does not.
func selected(live *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(live.Object, "spec", "selector", "matchLabels", oamv1beta1.LabelComponentRevision)
	return value
}

// Scales tells whether an object says how many pods a workload has: it refers to it by a scaleTargetRef, as a
// HorizontalPodAutoscaler does.
func Scales(o, workload *unstructured.Unstructured) bool {
	ref, _, err := unstructured.NestedStringMap(o.Object, "spec", "scaleTargetRef")
	if err != nil || ref["kind"] != workload.GetKind() || ref["name"] != workload.GetName() {
		return false
	}
	return ref["apiVersion"] == "" || schema.FromAPIVersionAndKind(ref["apiVersion"], "").Group == workload.GroupVersionKind().Group
}

// PointAt has what scales a workload scale another one of its kind.
func PointAt(o *unstructured.Unstructured, name string) {
	_ = unstructured.SetNestedField(o.Object, name, "spec", "scaleTargetRef", "name") // it has one: see Scales
}

// Rest keeps an autoscaler from asking for more pods than it finds reasons for: its lower bound would give back what a rollout
// takes from an older workload.
func Rest(o *unstructured.Unstructured) {
	if _, has, _ := unstructured.NestedInt64(o.Object, "spec", "minReplicas"); has {
		_ = unstructured.SetNestedField(o.Object, int64(1), "spec", "minReplicas") // it has one
	}
}
