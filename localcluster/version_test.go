// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachVersionHasARoot(t *testing.T) {
	root := t.TempDir()
	mustWrite(t, filepath.Join(layout{root}.buildModule(), "go.mod"), "module m\nrequire k8s.io/kubernetes v1.36.3\n")
	for name, tc := range map[string]struct{ version, want, fault string }{
		"none asked for":      {version: "", want: root},
		"the pinned one":      {version: "v1.36.3", want: root},
		"an older one":        {version: "v1.33.13", want: filepath.Join(root, "bin", "kubernetes-v1.33.13")},
		"a candidate":         {version: "v1.37.0-rc.1", want: filepath.Join(root, "bin", "kubernetes-v1.37.0-rc.1")},
		"no patch":            {version: "v1.33", fault: "give one like v1.36.3"},
		"a library's version": {version: "v0.33.13", fault: "give one like v1.36.3"},
		"a path":              {version: "../../etc", fault: "give one like v1.36.3"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := RootFor(root, tc.version)
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if tc.fault == "" && err != nil || tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)) {
				t.Errorf("got error %v, want %q", err, tc.fault)
			}
		})
	}
}

func TestABuildModuleIsMadeOfKubernetesOwn(t *testing.T) {
	own := `// This is a generated file.
module k8s.io/kubernetes

go 1.24.0

godebug default=go1.24

require (
	example.test/replaced v1.0.0
	go.etcd.io/etcd/client/v3 v3.5.21
	k8s.io/api v0.0.0
)

replace (
	example.test/replaced => example.test/fork v1.2.3
	k8s.io/api => ./staging/src/k8s.io/api
)
`
	want := `// This is a generated file.
module slipway.dev/slipway/hack/kubernetes

go 1.24.0

godebug default=go1.24

require (
	example.test/replaced v1.0.0
	go.etcd.io/etcd/client/v3 v3.5.21
	go.etcd.io/etcd/server/v3 v3.5.21
	k8s.io/api v0.0.0
	k8s.io/kubernetes v1.33.13
)

replace (
	example.test/replaced => example.test/fork v1.2.3
	k8s.io/api => k8s.io/api v0.33.13
)
`
	got, err := buildModule([]byte(own), "v1.33.13")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the module (-want +got):\n%s", diff)
	}
	if _, err := buildModule([]byte("module k8s.io/kubernetes\n"), "v1.33.13"); err == nil || !strings.Contains(err.Error(), etcdClient) {
		t.Errorf("a module without etcd: got error %v, want one that names %s", err, etcdClient)
	}
}
