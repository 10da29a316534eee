// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// FuzzReadManifests: what is read is whole, and written as documents or as the items of a list it is read again as the same
// sets in the same order, whatever namespace is the default then.
func FuzzReadManifests(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		manifests, err := readManifests(t, text, "shop")
		if err != nil {
			return
		}
		var written []string
		for _, m := range manifests {
			if m.Key().Name == "" || m.Key().Namespace == "" {
				t.Errorf("a set without a name: %s", m)
			}
			written = append(written, string(m.JSON))
		}
		list := `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(written, ",") + `]}`
		for _, text := range []string{strings.Join(written, "\n---\n"), list, "# nothing\n---\n" + list + "\n---\n"} {
			again, err := readManifests(t, text, "elsewhere")
			if err != nil {
				t.Fatalf("what was read cannot be read again: %v\n%s", err, text)
			}
			if len(again) != len(manifests) {
				t.Fatalf("%d sets became %d:\n%s", len(manifests), len(again), text)
			}
			for i, m := range again {
				want := manifests[i].Object.(*kruisev1alpha1.CloneSet).DeepCopy()
				want.Status = kruisev1alpha1.CloneSetStatus{} // a wish has none
				if !equality.Semantic.DeepEqual(want, m.Object) || string(m.JSON) != written[i] {
					t.Errorf("read again (-first +second):\n%s%s", cmp.Diff(want, m.Object), cmp.Diff(written[i], string(m.JSON)))
				}
			}
		}
	})
}
