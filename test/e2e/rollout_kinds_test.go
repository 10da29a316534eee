// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/localcluster/nodes"
	"slipway.dev/slipway/test/builders"
)

// drivenKind is a kind of workload as a rollout is asked to drive it.
type drivenKind struct {
	name string
	id   schema.GroupVersionKind
	mode rolloutv1alpha1.RolloutMode
	// size is how many pods there are at first, and to is how many a scale asks for.
	size, to int
	// spec is what stands in the spec of a new workload besides replicas, selector and template.
	spec fields
	// rest is what is written together with a new template so that no pod moves before the rollout holds the workload.
	rest fields
	// opened is what stands in it when a rollout in place has succeeded: nothing holds pods back.
	opened fields
}

// fields are what stands in an object, by the names on the way there.
type fields []field

type field struct {
	value any
	at    []string
}

func put(value any, at ...string) field { return field{value, at} }

const (
	nodesOfDaemons = 6
	replicasOfAll  = 4
)

// drivenKinds are all of them.
func drivenKinds() map[string]*drivenKind {
	deployment, roll := appsv1.SchemeGroupVersion.WithKind("Deployment"), []string{"spec", "updateStrategy", "rollingUpdate"}
	in := func(names ...string) []string { return slices.Concat(roll, names) }
	inPlace := rolloutv1alpha1.InPlaceMode
	all := []*drivenKind{
		{name: "pair", id: deployment, mode: rolloutv1alpha1.TwoObjectsMode, size: replicasOfAll},
		{name: "up", id: deployment, mode: rolloutv1alpha1.ScaleMode, size: 2, to: 6},
		{name: "down", id: deployment, mode: rolloutv1alpha1.ScaleMode, size: 6, to: 2},
		{
			name: "sts", id: appsv1.SchemeGroupVersion.WithKind("StatefulSet"), mode: inPlace, size: replicasOfAll,
			spec: fields{put("none", "spec", "serviceName"), put("Parallel", "spec", "podManagementPolicy")},
			rest: fields{put(int64(replicasOfAll), in("partition")...)}, opened: fields{put(int64(0), in("partition")...)},
		},
		{
			name: "ordered", id: appsv1.SchemeGroupVersion.WithKind("StatefulSet"), mode: inPlace, size: replicasOfAll,
			spec: fields{put("none", "spec", "serviceName")},
			rest: fields{put(int64(replicasOfAll), in("partition")...)}, opened: fields{put(int64(0), in("partition")...)},
		},
		{
			name: "clone", id: kruisev1alpha1.GroupVersion.WithKind("CloneSet"), mode: inPlace, size: replicasOfAll,
			spec: fields{put("InPlaceIfPossible", "spec", "updateStrategy", "type"), put("100%", "spec", "updateStrategy", "maxUnavailable")},
			rest: fields{put(true, "spec", "updateStrategy", "paused")},
			opened: fields{
				put(int64(0), "spec", "updateStrategy", "partition"), put(false, "spec", "updateStrategy", "paused"),
			},
		},
		{
			name: "advanced", id: kruisev1beta1.GroupVersion.WithKind("StatefulSet"), mode: inPlace, size: replicasOfAll,
			spec: fields{
				put("none", "spec", "serviceName"), put("Parallel", "spec", "podManagementPolicy"),
				put("InPlaceIfPossible", in("podUpdatePolicy")...), put("100%", in("maxUnavailable")...),
			},
			rest: fields{put(true, in("paused")...)}, opened: fields{put(int64(0), in("partition")...), put(false, in("paused")...)},
		},
		{
			name: "daemon", id: appsv1.SchemeGroupVersion.WithKind("DaemonSet"), mode: inPlace, size: nodesOfDaemons,
			spec: fields{
				put("OnDelete", "spec", "updateStrategy", "type"),
				put(map[string]any{nodes.LabelSimulated: "true"}, "spec", "template", "spec", "nodeSelector"),
			},
			opened: fields{put("OnDelete", "spec", "updateStrategy", "type")},
		},
		{
			name: "inplace", id: cafev1alpha1.GroupVersion.WithKind("InPlaceSet"), mode: inPlace, size: replicasOfAll,
			rest:   fields{put(true, "spec", "strategy", "paused")},
			opened: fields{put(int64(0), "spec", "strategy", "partition"), put(false, "spec", "strategy", "paused")},
		},
		{
			name: "cafe", id: cafev1alpha1.GroupVersion.WithKind("CafeDeployment"), mode: inPlace, size: replicasOfAll,
			spec: fields{put([]any{"cell-1", "cell-2"}, "spec", "topology", "values")},
			rest: fields{put(true, "spec", "strategy", "pause")}, opened: fields{put(false, "spec", "strategy", "pause")},
		},
	}
	byName := map[string]*drivenKind{}
	for _, k := range all {
		byName[k.name] = k
	}
	return byName
}

func (f fields) into(o *unstructured.Unstructured) {
	GinkgoHelper()
	for _, one := range f {
		Expect(unstructured.SetNestedField(o.Object, one.value, one.at...)).To(Succeed())
	}
}

// missing are those that do not stand in the object. What is absent is as 0, or false.
func (f fields) missing(o *unstructured.Unstructured) fields {
	return slices.DeleteFunc(slices.Clone(f), func(one field) bool {
		value, found, err := unstructured.NestedFieldNoCopy(o.Object, one.at...)
		return err == nil && (value == one.value || !found && (one.value == int64(0) || one.value == false))
	})
}

// fresh is a workload of a version, for the pods of a cell.
func (k *drivenKind) fresh(name, app, version string, size int) *unstructured.Unstructured {
	GinkgoHelper()
	labels := map[string]any{"app": app}
	if k.mode == rolloutv1alpha1.TwoObjectsMode {
		labels["version"] = version
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"replicas": int64(size),
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": maps.Clone(labels)},
			"spec": map[string]any{
				"terminationGracePeriodSeconds": int64(1),
				"containers":                    []any{map[string]any{"name": builders.Container, "image": image(version)}},
			},
		},
	}}}
	o.SetGroupVersionKind(k.id)
	o.SetNamespace(namespace)
	o.SetName(name)
	k.spec.into(o)
	if k.id.Kind == "DaemonSet" {
		unstructured.RemoveNestedField(o.Object, "spec", "replicas")
	}
	return o
}

// sizeOf is how many pods a workload is asked for; -1 where no number is.
func sizeOf(o *unstructured.Unstructured) int {
	n, found, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if err != nil || !found {
		return -1
	}
	return int(n)
}

func imageOf(o *unstructured.Unstructured) string {
	containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		return ""
	}
	name, _ := containers[0].(map[string]any)["image"].(string)
	return name
}

// withImage is an edit that gives the template another version.
func withImage(version string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		Expect(err).NotTo(HaveOccurred())
		containers[0].(map[string]any)["image"] = image(version)
		Expect(unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers")).To(Succeed())
	}
}

func withSize(n int) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { fields{put(int64(n), "spec", "replicas")}.into(o) }
}

// edited changes a workload as a user does, and returns it as it was stored.
func (k *drivenKind) edited(name string, edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	GinkgoHelper()
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(k.id)
	Expect(cluster.Get(testCtx, client.ObjectKey{Namespace: namespace, Name: name}, now)).To(Succeed())
	changed := now.DeepCopy()
	for _, edit := range edits {
		edit(changed)
	}
	Expect(cluster.Patch(testCtx, changed, client.MergeFrom(now))).To(Succeed())
	return changed
}
