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

func TestDiscoveryShowsCloneSets(t *testing.T) {
	want := []metav1.APIResource{
		{Name: "clonesets", SingularName: "cloneset", Namespaced: true, Kind: "CloneSet", ShortNames: []string{"clone"}},
		{Name: "clonesets/scale", Namespaced: true, Kind: "Scale", Group: "autoscaling", Version: "v1"},
		{Name: "clonesets/status", Namespaced: true, Kind: "CloneSet"},
	}
	checkResources(t, "apps.kruise.io/v1alpha1", want)
}

// reportedCloneSet is a status with a number of its own in every counter.
const reportedCloneSet = `{"status":{"observedGeneration":1,"replicas":6,"readyReplicas":5,"availableReplicas":4,"updatedReplicas":3,` +
	`"updatedReadyReplicas":2,"updatedAvailableReplicas":1,"expectedUpdatedReplicas":5,"labelSelector":"app=web"}}`

func TestListsShowTheColumnsOfCloneSets(t *testing.T) {
	set := named(t, soundCloneSet, newNamespace(t), "columns")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if err := untyped.Status().Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(reportedCloneSet))); err != nil {
		t.Fatalf("reporting the status: %v", err)
	}
	columns, cells := readTable(t, set)
	want := []column{
		{"Name", "string", 0}, {"DESIRED", "integer", 0}, {"UPDATED", "integer", 0}, {"UPDATED_READY", "integer", 0},
		{"UPDATED_AVAILABLE", "integer", 0}, {"READY", "integer", 0}, {"TOTAL", "integer", 0}, {"AGE", "date", 0},
		{"CONTAINERS", "string", 1}, {"IMAGES", "string", 1}, {"SELECTOR", "string", 1},
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	cells = slices.Delete(cells, 7, 8) // the age is not ours to say
	wantCells := []any{"columns", int64(5), int64(3), int64(2), int64(1), int64(5), int64(6), "web", "web:1", "app=web"}
	if diff := cmp.Diff(wantCells, cells); diff != "" {
		t.Errorf("cells without the age (-want +got):\n%s", diff)
	}
}

func TestTheStatusOfACloneSetNeedsItsCounters(t *testing.T) {
	set := named(t, soundCloneSet, newNamespace(t), "status")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	err := untyped.Status().Patch(t.Context(), set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"observedGeneration":1}}`)))
	if !apierrors.IsInvalid(err) {
		t.Fatalf("a status without counters: got error %v, want the status Invalid", err)
	}
	for _, field := range []string{"replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "updatedReadyReplicas"} {
		checkCauses(t, err, "status."+field, "Required value")
	}

	unsure := client.RawPatch(types.MergePatchType, []byte(`{"status":{"replicas":0,"readyReplicas":0,"availableReplicas":0,`+
		`"updatedReplicas":0,"updatedReadyReplicas":0,"conditions":[{"type":"A"},{"type":"B","status":"True"},{"type":"B","status":"False"}]}}`))
	err = untyped.Status().Patch(t.Context(), set.DeepCopy(), unsure)
	if !apierrors.IsInvalid(err) {
		t.Fatalf("unsure conditions: got error %v, want the status Invalid", err)
	}
	checkCauses(t, err, "status.conditions[0].status", "Required value")
	checkCauses(t, err, "status.conditions[2]", "Duplicate value")

	zero := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":9},"status":{"replicas":0,"readyReplicas":0,`+
		`"availableReplicas":0,"updatedReplicas":0,"updatedReadyReplicas":0,"conditions":[{"type":"FailedScale","status":"False",`+
		`"lastTransitionTime":null}]}}`))
	if err := untyped.Status().Patch(t.Context(), set, zero); err != nil {
		t.Fatalf("a status of zeros: %v", err)
	}
	if got := at(t, set, "status", "readyReplicas"); got != int64(0) {
		t.Errorf("readyReplicas came back as %v, want 0", got)
	}
	if got := at(t, set, "spec", "replicas"); got != int64(5) {
		t.Errorf("replicas changed to %v through the status, want 5 as before", got)
	}
}
