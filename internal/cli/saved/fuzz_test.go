// SPDX-License-Identifier: Apache-2.0

package saved

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// FuzzRead: live objects are the same as documents and as the items of a list.
func FuzzRead(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		first, err := read(t, text)
		if err != nil {
			return
		}
		before := typed(t, first)
		var written []string
		for _, objects := range first.byKind {
			for _, o := range objects {
				written = append(written, string(o.raw))
			}
		}
		for _, text := range []string{strings.Join(written, "\n---\n"), `{"kind":"List","items":[` + strings.Join(written, ",") + `]}`} {
			again, err := read(t, text)
			if err != nil {
				t.Fatalf("what was read cannot be read again: %v\n%s", err, text)
			}
			if after := typed(t, again); !equality.Semantic.DeepEqual(before, after) {
				t.Errorf("read again (-first +second):\n%s", cmp.Diff(before, after))
			}
		}
	})
}

type lists struct {
	Pods      corev1.PodList
	Revisions appsv1.ControllerRevisionList
}

func typed(t *testing.T, o *Objects) lists {
	t.Helper()
	var l lists
	if err := o.List(t.Context(), &l.Pods); err != nil {
		t.Fatal(err)
	}
	if err := o.List(t.Context(), &l.Revisions); err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(l); err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	return l
}
