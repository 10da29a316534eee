// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestDiscoveryShowsCloneSets(t *testing.T) {
	d, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	found, err := d.ServerResourcesForGroupVersion("apps.kruise.io/v1alpha1")
	if err != nil {
		t.Fatalf("asking the API server: %v", err)
	}
	want := []metav1.APIResource{
		{Name: "clonesets", SingularName: "cloneset", Namespaced: true, Kind: "CloneSet", ShortNames: []string{"clone"}},
		{Name: "clonesets/scale", Namespaced: true, Kind: "Scale", Group: "autoscaling", Version: "v1"},
		{Name: "clonesets/status", Namespaced: true, Kind: "CloneSet"},
	}
	slices.SortFunc(found.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	ignored := cmpopts.IgnoreFields(metav1.APIResource{}, "Verbs", "StorageVersionHash")
	if diff := cmp.Diff(want, found.APIResources, ignored); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

// reported is a status with a number of its own in every counter.
const reported = `{"status":{"observedGeneration":1,"replicas":6,"readyReplicas":5,"availableReplicas":4,"updatedReplicas":3,` +
	`"updatedReadyReplicas":2,"updatedAvailableReplicas":1,"expectedUpdatedReplicas":5,"labelSelector":"app=web"}}`

func TestListsShowTheColumns(t *testing.T) {
	set := soundIn(t, newNamespace(t), "columns")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if err := untyped.Status().Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(reported))); err != nil {
		t.Fatalf("reporting the status: %v", err)
	}
	table := readTable(t, set)
	type column struct {
		Name, Type string
		Priority   int32
	}
	var columns []column
	for _, c := range table.ColumnDefinitions {
		columns = append(columns, column{c.Name, c.Type, c.Priority})
	}
	want := []column{
		{"Name", "string", 0}, {"DESIRED", "integer", 0}, {"UPDATED", "integer", 0}, {"UPDATED_READY", "integer", 0},
		{"UPDATED_AVAILABLE", "integer", 0}, {"READY", "integer", 0}, {"TOTAL", "integer", 0}, {"AGE", "date", 0},
		{"CONTAINERS", "string", 1}, {"IMAGES", "string", 1}, {"SELECTOR", "string", 1},
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	cells := slices.Delete(slices.Clone(table.Rows[0].Cells), 7, 8) // the age is not ours to say
	wantCells := []any{"columns", int64(5), int64(3), int64(2), int64(1), int64(5), int64(6), "web", "web:1", "app=web"}
	if diff := cmp.Diff(wantCells, cells); diff != "" {
		t.Errorf("cells without the age (-want +got):\n%s", diff)
	}
}

// readTable asks for an object as kubectl does when it prints a list.
func readTable(t *testing.T, set *unstructured.Unstructured) *metav1.Table {
	t.Helper()
	scheme := runtime.NewScheme()
	group := schema.GroupVersion{Group: "apps.kruise.io", Version: "v1alpha1"}
	metav1.AddToGroupVersion(scheme, group)
	config := rest.CopyConfig(cluster.Config)
	config.APIPath, config.GroupVersion = "/apis", &group
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	text, err := c.Get().Namespace(set.GetNamespace()).Resource("clonesets").Name(set.GetName()).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatalf("asking for a table: %v", err)
	}
	raw := &unstructured.Unstructured{}
	if err := raw.UnmarshalJSON(text); err != nil {
		t.Fatalf("reading the table: %v", err)
	}
	table := &metav1.Table{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, table); err != nil {
		t.Fatalf("reading the table: %v", err)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("the table has %d rows, want 1", len(table.Rows))
	}
	return table
}

func TestAutoscalersCanScale(t *testing.T) {
	set := soundIn(t, newNamespace(t), "scaled")
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	if err := untyped.Status().Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(reported))); err != nil {
		t.Fatalf("reporting the status: %v", err)
	}
	scale := manifest(t, "{apiVersion: autoscaling/v1, kind: Scale}")
	if err := untyped.SubResource("scale").Get(t.Context(), set, scale); err != nil {
		t.Fatalf("reading the scale: %v", err)
	}
	want := object{"spec": object{"replicas": int64(5)}, "status": object{"replicas": int64(6), "selector": "app=web"}}
	if diff := cmp.Diff(want, object{"spec": scale.Object["spec"], "status": scale.Object["status"]}); diff != "" {
		t.Errorf("scale (-want +got):\n%s", diff)
	}

	spoil{"spec.replicas", int64(8)}.apply(t, scale)
	if err := untyped.SubResource("scale").Update(t.Context(), set, client.WithSubResourceBody(scale)); err != nil {
		t.Fatalf("scaling: %v", err)
	}
	if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatalf("reading: %v", err)
	}
	if got := at(t, set, "spec", "replicas"); got != int64(8) || set.GetGeneration() != 2 {
		t.Errorf("replicas %v in generation %d, want 8 in generation 2", got, set.GetGeneration())
	}
}

func TestStatusNeedsItsCounters(t *testing.T) {
	set := soundIn(t, newNamespace(t), "status")
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
