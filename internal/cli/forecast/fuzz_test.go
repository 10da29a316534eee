// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// FuzzReadManifests: what is read is whole, and written as documents or as the items of a list it is read again as the same
// sets in the same order, whatever namespace is the default then.
func FuzzReadManifests(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		manifests, err := ReadManifests("file", strings.NewReader(text), "shop")
		if err != nil {
			return
		}
		var written []string
		for _, m := range manifests {
			if m.Set.Name == "" || m.Set.Namespace == "" || m.Key().Namespace != m.Set.Namespace {
				t.Errorf("a set without a name: %+v", m.Set.ObjectMeta)
			}
			written = append(written, string(m.JSON))
		}
		list := `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(written, ",") + `]}`
		for _, text := range []string{strings.Join(written, "\n---\n"), list, "# nothing\n---\n" + list + "\n---\n"} {
			again, err := ReadManifests("file", strings.NewReader(text), "elsewhere")
			if err != nil {
				t.Fatalf("what was read cannot be read again: %v\n%s", err, text)
			}
			if len(again) != len(manifests) {
				t.Fatalf("%d sets became %d:\n%s", len(manifests), len(again), text)
			}
			for i, m := range again {
				want := manifests[i].Set.DeepCopy()
				want.Status = kruisev1alpha1.CloneSetStatus{} // a wish has none
				if !equality.Semantic.DeepEqual(want, m.Set) || string(m.JSON) != written[i] {
					t.Errorf("read again (-first +second):\n%s%s", cmp.Diff(want, m.Set), cmp.Diff(written[i], string(m.JSON)))
				}
			}
		}
	})
}

// FuzzReadDump: live objects are the same as documents and as the items of a list.
func FuzzReadDump(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		dump, err := ReadDump("file", strings.NewReader(text))
		if err != nil {
			return
		}
		var written []string
		for _, set := range dump.Sets {
			written = append(written, documentOf(t, set, kruisev1alpha1.CloneSetKind))
		}
		for _, p := range dump.Pods {
			written = append(written, documentOf(t, p, "Pod"))
		}
		for _, r := range dump.Revisions {
			written = append(written, documentOf(t, r, "ControllerRevision"))
		}
		for _, c := range dump.Claims {
			written = append(written, documentOf(t, c, "PersistentVolumeClaim"))
		}
		for name, labels := range dump.NodeLabels {
			node := &corev1.Node{}
			node.Name, node.Labels = name, labels
			written = append(written, documentOf(t, node, "Node"))
		}
		for _, text := range []string{strings.Join(written, "\n---\n"), `{"kind":"List","items":[` + strings.Join(written, ",") + `]}`} {
			again, err := ReadDump("file", strings.NewReader(text))
			if err != nil {
				t.Fatalf("what was read cannot be read again: %v\n%s", err, text)
			}
			if !equality.Semantic.DeepEqual(dump, again) {
				t.Errorf("read again (-first +second):\n%s", cmp.Diff(dump, again))
			}
		}
	})
}

func documentOf(t *testing.T, object runtime.Object, kind string) string {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	tree := map[string]any{}
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	tree["kind"] = kind
	if raw, err = json.Marshal(tree); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
