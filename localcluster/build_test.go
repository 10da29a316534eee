// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePinnedVersionIsReadFromTheBuildModule(t *testing.T) {
	for name, tc := range map[string]struct {
		content, want, fault string
	}{
		"a requirement": {
			content: "module m\nrequire k8s.io/kubernetes v1.36.3\n", want: "v1.36.3",
		},
		"the module itself, not a staging module beside it": {
			content: "module m\nrequire (\n\tk8s.io/api v0.36.3\n\tk8s.io/kubernetes v1.36.3 // indirect\n)\n", want: "v1.36.3",
		},
		"no requirement": {
			content: "module m\n", fault: "does not require k8s.io/kubernetes",
		},
		"no module file": {
			content: "?", fault: "reading the pinned Kubernetes version",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := pinnedVersion("go.mod", []byte(tc.content))
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if tc.fault == "" && err != nil || tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)) {
				t.Errorf("got error %v, want %q", err, tc.fault)
			}
		})
	}
}

func TestTheRepositoryPinsAVersion(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	version, err := KubernetesVersion(root)
	if err != nil {
		t.Fatal(err)
	}
	flags := strings.Join(buildFlags(version), " ")
	for _, want := range []string{
		"k8s.io/component-base/version.gitVersion=" + version,
		"k8s.io/client-go/pkg/version.gitVersion=" + version,
		"k8s.io/component-base/version.gitMajor=1 ",
		"k8s.io/client-go/pkg/version.gitMinor=",
	} {
		if !strings.Contains(flags, want) {
			t.Errorf("the build flags lack %q: %s", want, flags)
		}
	}
}

func TestTheRootIsFoundFromBelow(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "hack", "kubernetes")
	mustWrite(t, filepath.Join(root, "go.mod"), "module "+modulePath+"\n")
	mustWrite(t, filepath.Join(below, "go.mod"), "module "+modulePath+"/hack/kubernetes\n")
	got, err := FindRoot(below)
	if err != nil || got != root {
		t.Errorf("got %q, %v; want %q", got, err, root)
	}
	if got, err := FindRoot(t.TempDir()); err == nil || !strings.Contains(err.Error(), "--root") {
		t.Errorf("outside of the repository: got %q, %v; want an error that names --root", got, err)
	}
}

func TestABinaryIsBuiltAgainOnlyWhenSomethingChanged(t *testing.T) {
	files := layout{t.TempDir()}
	mustWrite(t, filepath.Join(files.buildModule(), "go.mod"), "module m")
	mustWrite(t, filepath.Join(files.buildModule(), "go.sum"), "")
	stamp := func(version string) []byte {
		content, err := stampOf(files, version)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	check := func(what string, version string, want bool) {
		t.Helper()
		if got := built(files, "etcd", stamp(version)); got != want {
			t.Errorf("%s: built is %v, want %v", what, got, want)
		}
	}
	check("nothing there", "v1.36.3", false)
	mustWrite(t, files.binary("etcd"), "binary")
	check("a file that nobody may run", "v1.36.3", false)
	if err := os.Chmod(files.binary("etcd"), 0o755); err != nil {
		t.Fatal(err)
	}
	check("a binary of unknown origin", "v1.36.3", false)
	mustWrite(t, stampFile(files, "etcd"), string(stamp("v1.36.3")))
	check("a binary with its stamp", "v1.36.3", true)
	check("another version", "v1.36.4", false)
	mustWrite(t, filepath.Join(files.buildModule(), "go.sum"), "another module")
	check("other modules", "v1.36.3", false)
}

func TestBuildOutputIsProgressAndComplaints(t *testing.T) {
	var out strings.Builder
	complaints := follow(strings.NewReader("k8s.io/api/core/v1\nk8s.io/api/apps/v1\n# k8s.io/broken\nfile.go:1:2: undefined: x\n"), "etcd", &out)
	if diff := cmp.Diff([]string{"# k8s.io/broken", "file.go:1:2: undefined: x"}, complaints); diff != "" {
		t.Errorf("complaints (-want +got):\n%s", diff)
	}
}

func mustWrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
