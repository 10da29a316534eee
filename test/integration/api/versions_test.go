// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"k8s.io/client-go/discovery"

	"slipway.dev/slipway/test/integration/plane"
)

// TestTheOldestServerTakesTheSchemas: a rule may use no function that came later, and may not cost more than that server allows.
func TestTheOldestServerTakesTheSchemas(t *testing.T) {
	old, err := plane.StartWith(map[string]string{"emulated-version": "kube=1.33"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := old.Stop(); err != nil {
			t.Error(err)
		}
	}()
	d, err := discovery.NewDiscoveryClientForConfig(old.Config)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	version, err := d.ServerVersion()
	if err != nil {
		t.Fatalf("asking the API server for its version: %v", err)
	}
	if version.EmulationMinor != "33" {
		t.Errorf("the server behaves as 1.%s, want 1.33", version.EmulationMinor)
	}
}
