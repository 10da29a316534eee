// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// checkResources compares what the API server says that it serves in a version.
func checkResources(t *testing.T, version string, want []metav1.APIResource) {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	found, err := d.ServerResourcesForGroupVersion(version)
	if err != nil {
		t.Fatalf("asking the API server: %v", err)
	}
	slices.SortFunc(found.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	ignored := cmpopts.IgnoreFields(metav1.APIResource{}, "Verbs", "StorageVersionHash")
	if diff := cmp.Diff(want, found.APIResources, ignored); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

type column struct {
	Name, Type string
	Priority   int32
}

// readTable asks for an object as kubectl does when it prints a list.
func readTable(t *testing.T, set *unstructured.Unstructured) (columns []column, cells []any) {
	t.Helper()
	scheme := runtime.NewScheme()
	version := set.GroupVersionKind().GroupVersion()
	metav1.AddToGroupVersion(scheme, version)
	config := rest.CopyConfig(cluster.Config)
	config.APIPath, config.GroupVersion = "/apis", &version
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	text, err := c.Get().Namespace(set.GetNamespace()).Resource(strings.ToLower(set.GetKind())+"s").Name(set.GetName()).
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
	for _, c := range table.ColumnDefinitions {
		columns = append(columns, column{c.Name, c.Type, c.Priority})
	}
	return columns, table.Rows[0].Cells
}
