// SPDX-License-Identifier: Apache-2.0

package applies

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	ours   = "slipway"
	person = "kubectl"
)

// Deployment is one as an application has it; without a size when that is negative.
func Deployment(image string, replicas int64, change ...func(map[string]any)) *unstructured.Unstructured {
	return object("apps/v1", "Deployment", image, replicas, change)
}

// CloneSet is one, with a partition.
func CloneSet(image string, replicas int64, change ...func(map[string]any)) *unstructured.Unstructured {
	return object("apps.kruise.io/v1alpha1", "CloneSet", image, replicas, change)
}

func object(version, kind, image string, replicas int64, change []func(map[string]any)) *unstructured.Unstructured {
	spec := map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": image}}},
		},
	}
	if replicas >= 0 {
		spec["replicas"] = replicas
	}
	for _, c := range change {
		c(spec)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "spec": spec}}
	o.SetNamespace("default")
	o.SetName("web")
	return o
}

func partition(n int64) func(map[string]any) {
	return func(spec map[string]any) { spec["updateStrategy"] = map[string]any{"partition": n} }
}

func labelled(o *unstructured.Unstructured, key, value string) *unstructured.Unstructured {
	o.SetLabels(map[string]string{key: value})
	return o
}

func at(o *unstructured.Unstructured, version string) *unstructured.Unstructured {
	o.SetResourceVersion(version)
	return o
}

// Stories are those that the controllers of applications depend on.
func Stories() map[string]Story {
	size := func(n string) string { return `{"spec":{"replicas":` + n + `}}` }
	return map[string]Story{
		"a size that a person has written stays, when it is not applied any more": {[]Request{
			{Actor: ours, Applies: Deployment("app:v1", 3), Forced: true, Want: []string{"spec.replicas 3 slipway"}},
			{Actor: person, Patch: size("5"), Want: []string{"spec.replicas 5 kubectl"}},
			{Actor: ours, Applies: Deployment("app:v2", -1), Forced: true, Want: []string{"spec.replicas 5 kubectl"}},
		}},
		"one that is applied with force is taken over": {[]Request{
			{Actor: ours, Applies: Deployment("app:v1", 3), Forced: true},
			{Actor: person, Patch: size("5")},
			{Actor: ours, Applies: Deployment("app:v1", 4), Conflict: true, Want: []string{"spec.replicas 5 kubectl"}},
			{Actor: ours, Applies: Deployment("app:v1", 4), Forced: true, Want: []string{"spec.replicas 4 slipway"}},
		}},
		"the same value has two owners": {[]Request{
			{Actor: ours, Applies: Deployment("app:v1", 3), Forced: true},
			{Actor: person, Patch: size("3"), Want: []string{"spec.replicas 3 slipway"}},
			{Actor: "other", Applies: Deployment("app:v1", 3), Want: []string{"spec.replicas 3 other,slipway"}},
		}},
		"a partition that is left out goes, unless somebody else has written it": {[]Request{
			{Actor: ours, Applies: CloneSet("app:v1", 4, partition(4)), Forced: true, Want: []string{"spec.updateStrategy.partition 4 slipway"}},
			{Actor: ours, Applies: CloneSet("app:v1", 4), Forced: true}, // a real server has a default in its place
			{Actor: ours, Applies: CloneSet("app:v1", 4, partition(4)), Forced: true},
			{Actor: "slipway-manager", Patch: `{"spec":{"updateStrategy":{"partition":2}}}`, Want: []string{"spec.updateStrategy.partition 2 slipway-manager"}},
			{Actor: ours, Applies: CloneSet("app:v1", 4), Forced: true, Want: []string{"spec.updateStrategy.partition 2 slipway-manager"}},
		}},
		"labels of others stay, and ours go with us": {[]Request{
			{Actor: ours, Applies: labelled(CloneSet("app:v1", 4), "ours", "1"), Forced: true, Want: []string{`metadata.labels {"ours":"1"} slipway`}},
			{Actor: person, Patch: `{"metadata":{"labels":{"theirs":"1"}}}`, Want: []string{`metadata.labels {"ours":"1","theirs":"1"} kubectl,slipway`}},
			{Actor: ours, Applies: CloneSet("app:v1", 4), Forced: true, Want: []string{`metadata.labels {"theirs":"1"} kubectl`}},
		}},
		"a controller that comes stays, and takes the place of ours by hand": {[]Request{
			{Actor: ours, Applies: controlled(CloneSet("app:v1", 4)), Forced: true, Want: []string{`metadata.ownerReferences ` + references(true, false) + ` slipway`}},
			{Actor: "slipway-manager", Patch: `{"metadata":{"ownerReferences":` + references(false, true) + `}}`, Want: []string{`metadata.ownerReferences ` + references(false, true) + ` slipway-manager`}},
		}},
		"an older version is a conflict": {[]Request{
			{Actor: ours, Applies: CloneSet("app:v1", 4), Forced: true},
			{Actor: ours, Applies: at(CloneSet("app:v2", 4), "1"), Forced: true, Conflict: true},
		}},
	}
}

// controlled gives an object an application as its controller.
func controlled(o *unstructured.Unstructured) *unstructured.Unstructured {
	metadata := o.Object["metadata"].(map[string]any)
	metadata["ownerReferences"] = []any{map[string]any{
		"apiVersion": "core.oam.dev/v1beta1", "blockOwnerDeletion": false, "controller": true, "kind": "Application", "name": "shop", "uid": "a",
	}}
	return o
}

// references are owners as the wire has them: an application, and a rollout that takes its place.
func references(controls, held bool) string {
	app := `{"apiVersion":"core.oam.dev/v1beta1","blockOwnerDeletion":false,"kind":"Application","name":"shop","uid":"a"}`
	if controls {
		app = `{"apiVersion":"core.oam.dev/v1beta1","blockOwnerDeletion":false,"controller":true,"kind":"Application","name":"shop","uid":"a"}`
	}
	if held {
		return `[` + app + `,{"apiVersion":"core.oam.dev/v1beta1","blockOwnerDeletion":false,"controller":true,"kind":"AppRollout","name":"shop","uid":"r"}]`
	}
	return `[` + app + `]`
}
