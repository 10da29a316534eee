// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestDiscoveryShowsStatefulSets(t *testing.T) {
	want := []metav1.APIResource{
		{Name: "statefulsets", SingularName: "statefulset", Namespaced: true, Kind: "StatefulSet", ShortNames: []string{"sts", "asts"}},
		{Name: "statefulsets/scale", Namespaced: true, Kind: "Scale", Group: "autoscaling", Version: "v1"},
		{Name: "statefulsets/status", Namespaced: true, Kind: "StatefulSet"},
	}
	checkResources(t, "apps.kruise.io/v1beta1", want)
}

// reportedStatefulSet is a status with a number of its own in every counter.
const reportedStatefulSet = `{"status":{"observedGeneration":1,"replicas":6,"readyReplicas":5,"availableReplicas":4,"currentReplicas":3,` +
	`"updatedReplicas":2,"updatedReadyReplicas":1,"labelSelector":"app=web","volumeClaims":[{"volumeClaimName":"data",` +
	`"compatibleReplicas":0,"compatibleReadyReplicas":0}]}}`

func TestListsShowTheColumnsOfStatefulSets(t *testing.T) {
	set := named(t, soundStatefulSet, newNamespace(t), "columns")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if err := untyped.Status().Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(reportedStatefulSet))); err != nil {
		t.Fatalf("reporting the status: %v", err)
	}
	columns, cells := readTable(t, set)
	want := []column{
		{"Name", "string", 0}, {"DESIRED", "integer", 0}, {"CURRENT", "integer", 0}, {"UPDATED", "integer", 0},
		{"READY", "integer", 0}, {"AGE", "date", 0}, {"CONTAINERS", "string", 1}, {"IMAGES", "string", 1},
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	cells = slices.Delete(cells, 5, 6) // the age is not ours to say
	wantCells := []any{"columns", int64(5), int64(6), int64(2), int64(5), "web", "web:1"}
	if diff := cmp.Diff(wantCells, cells); diff != "" {
		t.Errorf("cells without the age (-want +got):\n%s", diff)
	}
}

func TestTheStatusOfAStatefulSetNeedsItsCounters(t *testing.T) {
	set := named(t, soundStatefulSet, newNamespace(t), "status")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	report := func(status string) error {
		return untyped.Status().Patch(t.Context(), set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":9},"status":`+status+`}`)))
	}
	err := report(`{"observedGeneration":1,"volumeClaims":[{}]}`)
	if !apierrors.IsInvalid(err) {
		t.Fatalf("a status without counters: got error %v, want the status Invalid", err)
	}
	for _, field := range []string{"replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas",
		"volumeClaims[0].volumeClaimName", "volumeClaims[0].compatibleReplicas", "volumeClaims[0].compatibleReadyReplicas"} {
		checkCauses(t, err, "status."+field, "Required value")
	}

	const zeros = `"replicas":0,"readyReplicas":0,"availableReplicas":0,"currentReplicas":0,"updatedReplicas":0`
	err = report(`{` + zeros + `,"conditions":[{"type":"A"},{"type":"B","status":"True"},{"type":"B","status":"False"}]}`)
	if !apierrors.IsInvalid(err) {
		t.Fatalf("unsure conditions: got error %v, want the status Invalid", err)
	}
	checkCauses(t, err, "status.conditions[0].status", "Required value")
	checkCauses(t, err, "status.conditions[2]", "Duplicate value")

	if err := report(`{` + zeros + `,"conditions":[{"type":"FailedCreatePod","status":"False","lastTransitionTime":null}]}`); err != nil {
		t.Fatalf("a status of zeros: %v", err)
	}
	if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatalf("reading: %v", err)
	}
	if got := at(t, set, "status", "currentReplicas"); got != int64(0) {
		t.Errorf("currentReplicas came back as %v, want 0", got)
	}
	if got := at(t, set, "spec", "replicas"); got != int64(5) {
		t.Errorf("replicas changed to %v through the status, want 5 as before", got)
	}
}
