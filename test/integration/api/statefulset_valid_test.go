// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	published "github.com/openkruise/kruise-api/apps/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaultedStatefulSet is the spec of a StatefulSet as the API server returns it, without the parts that have no default.
var defaultedStatefulSet = object{
	"replicas":                             int64(1),
	"podManagementPolicy":                  "OrderedReady",
	"revisionHistoryLimit":                 int64(10),
	"volumeClaimUpdateStrategy":            object{"type": "OnDelete"},
	"persistentVolumeClaimRetentionPolicy": object{"whenDeleted": "Retain", "whenScaled": "Retain"},
	"updateStrategy": object{
		"type": "RollingUpdate",
		"rollingUpdate": object{
			"partition":       int64(0),
			"maxUnavailable":  int64(1),
			"podUpdatePolicy": "ReCreate",
			"paused":          false,
			"minReadySeconds": int64(0),
		},
	},
}

func TestAbsentFieldsOfAStatefulSetGetTheirDefaults(t *testing.T) {
	for sentence, spoils := range map[string][]spoil{
		"nothing is given":           {},
		"only the type is given":     {{"spec.updateStrategy", object{"type": "RollingUpdate"}}},
		"only the strategy is given": {{"spec.updateStrategy", object{"rollingUpdate": object{"podUpdatePolicy": "ReCreate"}}}},
		"the strategies are empty, as Go clients write them": {
			{"spec.updateStrategy", object{}}, {"spec.volumeClaimUpdateStrategy", object{}}, {"spec.persistentVolumeClaimRetentionPolicy", object{}}},
		"the strategies are null": {
			{"spec.updateStrategy", nil}, {"spec.volumeClaimUpdateStrategy", nil}, {"spec.persistentVolumeClaimRetentionPolicy", nil}},
		"everything is null": {{"spec.replicas", nil}, {"spec.podManagementPolicy", nil}, {"spec.revisionHistoryLimit", nil},
			{"spec.serviceName", nil}, {"spec.ordinals", nil}, {"spec.reserveOrdinals", nil}, {"spec.volumeClaimTemplates", nil},
			{"spec.lifecycle", nil}, {"spec.scaleStrategy", nil}, {"spec.volumeClaimUpdateStrategy", object{"type": nil}},
			{"spec.persistentVolumeClaimRetentionPolicy", object{"whenDeleted": nil, "whenScaled": nil}},
			{"spec.updateStrategy", object{"type": nil, "rollingUpdate": object{"partition": nil, "maxUnavailable": nil, "podUpdatePolicy": nil,
				"paused": nil, "minReadySeconds": nil, "unorderedUpdate": nil, "inPlaceUpdateStrategy": nil}}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := manifest(t, soundStatefulSet)
			for _, s := range append([]spoil{{"-spec.replicas", nil}, {"-spec.podManagementPolicy", nil}}, spoils...) {
				s.apply(t, set)
			}
			want := maps.Clone(defaultedStatefulSet)
			want["selector"], want["template"] = at(t, set, "spec", "selector"), at(t, set, "spec", "template")
			if err := untyped.Create(t.Context(), set); err != nil {
				t.Fatalf("creating: %v", err)
			}
			if diff := cmp.Diff(want, at(t, set, "spec")); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPartsOfAStatefulSetThatAreThereGetTheirDefaults(t *testing.T) {
	set := manifest(t, soundStatefulSet)
	spoil{"spec.ordinals", object{}}.apply(t, set)
	spoil{"spec.scaleStrategy", object{}}.apply(t, set)
	spoil{"spec.updateStrategy", object{"type": "OnDelete", "rollingUpdate": object{"inPlaceUpdateStrategy": object{}}}}.apply(t, set)
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if diff := cmp.Diff(object{"start": int64(0)}, at(t, set, "spec", "ordinals")); diff != "" {
		t.Errorf("ordinals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object{}, at(t, set, "spec", "scaleStrategy")); diff != "" {
		t.Errorf("the bound on creations has no default (-want +got):\n%s", diff)
	}
	update := at(t, set, "spec", "updateStrategy", "rollingUpdate", "inPlaceUpdateStrategy")
	if diff := cmp.Diff(object{"gracePeriodSeconds": int64(0)}, update); diff != "" {
		t.Errorf("in-place strategy (-want +got):\n%s", diff)
	}
	if got := at(t, set, "spec", "updateStrategy", "rollingUpdate", "partition"); got != int64(0) {
		t.Errorf("an object of type OnDelete has partition %v, want 0", got)
	}
}

func TestEdgeCasesOfStatefulSetsAreAccepted(t *testing.T) {
	manyRanges := make([]any, 2048)
	for i := range manyRanges {
		manyRanges[i] = "2147483646-2147483647"
	}
	const unavailable, atOnce = rolling + ".maxUnavailable", "spec.scaleStrategy.maxUnavailable"
	cases := map[string][]spoil{
		"pods that wait, with both bounds of 1":   {ordered, {unavailable, int64(1)}, {atOnce, int64(1)}},
		"the greatest bounds":                     {{unavailable, int64(2147483647)}, {atOnce, int64(2147483647)}},
		"bounds in percent":                       {{unavailable, "25%"}, {atOnce, "250%"}},
		"bounds in percent with decimals":         {{unavailable, "0.1%"}, {atOnce, "12.50%"}},
		"no pods":                                 {{"spec.replicas", int64(0)}},
		"the greatest number of replicas":         {{"spec.replicas", int64(2147483647)}},
		"a partition above replicas":              {{rolling + ".partition", int64(1000)}},
		"the longest time to be ready":            {{rolling + ".minReadySeconds", int64(300)}},
		"no history":                              {{"spec.revisionHistoryLimit", int64(0)}},
		"OnDelete with a partition":               {{"spec.updateStrategy", object{"type": "OnDelete", "rollingUpdate": object{"partition": int64(1)}}}},
		"in place without a gate in the pods":     {{rolling + ".podUpdatePolicy", "InPlaceOnly"}},
		"a start":                                 {{"spec.ordinals", object{"start": int64(2147483647)}}},
		"no service, in so many words":            {{"spec.serviceName", ""}},
		"a service":                               {{"spec.serviceName", "web-" + strings.Repeat("a", 59)}},
		"a name of 52 characters":                 {{"metadata.name", strings.Repeat("a", 52)}},
		"a name of one digit":                     {{"metadata.name", "0"}},
		"unordered updates":                       {{rolling + ".unorderedUpdate", object{}}},
		"reserved ordinals and ranges":            {{"spec.reserveOrdinals", list{int64(0), int64(1), "3-5", int64(1), "4-9", int64(2147483647)}}},
		"a reserved range of one":                 {{"spec.reserveOrdinals", list{"7-7", "0-0"}}},
		"reserved ranges over an order of ten":    {{"spec.reserveOrdinals", list{"9-10", "19-20", "99-1000", "129-130", "5-21"}}},
		"reserved ranges with zeros in front":     {{"spec.reserveOrdinals", list{"007-7", "7-0000000007", "0000000007-10"}}},
		"the greatest reserved range":             {{"spec.reserveOrdinals", list{"0-2147483647", "0000000000-2147483647"}}},
		"the costliest reserved ranges, all 2048": {{"spec.reserveOrdinals", manyRanges}},
		"no reserved ordinals":                    {{"spec.reserveOrdinals", list{}}},
		"claims as a Go client writes them": {{"spec.volumeClaimTemplates", list{object{
			"metadata": object{"name": "data", "creationTimestamp": nil}, "spec": object{"resources": object{}}, "status": object{}}}}},
		"claims with all that they can have": {{"spec.volumeClaimUpdateStrategy.type", "OnPodRollingUpdate"}, {"spec.volumeClaimTemplates", list{
			object{"metadata": object{"name": "data"}, "spec": object{"storageClassName": "", "volumeMode": "Block",
				"accessModes": list{"ReadWriteOnce", "ReadOnlyMany"}, "resources": object{"requests": object{"storage": "1.5e3"},
					"limits": object{"storage": int64(5000000000)}}}}}}},
		"weights from end to end": {{rolling + ".unorderedUpdate.priorityStrategy", object{"orderPriority": list{}, "weightPriority": list{
			object{"weight": int64(0), "matchSelector": object{"matchLabels": object{"a": ""}}},
			object{"weight": int64(100), "matchSelector": object{"matchExpressions": list{object{"key": "a", "operator": "Exists"}}}},
		}}}},
		"pods that restart always, in so many words": {{"spec.template.spec.restartPolicy", "Always"}},
		"a template with a creation time of null":    {{"spec.template.metadata.creationTimestamp", nil}},
		"hooks without handlers, and with all kinds": {{"spec.lifecycle", object{"preNormal": object{}, "preDelete": object{
			"labelsHandler": object{"plain": ""}, "finalizersHandler": list{"example.com/drain"}, "markPodNotReady": true}}}},
	}
	for _, sentence := range slices.Sorted(maps.Keys(cases)) {
		t.Run(sentence, func(t *testing.T) {
			set := manifest(t, soundStatefulSet)
			for _, s := range cases[sentence] {
				s.apply(t, set)
			}
			if err := untyped.Create(t.Context(), set); err != nil {
				t.Errorf("creating: %v", err)
			}
		})
	}
}

// TestPublishedClientsOfStatefulSetsWork uses the Go types that dashboards and pipelines use, with their zero values.
func TestPublishedClientsOfStatefulSetsWork(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := published.AddToScheme(scheme); err != nil {
		t.Fatalf("making a scheme: %v", err)
	}
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	labels := map[string]string{"app": "web"}
	set := &published.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t), Name: "published"},
		Spec: published.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
			ReserveOrdinals:      []intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("3-5")},
		},
	}
	if err := c.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	update := set.Spec.UpdateStrategy.RollingUpdate
	if update == nil || *update.Partition != 0 || update.MaxUnavailable.IntValue() != 1 || *update.MinReadySeconds != 0 ||
		update.PodUpdatePolicy != published.RecreatePodUpdateStrategyType || set.Spec.PodManagementPolicy != appsv1.OrderedReadyPodManagement {
		t.Errorf("the defaults came back as %+v", set.Spec)
	}

	set.Spec.Template.Spec.Containers[0].Image = "web:2"
	if err := c.Update(t.Context(), set); err != nil {
		t.Fatalf("updating the template: %v", err)
	}
	if set.Generation != 2 {
		t.Errorf("generation %d after one change, want 2", set.Generation)
	}
	if err := c.Status().Update(t.Context(), set); err != nil {
		t.Fatalf("writing a status of zero values: %v", err)
	}
	set.Status = published.StatefulSetStatus{Replicas: 1, VolumeClaims: []published.VolumeClaimStatus{{VolumeClaimName: "data"}},
		Conditions: []appsv1.StatefulSetCondition{{Type: published.FailedCreatePod, Status: corev1.ConditionTrue}}}
	if err := c.Status().Update(t.Context(), set); err != nil {
		t.Fatalf("writing a condition without times: %v", err)
	}
	if set.Generation != 2 || set.Status.Replicas != 1 || len(set.Status.VolumeClaims) != 1 {
		t.Errorf("after status updates: generation %d, status %+v", set.Generation, set.Status)
	}
}

// TestNullsOfOlderGoClientsAreAccepted: the libraries that this module builds with omit an empty creation time; older ones
// write it as null, in every place that has metadata.
func TestNullsOfOlderGoClientsAreAccepted(t *testing.T) {
	const text = `{"apiVersion":"apps.kruise.io/v1beta1","kind":"StatefulSet","metadata":{"generateName":"old-client-","namespace":"default",
		"creationTimestamp":null},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"creationTimestamp":null,
		"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1","resources":{}}]}},"updateStrategy":{},
		"volumeClaimUpdateStrategy":{},"volumeClaimTemplates":[{"metadata":{"name":"data","creationTimestamp":null},
		"spec":{"resources":{}},"status":{}}]},"status":{"replicas":0,"readyReplicas":0,"availableReplicas":0,"currentReplicas":0,
		"updatedReplicas":0}}`
	set := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &set.Object); err != nil {
		t.Fatalf("reading the object: %v", err)
	}
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	template, _ := at(t, set, "spec", "template", "metadata").(object)
	if value, kept := template["creationTimestamp"]; !kept || value != nil {
		t.Errorf("the template came back with %v, want the creation time of null kept", template)
	}
}

// TestStatefulSetsOlderThanTheDefaultsAreReadWithThem: what etcd holds is not what clients see.
func TestStatefulSetsOlderThanTheDefaultsAreReadWithThem(t *testing.T) {
	set := named(t, soundStatefulSet, newNamespace(t), "old")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	rewrite(t, set, func(stored *unstructured.Unstructured) {
		for field := range defaultedStatefulSet {
			unstructured.RemoveNestedField(stored.Object, "spec", field)
		}
	})
	read := set.DeepCopy()
	if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(set), read); err != nil {
		t.Fatalf("reading: %v", err)
	}
	for field, want := range defaultedStatefulSet {
		if diff := cmp.Diff(want, at(t, read, "spec", field)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}
