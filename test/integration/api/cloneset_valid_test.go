// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	published "github.com/openkruise/kruise-api/apps/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaulted is the spec of the sound CloneSet as the API server returns it, without the parts that it was created with.
var defaulted = object{
	"minReadySeconds":      int64(0),
	"revisionHistoryLimit": int64(10),
	"scaleStrategy":        object{"disablePVCReuse": false},
	"updateStrategy": object{
		"type":           "ReCreate",
		"partition":      int64(0),
		"maxUnavailable": "20%",
		"maxSurge":       int64(0),
		"paused":         false,
	},
}

func TestAbsentFieldsGetTheirDefaults(t *testing.T) {
	for sentence, spoils := range map[string][]spoil{
		"nothing is given":         {{"-spec.replicas", nil}},
		"the strategies are empty": {{"-spec.replicas", nil}, {"spec.scaleStrategy", object{}}, {"spec.updateStrategy", object{}}},
		"everything is null": {{"spec.replicas", nil}, {"spec.minReadySeconds", nil}, {"spec.revisionHistoryLimit", nil},
			{"spec.progressDeadlineSeconds", nil}, {"spec.lifecycle", nil}, {"spec.volumeClaimTemplates", nil},
			{"spec.scaleStrategy", object{"podsToDelete": nil, "maxUnavailable": nil, "disablePVCReuse": nil}},
			{"spec.updateStrategy", object{"type": nil, "partition": nil, "maxUnavailable": nil, "maxSurge": nil, "paused": nil,
				"priorityStrategy": nil, "scatterStrategy": nil, "inPlaceUpdateStrategy": nil}}},
		"the strategies are null": {{"-spec.replicas", nil}, {"spec.scaleStrategy", nil}, {"spec.updateStrategy", nil}},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := manifest(t, soundCloneSet)
			for _, s := range spoils {
				s.apply(t, set)
			}
			want := maps.Clone(defaulted)
			want["replicas"] = int64(1)
			want["selector"] = at(t, set, "spec", "selector")
			want["template"] = at(t, set, "spec", "template")
			if err := untyped.Create(t.Context(), set); err != nil {
				t.Fatalf("creating: %v", err)
			}
			if diff := cmp.Diff(want, at(t, set, "spec")); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheGracePeriodIsZeroByDefault(t *testing.T) {
	set := manifest(t, soundCloneSet)
	spoil{"spec.updateStrategy.inPlaceUpdateStrategy", object{}}.apply(t, set)
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	want := object{"gracePeriodSeconds": int64(0)}
	if diff := cmp.Diff(want, at(t, set, "spec", "updateStrategy", "inPlaceUpdateStrategy")); diff != "" {
		t.Errorf("in-place strategy (-want +got):\n%s", diff)
	}
}

func TestEdgeCasesAreAccepted(t *testing.T) {
	cases := map[string][]spoil{
		"no pods need no room for updates": {
			{"spec.replicas", int64(0)}, {"spec.updateStrategy.maxUnavailable", int64(0)}, {"spec.updateStrategy.maxSurge", "0%"}},
		"surge alone is room for updates": {
			{"spec.updateStrategy.maxUnavailable", int64(0)}, {"spec.updateStrategy.maxSurge", int64(1)}},
		"the smallest percentage is room for updates": {
			{"spec.updateStrategy.maxUnavailable", "0.01%"}, {"spec.updateStrategy.maxSurge", int64(0)}},
		"InPlaceOnly with a surge of nothing": {
			{"spec.updateStrategy.type", "InPlaceOnly"}, {"spec.updateStrategy.maxSurge", "0.0%"}},
		"InPlaceOnly without a word about surge": {{"spec.updateStrategy.type", "InPlaceOnly"}},
		"InPlaceIfPossible with surge": {
			{"spec.updateStrategy.type", "InPlaceIfPossible"}, {"spec.updateStrategy.maxSurge", "30%"}},
		"OnDelete":                          {{"spec.updateStrategy.type", "OnDelete"}},
		"a partition above replicas":        {{"spec.updateStrategy.partition", int64(1000)}},
		"a partition of all pods":           {{"spec.updateStrategy.partition", "100%"}},
		"a percentage above 100":            {{"spec.updateStrategy.maxUnavailable", "250%"}},
		"a percentage with decimals":        {{"spec.updateStrategy.maxUnavailable", "12.5%"}},
		"the greatest number of replicas":   {{"spec.replicas", int64(2147483647)}},
		"creations stopped by a bound of 0": {{"spec.scaleStrategy.maxUnavailable", int64(0)}},
		"no deadline, written out, with the longest time to be ready": {
			{"spec.progressDeadlineSeconds", int64(2147483647)}, {"spec.minReadySeconds", int64(2147483647)}},
		"a deadline just after minReadySeconds": {
			{"spec.progressDeadlineSeconds", int64(61)}, {"spec.minReadySeconds", int64(60)}},
		"a selector of expressions only": {{"spec.selector", object{"matchExpressions": list{
			object{"key": "app", "operator": "In", "values": list{"api", "web"}},
			object{"key": "tier", "operator": "Exists", "values": list{}},
			object{"key": "tier", "operator": "NotIn", "values": list{"back"}},
			object{"key": "zone", "operator": "NotIn", "values": list{"a"}},
			object{"key": "zone", "operator": "DoesNotExist"},
		}}}},
		"a selected label with an empty value": {
			{"spec.selector.matchLabels", object{"example.com/app": ""}}, {"spec.template.metadata.labels", object{"example.com/app": ""}}},
		"a template without labels that is selected by what it lacks": {
			{"spec.selector", object{"matchExpressions": list{object{"key": "x", "operator": "DoesNotExist"}}}},
			{"-spec.template.metadata", nil}},
		"pods that restart always, in so many words": {{"spec.template.spec.restartPolicy", "Always"}},
		"pods with a deadline of null":               {{"spec.template.spec.activeDeadlineSeconds", nil}},
		"a template with a creation time of null":    {{"spec.template.metadata.creationTimestamp", nil}},
		"claims as a Go client writes them": {{"spec.volumeClaimTemplates", list{object{
			"metadata": object{"name": "data", "creationTimestamp": nil}, "spec": object{"resources": object{}}, "status": object{}}}}},
		"weights from end to end": {{"spec.updateStrategy.priorityStrategy", object{"orderPriority": list{}, "weightPriority": list{
			object{"weight": int64(0), "matchSelector": object{"matchLabels": object{"a": ""}}},
			object{"weight": int64(100), "matchSelector": object{"matchExpressions": list{object{"key": "a", "operator": "Exists"}}}},
		}}}},
		"one label scattered by two values": {{"spec.updateStrategy.scatterStrategy", list{
			object{"key": "a", "value": ""}, object{"key": "a", "value": "b"}}}},
		"hooks without handlers, and with all kinds": {{"spec.lifecycle", object{"preNormal": object{}, "preDelete": object{
			"labelsHandler":     object{"plain": "", "example.com/Drain_1": "yes"},
			"finalizersHandler": list{"plain", "example.com/drain"}, "markPodNotReady": true}}}},
	}
	for _, sentence := range slices.Sorted(maps.Keys(cases)) {
		t.Run(sentence, func(t *testing.T) {
			set := manifest(t, soundCloneSet)
			for _, s := range cases[sentence] {
				s.apply(t, set)
			}
			if err := untyped.Create(t.Context(), set); err != nil {
				t.Errorf("creating: %v", err)
			}
		})
	}
}

// TestPublishedClientsWork uses the Go types that dashboards and pipelines use, with their zero values.
func TestPublishedClientsWork(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := published.AddToScheme(scheme); err != nil {
		t.Fatalf("making a scheme: %v", err)
	}
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	labels := map[string]string{"app": "web"}
	set := &published.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t), Name: "published"},
		Spec: published.CloneSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
	}
	if err := c.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if set.Spec.UpdateStrategy.MaxUnavailable.String() != published.DefaultCloneSetMaxUnavailable {
		t.Errorf("maxUnavailable came back as %v", set.Spec.UpdateStrategy.MaxUnavailable)
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
	set.Status = published.CloneSetStatus{Replicas: 1, Conditions: []published.CloneSetCondition{
		{Type: published.CloneSetConditionFailedScale, Status: corev1.ConditionFalse}}}
	if err := c.Status().Update(t.Context(), set); err != nil {
		t.Fatalf("writing a condition without times: %v", err)
	}
	if set.Generation != 2 || set.Status.Replicas != 1 {
		t.Errorf("after status updates: generation %d, status %+v", set.Generation, set.Status)
	}
}

// TestObjectsOlderThanTheDefaultsAreReadWithThem: what etcd holds is not what clients see.
func TestObjectsOlderThanTheDefaultsAreReadWithThem(t *testing.T) {
	set := named(t, soundCloneSet, newNamespace(t), "old")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	rewrite(t, set, func(stored *unstructured.Unstructured) {
		for _, field := range []string{"replicas", "minReadySeconds", "revisionHistoryLimit", "scaleStrategy", "updateStrategy"} {
			unstructured.RemoveNestedField(stored.Object, "spec", field)
		}
	})
	read := set.DeepCopy()
	if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(set), read); err != nil {
		t.Fatalf("reading: %v", err)
	}
	for field, want := range defaulted {
		if diff := cmp.Diff(want, at(t, read, "spec", field)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	if got := at(t, read, "spec", "replicas"); got != int64(1) {
		t.Errorf("replicas %v, want 1", got)
	}
}
