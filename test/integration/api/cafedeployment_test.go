// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// soundCafeDeployment has nothing wrong with it; every case below spoils one thing.
const soundCafeDeployment = `
apiVersion: apps.cafe.cloud.alipay.com/v1alpha1
kind: CafeDeployment
metadata:
  generateName: sound-
  namespace: default
spec:
  replicas: 5
  selector:
    matchLabels: {app: web}
  topology:
    values: [CellA, CellB]
  template:
    metadata:
      labels: {app: web, tier: front}
    spec:
      containers:
      - name: web
        image: web:1
`

func long(n int) string { return strings.Repeat("a", n) }

func manyUnits(n int) list {
	var units list
	for i := range n {
		units = append(units, fmt.Sprintf("cell-%d", i))
	}
	return units
}

var invalidCafeDeployments = map[string]invalidCase{
	"a CafeDeployment needs a spec": {
		[]spoil{{"-spec", nil}}, "spec", "Required value"},
	"replicas is not negative": {
		[]spoil{{"spec.replicas", int64(-1)}}, "spec.replicas", "greater than or equal to 0"},
	"historyLimit is not negative": {
		[]spoil{{"spec.historyLimit", int64(-1)}}, "spec.historyLimit", "greater than or equal to 0"},
	"the kind of pod sets is one that exists": {
		[]spoil{{"spec.podSetType", "Deployment"}},
		"spec.podSetType", `supported values: "InPlaceSet", "ReplicaSet", "StatefulSet", "CloneSet", "AdvancedStatefulSet"`},

	"an InPlaceSet has no claims": {
		[]spoil{{"spec.volumeClaimTemplates", list{claim("data", "1Gi")}}},
		"spec.volumeClaimTemplates", "must not be set unless podSetType is StatefulSet or AdvancedStatefulSet, and podSetType is InPlaceSet"},
	"a CloneSet gets no claims": {
		[]spoil{{"spec.podSetType", "CloneSet"}, {"spec.volumeClaimTemplates", list{claim("data", "1Gi")}}},
		"spec.volumeClaimTemplates", "and podSetType is CloneSet"},
	"a ReplicaSet has no service": {
		[]spoil{{"spec.podSetType", "ReplicaSet"}, {"spec.serviceName", "web"}}, "spec.serviceName", "and podSetType is ReplicaSet"},
	"a service has a DNS name": {
		[]spoil{{"spec.podSetType", "StatefulSet"}, {"spec.serviceName", "Web"}}, "spec.serviceName", "should match"},

	"the type of upgrade is one that exists": {
		[]spoil{{"spec.strategy.upgradeType", "Canary"}}, "spec.strategy.upgradeType", `supported values: "Beta", "Batch"`},
	"a group has a pod": {
		[]spoil{{"spec.strategy.batchSize", int64(0)}}, "spec.strategy.batchSize", "greater than or equal to 1"},
	"a group is a number of pods": {
		[]spoil{{"spec.strategy.batchSize", "25%"}}, "spec.strategy.batchSize", "must be of type integer"},
	"partition is not negative": {
		[]spoil{{"spec.strategy.partition", int64(-1)}}, "spec.strategy.partition", "greater than or equal to 0"},
	"partition is no percentage": {
		[]spoil{{"spec.strategy.partition", "25%"}}, "spec.strategy.partition", "must be of type integer"},
	"minReadySeconds is not negative": {
		[]spoil{{"spec.strategy.minReadySeconds", int64(-1)}}, "spec.strategy.minReadySeconds", "greater than or equal to 0"},

	"a topology is needed": {
		[]spoil{{"-spec.topology", nil}}, "spec.topology", "Required value"},
	"cells have names": {
		[]spoil{{"-spec.topology.values", nil}, {"spec.topology.unitType", "Cell"}}, "spec.topology.values", "must name the units, unless unitType is None"},
	"zones have names": {
		[]spoil{{"spec.topology.unitType", "Zone"}, {"spec.topology.values", list{}}}, "spec.topology.values", "must name the units"},
	"without units there are no names": {
		[]spoil{{"spec.topology.unitType", "None"}}, "spec.topology.values", "must be empty when unitType is None"},
	"the type of unit is one that exists": {
		[]spoil{{"spec.topology.unitType", "Rack"}}, "spec.topology.unitType", `supported values: "Cell", "Zone", "None"`},
	"a unit is named once": {
		[]spoil{{"spec.topology.values", list{"CellA", "CellB", "CellA"}}}, "spec.topology.values[2]", `Duplicate value: "CellA"`},
	"a unit has a name": {
		[]spoil{{"spec.topology.values", list{"CellA", ""}}}, "spec.topology.values[1]", "at least 1 chars"},
	"a unit can be the value of a label": {
		[]spoil{{"spec.topology.values", list{"Cell A"}}}, "spec.topology.values[0]", "should match"},
	"a unit has at most 63 characters": {
		[]spoil{{"spec.topology.values", list{long(64)}}}, "spec.topology.values[0]", "may not be more than 63"},
	"there are at most 100 units": {
		[]spoil{{"spec.topology.values", manyUnits(101)}}, "spec.topology.values", "must have at most 100 items"},
	"replicas are fixed for units that there are": {
		[]spoil{{"spec.topology.unitReplicas", object{"CellA": int64(1), "CellC": "10%"}}},
		"spec.topology.unitReplicas", `and these do not: ["CellC"]`},
	"without units no replicas are fixed": {
		[]spoil{{"spec.topology", object{"unitType": "None", "unitReplicas": object{"CellA": int64(1)}}}},
		"spec.topology.unitReplicas", `these do not: ["CellA"]`},
	"replicas of a unit are not negative": {
		[]spoil{{"spec.topology.unitReplicas", object{"CellA": int64(-1)}}}, "spec.topology.unitReplicas", `those of these units are not: ["CellA"]`},
	"replicas of a unit as a string need a percent sign": {
		[]spoil{{"spec.topology.unitReplicas", object{"CellA": "4", "CellB": "40%"}}}, "spec.topology.unitReplicas", `those of these units are not: ["CellA"]`},
	"the delay of a rescheduling is not negative": {
		[]spoil{{"spec.topology.autoReschedule", object{"enable": true, "initialDelaySeconds": int64(-1)}}},
		"spec.topology.autoReschedule.initialDelaySeconds", "greater than or equal to 0"},
	"a rescheduling is on or off": {
		[]spoil{{"spec.topology.autoReschedule", object{"enable": "yes"}}}, "spec.topology.autoReschedule.enable", "must be of type boolean"},
}

func TestTheSoundCafeDeploymentIsAccepted(t *testing.T) {
	if err := untyped.Create(t.Context(), manifest(t, soundCafeDeployment)); err != nil {
		t.Fatalf("every case of this file starts from this object, so it must be valid: %v", err)
	}
}

func TestInvalidCafeDeploymentsAreRefusedByFieldAndRule(t *testing.T) {
	refuse(t, soundCafeDeployment, invalidCafeDeployments, invalidTemplates)
}

func TestAbsentFieldsOfACafeDeploymentGetTheirDefaults(t *testing.T) {
	for sentence, spoils := range map[string][]spoil{
		"nothing is given":      {{"-spec.replicas", nil}},
		"the strategy is empty": {{"-spec.replicas", nil}, {"spec.strategy", object{}}, {"spec.topology.autoReschedule", object{}}},
		"everything is null": {{"spec.replicas", nil}, {"spec.podSetType", nil}, {"spec.historyLimit", nil},
			{"spec.strategy", object{"upgradeType": nil, "needWaitingForConfirm": nil, "minReadySeconds": nil, "pause": nil}},
			{"spec.topology.unitType", nil}, {"spec.topology.autoReschedule", object{"enable": nil, "initialDelaySeconds": nil}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := manifest(t, soundCafeDeployment)
			for _, s := range spoils {
				s.apply(t, set)
			}
			want := object{
				"replicas": int64(1), "podSetType": "InPlaceSet", "historyLimit": int64(20),
				"strategy": object{"upgradeType": "Batch", "needWaitingForConfirm": false, "minReadySeconds": int64(0), "pause": false},
				"topology": object{"unitType": "Cell", "values": list{"CellA", "CellB"},
					"autoReschedule": object{"enable": false, "initialDelaySeconds": int64(10)}},
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

func TestEdgeCasesOfACafeDeploymentAreAccepted(t *testing.T) {
	cases := map[string][]spoil{
		"no units":                   {{"spec.topology", object{"unitType": "None"}}},
		"no units, in an empty list": {{"spec.topology", object{"unitType": "None", "values": list{}, "unitReplicas": object{}}}},
		"as many units as there may be": {
			{"spec.topology.values", manyUnits(100)}, {"spec.topology.unitReplicas", object{"cell-0": int64(0), "cell-99": "12.5%"}}},
		// Whether the numbers add up depends on replicas, which an autoscaler may change: a condition says it.
		"more replicas in units than there are": {{"spec.topology.unitReplicas", object{"CellA": int64(50), "CellB": "250%"}}},
		"a StatefulSet with claims and service": {{"spec.podSetType", "StatefulSet"}, {"spec.serviceName", "web"}, {"spec.volumeClaimTemplates", list{claim("data", "1Gi")}}},
		"an Advanced StatefulSet with claims":   {{"spec.podSetType", "AdvancedStatefulSet"}, {"spec.volumeClaimTemplates", list{claim("data", "1Gi")}}},
		"no claims, in an empty list":           {{"spec.volumeClaimTemplates", list{}}, {"spec.serviceName", ""}},
		"a partition":                           {{"spec.strategy", object{"partition": int64(4)}}},
		"groups of one with a confirmation":     {{"spec.strategy", object{"upgradeType": "Beta", "batchSize": int64(1), "needWaitingForConfirm": true}}},
		"a rescheduling without delay":          {{"spec.topology.autoReschedule", object{"enable": true, "initialDelaySeconds": int64(0)}}},
		"a unit with all characters of a label": {{"spec.topology.values", list{"a", "Z-1_b.c", long(63)}}},
	}
	for _, sentence := range slices.Sorted(maps.Keys(cases)) {
		t.Run(sentence, func(t *testing.T) {
			set := manifest(t, soundCafeDeployment)
			for _, s := range cases[sentence] {
				s.apply(t, set)
			}
			if err := untyped.Create(t.Context(), set); err != nil {
				t.Errorf("creating: %v", err)
			}
		})
	}
}

func TestWhatIsImmutableInACafeDeployment(t *testing.T) {
	namespace := newNamespace(t)
	stateful := []spoil{{"spec.podSetType", "StatefulSet"}, {"spec.serviceName", "web"}}
	for name, test := range map[string]struct {
		before, change []spoil
		field, rule    string // empty for a change that is allowed
	}{
		"another-selector":  {nil, []spoil{{"spec.selector", object{"matchLabels": object{"tier": "front"}}}}, "spec.selector", "must not be changed"},
		"another-kind":      {nil, []spoil{{"spec.podSetType", "CloneSet"}}, "spec.podSetType", "must not be changed, and was InPlaceSet"},
		"kind-by-default":   {stateful[:1], []spoil{{"-spec.podSetType", nil}}, "spec.podSetType", "must not be changed, and was StatefulSet"},
		"another-service":   {stateful, []spoil{{"spec.serviceName", "api"}}, "spec.serviceName", "must not be changed"},
		"the-same-in-words": {nil, []spoil{{"spec.podSetType", "InPlaceSet"}, {"spec.serviceName", ""}}, "", ""},
		"everything-else": {nil, []spoil{
			{"spec.replicas", int64(7)}, {"spec.historyLimit", int64(7)},
			{"spec.strategy", object{"upgradeType": "Beta", "batchSize": int64(4), "needWaitingForConfirm": true, "minReadySeconds": int64(7), "pause": true}},
			{"spec.topology", object{"unitType": "Zone", "values": list{"b", "a"}, "unitReplicas": object{"a": "50%"}, "autoReschedule": object{"enable": true}}},
			{"spec.template.spec.containers", list{object{"name": "other", "image": "other:1"}}}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			checkChange(t, named(t, soundCafeDeployment, namespace, name), test.before, test.change, test.field, test.rule)
		})
	}
}

var olderCafeDeployments = map[string]olderMistake{
	"an unknown kind of upgrade": {
		spoil{"spec.strategy.upgradeType", "Canary"}, spoil{"spec.strategy.upgradeType", "Other"}, "spec.strategy.upgradeType"},
	"a group of nothing": {
		spoil{"spec.strategy.batchSize", int64(0)}, spoil{"spec.strategy.batchSize", int64(-1)}, "spec.strategy.batchSize"},
	"replicas of a unit that there is not": {
		spoil{"spec.topology.unitReplicas", object{"CellC": int64(1)}}, spoil{"spec.topology.unitReplicas", object{"CellD": int64(1)}},
		"spec.topology.unitReplicas"},
	"an empty selector": {
		spoil{"spec.selector", object{}}, spoil{"spec.selector", object{"matchLabels": object{}}}, "spec.selector"},
}

// reportedCafeDeployment is a status with a number of its own in every counter.
const reportedCafeDeployment = `{"status":{"observedGeneration":1,"replicas":6,"readyReplicas":5,"availableReplicas":4,"updatedReplicas":3,` +
	`"updatedAvailableReplicas":2,"labelSelector":"app=web","phase":"Progressing","currentGroup":1,` +
	`"groups":[{"index":1,"kind":"Beta","units":[{"name":"CellA","pods":1}],"done":false}],` +
	`"units":[{"name":"CellA","desired":3,"replicas":3,"ready":3,"available":2,"updated":1,"updatedAvailable":1,"partition":2},` +
	`{"name":"CellB","desired":2,"replicas":3,"ready":2,"available":2,"updated":2,"updatedAvailable":1,"partition":0,"rescheduledOut":1,` +
	`"shortUntil":"2026-01-02T03:04:05Z"}]}}`

func TestListsShowTheColumnsOfCafeDeployments(t *testing.T) {
	set := named(t, soundCafeDeployment, newNamespace(t), "columns")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if err := untyped.Status().Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(reportedCafeDeployment))); err != nil {
		t.Fatalf("reporting the status: %v", err)
	}
	columns, cells := readTable(t, set)
	want := []column{
		{"Name", "string", 0}, {"DESIRED", "integer", 0}, {"UPDATED", "integer", 0}, {"READY", "integer", 0}, {"AVAILABLE", "integer", 0},
		{"PHASE", "string", 0}, {"GROUP", "integer", 0}, {"AGE", "date", 0}, {"PODSETS", "string", 1}, {"UNITS", "string", 1},
		{"IMAGES", "string", 1}, {"SELECTOR", "string", 1},
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	cells = slices.Delete(cells, 7, 8) // the age is not ours to say
	wantCells := []any{"columns", int64(5), int64(3), int64(5), int64(4), "Progressing", int64(1), "InPlaceSet", `["CellA","CellB"]`, "web:1", "app=web"}
	if diff := cmp.Diff(wantCells, cells); diff != "" {
		t.Errorf("cells without the age (-want +got):\n%s", diff)
	}
}

func TestTheStatusOfACafeDeploymentNeedsItsCounters(t *testing.T) {
	set := named(t, soundCafeDeployment, newNamespace(t), "status")
	checkCounters(t, set, "replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "updatedAvailableReplicas")
}

// checkCounters creates an object, and wants its status to be refused without these counters and without sound conditions, and taken
// when all counters are zero.
func checkCounters(t *testing.T, set *unstructured.Unstructured, counters ...string) {
	t.Helper()
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	zeros := object{}
	for _, counter := range counters {
		zeros[counter] = int64(0)
	}
	report := func(status object) error {
		patch, err := json.Marshal(object{"spec": object{"replicas": 9}, "status": status})
		if err != nil {
			t.Fatalf("writing a patch: %v", err)
		}
		return untyped.Status().Patch(t.Context(), set.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	}
	err := report(object{"observedGeneration": 1})
	if !apierrors.IsInvalid(err) {
		t.Fatalf("a status without counters: got error %v, want the status Invalid", err)
	}
	for _, counter := range counters {
		checkCauses(t, err, "status."+counter, "Required value")
	}

	unsure := maps.Clone(zeros)
	unsure["conditions"] = list{object{"type": "A"}, object{"type": "B", "status": "True"}, object{"type": "B", "status": "False"}}
	err = report(unsure)
	if !apierrors.IsInvalid(err) {
		t.Fatalf("unsure conditions: got error %v, want the status Invalid", err)
	}
	checkCauses(t, err, "status.conditions[0].status", "Required value")
	checkCauses(t, err, "status.conditions[2]", "Duplicate value")

	sound := maps.Clone(zeros)
	sound["conditions"] = list{object{"type": "Ready", "status": "False", "lastTransitionTime": nil}}
	if err := report(sound); err != nil {
		t.Fatalf("a status of zeros: %v", err)
	}
	if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatalf("reading: %v", err)
	}
	for _, counter := range counters {
		if got := at(t, set, "status", counter); got != int64(0) {
			t.Errorf("%s came back as %v, want 0", counter, got)
		}
	}
	if got := at(t, set, "spec", "replicas"); got != int64(5) {
		t.Errorf("replicas changed to %v through the status, want 5 as before", got)
	}
}
