// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/test/integration/plane"
)

// cluster is the control plane that all tests of this package share.
var cluster *plane.Plane

// untyped talks in bare objects, so that nothing on our side adds or drops a field.
var untyped client.Client

func TestMain(m *testing.M) {
	os.Exit(plane.RunWithStore(m, func(p *plane.Plane) {
		cluster = p
		scheme := runtime.NewScheme()
		if err := corev1.AddToScheme(scheme); err != nil {
			panic(fmt.Sprintf("making a scheme: %v", err))
		}
		c, err := client.New(p.Config, client.Options{Scheme: scheme})
		if err != nil {
			panic(fmt.Sprintf("making a client: %v", err))
		}
		untyped = c
	}))
}

// newNamespace makes a namespace for one test, and returns its name.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := untyped.Create(t.Context(), namespace); err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	return namespace.Name
}

// manifest reads a YAML document as a user would write it.
func manifest(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &object.Object); err != nil {
		t.Fatalf("the manifest cannot be read: %v\n%s", err, text)
	}
	return object
}

// named is a sound object in a namespace and with a name of its own.
func named(t *testing.T, sound, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	set := manifest(t, sound)
	set.SetGenerateName("")
	set.SetNamespace(namespace)
	set.SetName(name)
	return set
}

// at reads a value from an object; a missing one is nil.
func at(t *testing.T, object *unstructured.Unstructured, path ...string) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if err != nil {
		t.Fatalf("reading %v: %v", path, err)
	}
	return value
}

// rewrite changes an object in etcd, past the API server.
func rewrite(t *testing.T, set *unstructured.Unstructured, change func(stored *unstructured.Unstructured)) {
	t.Helper()
	resource := set.GroupVersionKind().Group + "/" + strings.ToLower(set.GetKind()) + "s"
	err := cluster.Store.Rewrite(t.Context(), resource, set.GetNamespace(), set.GetName(),
		func(stored map[string]any) { change(&unstructured.Unstructured{Object: stored}) })
	if err != nil {
		t.Fatal(err)
	}
}
