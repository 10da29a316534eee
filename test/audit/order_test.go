// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// story is a sequence of sightings, with versions in their order.
type story struct{ seen []Sighting }

func (s *story) is(n int, change ...func(*corev1.Pod)) *story {
	s.seen = append(s.seen, at(0, pod(fmt.Sprintf("web-%d", n), len(s.seen)+1, change...)))
	return s
}

// asked is the answer to a deletion, which begins or ends it.
func (s *story) asked(n int, change ...func(*corev1.Pod)) *story {
	s.is(n, change...)
	last := &s.seen[len(s.seen)-1]
	last.Gone, last.Deletion = true, true
	return s
}

func three() *story { return new(story).is(0).is(1).is(2) }

func in(revision string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{"controller-revision-hash": revision} }
}

func anew(p *corev1.Pod) { p.UID = types.UID("second-" + p.Name) }

func TestDisorder(t *testing.T) {
	v2, v3 := in("v2"), in("v3")
	for sentence, test := range map[string]struct {
		story *story
		from  uint64
		want  []string
	}{
		"pods come one after the other": {story: new(story).is(0, unready).is(0).is(1, unready).is(1).is(2, unready).is(2)},
		"a pod comes too early": {story: new(story).is(0, unready).is(1, unready),
			want: []string{"web-1 came at version 2 while 0 was not available"}},
		"a pod comes above one that is missing": {story: new(story).is(0).is(2),
			want: []string{"web-2 came at version 2 while 1 was not available"}},
		"what came before the window is no disorder": {story: new(story).is(0, unready).is(1, unready).is(0).is(1), from: 2},

		"pods are updated in place from the top": {
			story: three().is(2, unready).is(2, unready, v2).is(2, v2).is(1, unready).is(1, unready, v2).is(1, v2).is(0, unready).is(0, v2)},
		"the gate turned off is what counts": {story: three().is(1, condition("InPlaceUpdateReady", corev1.ConditionFalse)),
			want: []string{"web-1 left at version 4 before 2"}},
		"pods are updated from the bottom": {story: three().is(0, unready),
			want: []string{"web-0 left at version 4 before 1", "web-0 left at version 4 before 2"}},
		"a pod leaves while one above has not come back": {story: three().is(2, unready, v2).is(1, unready),
			want: []string{"web-1 left at version 5 while 2 was not available"}},
		"a pod leaves while one below is down": {story: three().is(0, unready, v2).is(2, unready), from: 4,
			want: []string{"web-2 left at version 5 while 0 was not available"}},
		"one that is down anyway may change at any time": {story: three().is(0, unready).is(0, unready, v2).is(0, v2), from: 4},
		"those above are at two revisions":               {story: new(story).is(0).is(1, v2).is(2, v3).is(0, unready), want: []string{"web-0 left at version 4 while those above it were not all at one revision"}},
		"a newer release begins at the top again":        {story: three().is(2, v2).is(1, v2).is(2, v2, unready).is(2, v3).is(1, v2, unready).is(1, v3).is(0, unready)},
		"pods are recreated from the top": {
			story: three().asked(2, deleting).asked(2, deleting).is(2, anew, v2, unready).is(2, anew, v2).asked(1, deleting).asked(1, deleting).is(1, anew, v2)},
		"a pod is recreated while the one below is gone": {story: three().asked(1, deleting).asked(1, deleting).is(2, v2).asked(2, deleting), from: 4,
			want: []string{"web-2 left at version 7 while 1 was not available"}},

		"pods are scaled in from the top": {story: three().asked(2, deleting).is(2, deleting).asked(2, deleting).asked(1, deleting)},
		"a pod is scaled in while another is on its way out": {story: three().asked(2, deleting).asked(1, deleting),
			want: []string{"web-1 left at version 5 while 2 was on its way out"}},
		"a pod is scaled in before the one above": {story: three().asked(1, deleting),
			want: []string{"web-1 left at version 4 before 2"}},
		"a pod that is removed at once is on no way": {story: three().asked(2).asked(1)},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := NewHistory("set", test.story.seen).Disorder(Window{From: test.from})
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("disorder (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDisorderNeedsOrdinals(t *testing.T) {
	for _, name := range []string{"web-01", "web", "web-x", "web-1a"} {
		want := []string{name + " has no ordinal"}
		if diff := cmp.Diff(want, NewHistory("set", []Sighting{at(0, pod(name, 1))}).Disorder(Window{})); diff != "" {
			t.Errorf("disorder (-want +got):\n%s", diff)
		}
	}
}
