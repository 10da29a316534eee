// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/test/integration/plane"
)

// cluster reaches the API server that all tests of this package share.
var cluster *rest.Config

// untyped talks in bare objects, so that nothing on our side adds or drops a field.
var untyped client.Client

func TestMain(m *testing.M) {
	os.Exit(plane.Run(m, func(config *rest.Config) {
		cluster = config
		c, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
		if err != nil {
			panic(fmt.Sprintf("making a client: %v", err))
		}
		untyped = c
	}))
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

// at reads a value from an object; a missing one is nil.
func at(t *testing.T, object *unstructured.Unstructured, path ...string) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if err != nil {
		t.Fatalf("reading %v: %v", path, err)
	}
	return value
}
