// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

func numbered(name string, number int64, image string) Revision {
	r := FromTemplate(web(image))
	r.Name, r.Hash, r.Number = name, HashOf(name), number
	return r
}

func names(revisions []Revision) []string {
	found := []string{}
	for _, r := range revisions {
		found = append(found, r.Name)
	}
	return found
}

func TestSort(t *testing.T) {
	aged := func(name string, number int64, second int) Revision {
		created := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC))
		return Revision{Name: name, Number: number, Object: &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}}}
	}
	revisions := []Revision{aged("d", 2, 0), aged("c", 1, 2), aged("b", 1, 1), aged("a", 1, 2), {Name: "unstored", Number: 1}}
	Sort(revisions)
	if diff := cmp.Diff([]string{"unstored", "b", "a", "c", "d"}, names(revisions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecide(t *testing.T) {
	broken := Revision{Name: "broken", Number: 9, Err: Decode(nil).Err}
	a1, b2, c3, a4, b5 := numbered("w-a1", 1, "a"), numbered("w-b2", 2, "b"), numbered("w-c3", 3, "c"), numbered("w-a4", 4, "a"), numbered("w-b5", 5, "b")
	tests := map[string]struct {
		listed []Revision
		live   string
		want   string
		number int64
	}{
		"the first revision ever":                    {nil, "a", "new", 1},
		"the newest is it":                           {[]Revision{a1, b2}, "b", "unchanged w-b2", 0},
		"the newest is it, listed in any order":      {[]Revision{b2, a1}, "b", "unchanged w-b2", 0},
		"an older one is it":                         {[]Revision{a1, b2}, "a", "rollback w-a1", 3},
		"of two older ones the newer":                {[]Revision{a1, a4, b5}, "a", "rollback w-a4", 6},
		"of two equal ones at the top the newest":    {[]Revision{a1, a4}, "a", "unchanged w-a4", 0},
		"none is it":                                 {[]Revision{a1, b2, c3}, "d", "new", 4},
		"numbers with gaps":                          {[]Revision{a1, b5}, "d", "new", 6},
		"an unreadable newest one counts its number": {[]Revision{a1, broken}, "a", "rollback w-a1", 10},
		"an unreadable one only":                     {[]Revision{broken}, "a", "new", 10},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			live := FromTemplate(web(test.live))
			var got string
			var number int64
			switch o := Decide(test.listed, live).(type) {
			case Unchanged:
				got = "unchanged " + o.Revision.Name
			case RollBack:
				got, number = "rollback "+o.Revision.Name, o.Number
			case New:
				got, number = "new", o.Number
				if o.Template != live.Written {
					t.Errorf("the new revision is not of the live template as written")
				}
			}
			if got != test.want || number != test.number {
				t.Errorf("outcome is %s with number %d, want %s with %d", got, number, test.want, test.number)
			}
		})
	}
}

func TestExpired(t *testing.T) {
	history := []Revision{{Name: "w-c", Hash: "c", Number: 3}, {Name: "w-a", Hash: "a", Number: 1}, {Name: "w-d", Hash: "d", Number: 4}, {Name: "w-b", Hash: "b", Number: 2}}
	tests := map[string]struct {
		live  []string
		limit int
		want  []string
	}{
		"the limit is not reached":              {nil, 4, []string{}},
		"the oldest go first":                   {nil, 2, []string{"w-a", "w-b"}},
		"the limit counts only idle ones":       {[]string{"w-d", "w-c"}, 2, []string{}},
		"a live one stays however old it is":    {[]string{"w-a"}, 1, []string{"w-b", "w-c"}},
		"a pod may carry the short form":        {[]string{"a", "d"}, 0, []string{"w-b", "w-c"}},
		"the name of another prefix counts too": {[]string{"cut-a", "d"}, 0, []string{"w-b", "w-c"}},
		"nothing is kept":                       {nil, 0, []string{"w-a", "w-b", "w-c", "w-d"}},
		"a negative limit keeps nothing":        {[]string{"w-d"}, -1, []string{"w-a", "w-b", "w-c"}},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, names(Expired(history, test.live, test.limit))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := Expired(nil, nil, 0); len(got) != 0 {
		t.Errorf("of nothing, %v expired", got)
	}
}

// TestReleasesConverge: whatever templates follow each other, carrying out the outcome makes the live template the
// newest revision, and deciding again changes nothing.
func TestReleasesConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var listed []Revision
		for range rapid.IntRange(1, 12).Draw(t, "releases") {
			live := FromTemplate(web(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "image")))
			switch o := Decide(listed, live).(type) {
			case RollBack:
				i := slices.IndexFunc(listed, func(r Revision) bool { return r.Name == o.Revision.Name })
				listed[i].Number = o.Number
			case New:
				listed = append(listed, numbered("w-"+o.Template.Spec.Containers[0].Image, o.Number, o.Template.Spec.Containers[0].Image))
			}
			Sort(listed)
			again, ok := Decide(listed, live).(Unchanged)
			if !ok || again.Revision.Name != listed[len(listed)-1].Name {
				t.Fatalf("the template is not the newest revision after its outcome")
			}
			if len(listed) > 3 {
				t.Fatalf("%d revisions for three templates", len(listed))
			}
		}
	})
}
