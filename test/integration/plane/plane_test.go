// SPDX-License-Identifier: Apache-2.0

package plane_test

import (
	"strings"
	"testing"

	"slipway.dev/slipway/test/integration/plane"
)

func TestMissingBinariesAreNamedWithTheirCure(t *testing.T) {
	t.Setenv(plane.AssetsVariable, t.TempDir())
	p, err := plane.Start()
	if err == nil {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		t.Fatal("a plane started from an empty folder")
	}
	for _, part := range []string{"make k8s", "etcd"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

func TestOutsideOfARepositoryThereIsNoPlane(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := plane.Start(); err == nil || !strings.Contains(err.Error(), "no go.mod") {
		t.Errorf("got error %v, want one that says that there is no go.mod", err)
	}
}
