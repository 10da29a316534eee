// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// soundInPlaceSet has nothing wrong with it; every case below spoils one thing.
const soundInPlaceSet = `
apiVersion: apps.cafe.cloud.alipay.com/v1alpha1
kind: InPlaceSet
metadata:
  generateName: sound-
  namespace: default
spec:
  replicas: 5
  deployUnit: CellA
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web, tier: front}
    spec:
      containers:
      - name: web
        image: web:1
`

var invalidInPlaceSets = map[string]invalidCase{
	"an InPlaceSet needs a spec": {
		[]spoil{{"-spec", nil}}, "spec", "Required value"},
	"replicas is not negative": {
		[]spoil{{"spec.replicas", int64(-1)}}, "spec.replicas", "greater than or equal to 0"},
	"minReadySeconds is not negative": {
		[]spoil{{"spec.minReadySeconds", int64(-1)}}, "spec.minReadySeconds", "greater than or equal to 0"},
	"revisionHistoryLimit is not negative": {
		[]spoil{{"spec.revisionHistoryLimit", int64(-1)}}, "spec.revisionHistoryLimit", "greater than or equal to 0"},
	"the grace period is not negative": {
		[]spoil{{"spec.strategy.gracePeriodSeconds", int64(-1)}}, "spec.strategy.gracePeriodSeconds", "greater than or equal to 0"},
	"paused is true or false": {
		[]spoil{{"spec.strategy.paused", "yes"}}, "spec.strategy.paused", "must be of type boolean"},
	"a unit can be the value of a label": {
		[]spoil{{"spec.deployUnit", "Cell A"}}, "spec.deployUnit", "should match"},
	"a unit has at most 63 characters": {
		[]spoil{{"spec.deployUnit", long(64)}}, "spec.deployUnit", "may not be more than 63"},
	"the type of a unit is one that exists": {
		[]spoil{{"spec.unitType", "Rack"}}, "spec.unitType", `supported values: "Cell", "Zone", "None"`},
	"partition is not negative": {
		[]spoil{{"spec.strategy.partition", int64(-1)}}, "spec.strategy.partition", "whole number from 0"},
	"partition as a string needs a percent sign": {
		[]spoil{{"spec.strategy.partition", "5"}}, "spec.strategy.partition", "percentage such as 25%"},
	"an update needs room": {
		[]spoil{{"spec.strategy.maxUnavailable", int64(0)}}, "spec.strategy.maxUnavailable", "whole number from 1"},
	"a percentage of zero is no room": {
		[]spoil{{"spec.strategy.maxUnavailable", "0.0%"}}, "spec.strategy.maxUnavailable", "a percentage above 0%"},
	"maxUnavailable is no word": {
		[]spoil{{"spec.strategy.maxUnavailable", "many"}}, "spec.strategy.maxUnavailable", "percentage above 0% such as 25%"},
}

func TestTheSoundInPlaceSetIsAccepted(t *testing.T) {
	if err := untyped.Create(t.Context(), manifest(t, soundInPlaceSet)); err != nil {
		t.Fatalf("every case of this file starts from this object, so it must be valid: %v", err)
	}
}

func TestInvalidInPlaceSetsAreRefusedByFieldAndRule(t *testing.T) {
	refuse(t, soundInPlaceSet, invalidInPlaceSets, invalidTemplates)
}

func TestAbsentFieldsOfAnInPlaceSetGetTheirDefaults(t *testing.T) {
	for sentence, spoils := range map[string][]spoil{
		"nothing is given":      {{"-spec.replicas", nil}, {"-spec.deployUnit", nil}},
		"the strategy is empty": {{"-spec.replicas", nil}, {"-spec.deployUnit", nil}, {"spec.strategy", object{}}},
		"everything is null": {{"spec.replicas", nil}, {"-spec.deployUnit", nil}, {"spec.unitType", nil}, {"spec.minReadySeconds", nil}, {"spec.revisionHistoryLimit", nil},
			{"spec.strategy", object{"partition": nil, "maxUnavailable": nil, "gracePeriodSeconds": nil, "paused": nil}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := manifest(t, soundInPlaceSet)
			for _, s := range spoils {
				s.apply(t, set)
			}
			want := object{
				"replicas": int64(1), "unitType": "Cell", "minReadySeconds": int64(0), "revisionHistoryLimit": int64(10),
				"strategy": object{"partition": int64(0), "maxUnavailable": "25%", "gracePeriodSeconds": int64(0), "paused": false},
				"selector": at(t, set, "spec", "selector"), "template": at(t, set, "spec", "template"),
			}
			if err := untyped.Create(t.Context(), set); err != nil {
				t.Fatalf("creating: %v", err)
			}
			if diff := cmp.Diff(want, at(t, set, "spec")); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEdgeCasesOfAnInPlaceSetAreAccepted(t *testing.T) {
	cases := map[string][]spoil{
		"no unit":                               {{"spec.deployUnit", ""}},
		"a unit of no type":                     {{"spec.unitType", "None"}},
		"a zone":                                {{"spec.unitType", "Zone"}, {"spec.deployUnit", "eu-1.a_b"}},
		"the longest unit":                      {{"spec.deployUnit", long(63)}},
		"a partition above replicas":            {{"spec.strategy.partition", int64(1000)}},
		"a partition of all pods":               {{"spec.strategy.partition", "100%"}},
		"the smallest percentage is room":       {{"spec.strategy.maxUnavailable", "0.01%"}},
		"a percentage above 100":                {{"spec.strategy.maxUnavailable", "250%"}},
		"no pods":                               {{"spec.replicas", int64(0)}},
		"a history of nothing":                  {{"spec.revisionHistoryLimit", int64(0)}},
		"an affinity of the template's own":     {{"spec.template.spec.affinity", object{"nodeAffinity": object{}}}},
		"components that route traffic to pods": {{"metadata.annotations", object{"cafe.sofastack.io/traffic-components": "lb,rpc"}}},
	}
	for _, sentence := range slices.Sorted(maps.Keys(cases)) {
		t.Run(sentence, func(t *testing.T) {
			set := manifest(t, soundInPlaceSet)
			for _, s := range cases[sentence] {
				s.apply(t, set)
			}
			if err := untyped.Create(t.Context(), set); err != nil {
				t.Errorf("creating: %v", err)
			}
		})
	}
}

func TestWhatIsImmutableInAnInPlaceSet(t *testing.T) {
	namespace := newNamespace(t)
	for name, test := range map[string]struct {
		before, change []spoil
		field, rule    string // empty for a change that is allowed
	}{
		"another-selector":  {nil, []spoil{{"spec.selector", object{"matchLabels": object{"tier": "front"}}}}, "spec.selector", "must not be changed"},
		"the-same-selector": {nil, []spoil{{"spec.selector", object{"matchLabels": object{"app": "web"}, "matchExpressions": list{}}}}, "", ""},
		"another-unit":      {nil, []spoil{{"spec.deployUnit", "CellB"}}, "spec.deployUnit", "must not be changed"},
		"no-unit-any-more":  {nil, []spoil{{"-spec.deployUnit", nil}}, "spec.deployUnit", "must not be changed"},
		"a-new-unit":        {[]spoil{{"-spec.deployUnit", nil}}, []spoil{{"spec.deployUnit", "CellB"}}, "spec.deployUnit", "must not be changed"},
		"no-unit-in-words":  {[]spoil{{"-spec.deployUnit", nil}}, []spoil{{"spec.deployUnit", ""}}, "", ""},
		"everything-else": {nil, []spoil{
			{"spec.replicas", int64(7)}, {"spec.minReadySeconds", int64(7)}, {"spec.revisionHistoryLimit", int64(7)}, {"spec.unitType", "Zone"},
			{"spec.strategy", object{"partition": "50%", "maxUnavailable": int64(3), "gracePeriodSeconds": int64(7), "paused": true}},
			{"spec.template.spec.containers", list{object{"name": "other", "image": "other:1"}}}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			checkChange(t, named(t, soundInPlaceSet, namespace, name), test.before, test.change, test.field, test.rule)
		})
	}
}

var olderInPlaceSets = map[string]olderMistake{
	"a partition without a percent sign": {
		spoil{"spec.strategy.partition", "5"}, spoil{"spec.strategy.partition", "6"}, "spec.strategy.partition"},
	"a bound of zero": {
		spoil{"spec.strategy.maxUnavailable", int64(0)}, spoil{"spec.strategy.maxUnavailable", "0%"}, "spec.strategy.maxUnavailable"},
	"an unknown type of unit": {
		spoil{"spec.unitType", "Rack"}, spoil{"spec.unitType", "Row"}, "spec.unitType"},
	"an empty selector": {
		spoil{"spec.selector", object{}}, spoil{"spec.selector", object{"matchLabels": object{}}}, "spec.selector"},
}

func TestDiscoveryShowsTheKindsOfCafe(t *testing.T) {
	checkResources(t, "apps.cafe.cloud.alipay.com/v1alpha1", []metav1.APIResource{
		{Name: "cafedeployments", SingularName: "cafedeployment", Namespaced: true, Kind: "CafeDeployment", ShortNames: []string{"cafe"}},
		{Name: "cafedeployments/scale", Namespaced: true, Kind: "Scale", Group: "autoscaling", Version: "v1"},
		{Name: "cafedeployments/status", Namespaced: true, Kind: "CafeDeployment"},
		{Name: "inplacesets", SingularName: "inplaceset", Namespaced: true, Kind: "InPlaceSet", ShortNames: []string{"ips"}},
		{Name: "inplacesets/scale", Namespaced: true, Kind: "Scale", Group: "autoscaling", Version: "v1"},
		{Name: "inplacesets/status", Namespaced: true, Kind: "InPlaceSet"},
	})
}

// reportedInPlaceSet is a status with a number of its own in every counter.
const reportedInPlaceSet = `{"status":{"observedGeneration":1,"replicas":6,"readyReplicas":5,"availableReplicas":4,"updatedReplicas":3,` +
	`"updatedReadyReplicas":2,"updatedAvailableReplicas":1,"labelSelector":"app=web"}}`

func TestListsShowTheColumnsOfInPlaceSets(t *testing.T) {
	set := named(t, soundInPlaceSet, newNamespace(t), "columns")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if err := untyped.Status().Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(reportedInPlaceSet))); err != nil {
		t.Fatalf("reporting the status: %v", err)
	}
	columns, cells := readTable(t, set)
	want := []column{
		{"Name", "string", 0}, {"UNIT", "string", 0}, {"DESIRED", "integer", 0}, {"UPDATED", "integer", 0}, {"READY", "integer", 0},
		{"AVAILABLE", "integer", 0}, {"AGE", "date", 0}, {"CONTAINERS", "string", 1}, {"IMAGES", "string", 1}, {"SELECTOR", "string", 1},
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	cells = slices.Delete(cells, 6, 7) // the age is not ours to say
	wantCells := []any{"columns", "CellA", int64(5), int64(3), int64(5), int64(4), "web", "web:1", "app=web"}
	if diff := cmp.Diff(wantCells, cells); diff != "" {
		t.Errorf("cells without the age (-want +got):\n%s", diff)
	}
}

func TestTheStatusOfAnInPlaceSetNeedsItsCounters(t *testing.T) {
	set := named(t, soundInPlaceSet, newNamespace(t), "status")
	checkCounters(t, set, "replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "updatedReadyReplicas", "updatedAvailableReplicas")
}
