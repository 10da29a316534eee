// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/revision"
)

// bigRevision is a revision whose workload has something of a size in it, if it may be that large.
func bigRevision(t *testing.T, namespace string, data any) (*oamv1beta1.ApplicationRevision, error) {
	t.Helper()
	properties, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		t.Fatal(err)
	}
	app := &oamv1beta1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "big", UID: "1"}}
	app.Spec.Components = []oamv1beta1.ApplicationComponent{{Name: "web", Type: "webservice", Properties: &runtime.RawExtension{Raw: properties}}}
	content := revision.Content{Application: app, Components: map[string]oamv1beta1.ComponentDefinition{"webservice": {ObjectMeta: metav1.ObjectMeta{Name: "webservice"}}}}
	rendered := []revision.Rendered{{Name: "web", Workload: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"data": data}}}}
	components, err := revision.Known{}.Components(rendered)
	if err != nil {
		t.Fatal(err)
	}
	return revision.Draft{Content: content, Next: oamv1beta1.Revision{Name: "big-v1", Revision: 1, RevisionHash: "abc"}, Components: components, Rendered: rendered}.Object()
}

// TestTheBiggestRevisionFitsIntoTheStore: what is said to be small enough is stored by a server, whatever it is made of.
func TestTheBiggestRevisionFitsIntoTheStore(t *testing.T) {
	for sentence, data := range map[string]func(n int) any{
		"one long text": func(n int) any { return strings.Repeat("a", n) },
		"many fields, which the server lists once more": func(n int) any {
			fields := map[string]any{}
			for i := range n / 10 {
				fields[fmt.Sprint("f", i)] = "a"
			}
			return fields
		},
		"many objects in objects": func(n int) any {
			fields := map[string]any{}
			for i := range n / 20 {
				fields[fmt.Sprint("f", i)] = map[string]any{"a": map[string]any{"b": i}}
			}
			return fields
		},
		"a long list": func(n int) any {
			items := make([]any, n/2)
			for i := range items {
				items[i] = map[string]any{"a": i}
			}
			return items
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			namespace := newNamespace(t)
			const step = revision.MaxBytes / 128
			steps := sort.Search(128, func(i int) bool {
				_, err := bigRevision(t, namespace, data(i*step))
				return err != nil
			})
			n := (steps - 1) * step
			biggest, err := bigRevision(t, namespace, data(n))
			if err != nil {
				t.Fatal(err)
			}
			tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(biggest)
			if err != nil {
				t.Fatal(err)
			}
			if err := untyped.Create(t.Context(), &unstructured.Unstructured{Object: tree}); err != nil {
				t.Errorf("creating the biggest one, by %d: %.300v", n, err)
			}
		})
	}
}
