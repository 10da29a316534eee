// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// The client asks no server which kinds there are, so it has to know those that it reads.
func TestTheClientKnowsTheKindsOfApplications(t *testing.T) {
	c, err := NewClient(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for kind, resource := range map[string]string{
		oamv1beta1.ApplicationKind: "applications", oamv1beta1.ApplicationRevisionKind: "applicationrevisions",
	} {
		mapping, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: oamv1beta1.GroupVersion.Group, Kind: kind}, oamv1beta1.GroupVersion.Version)
		if err != nil || mapping.Resource.Resource != resource {
			t.Errorf("%s: mapping %v, error %v; want the resource %s", kind, mapping, err, resource)
		}
	}
}
