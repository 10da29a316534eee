// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/faults/judge"
)

func TestTheTableSaysWhatWasBroken(t *testing.T) {
	r := &Report{Seed: 7, Faults: map[string]string{"none": "none, to compare with", "errors": "errors"}, Cells: []Cell{
		{Fault: "none", Kind: CloneSet, Operation: Create, Finished: true, Seconds: 3.14, Writes: 2, Tries: 2},
		{Fault: "none", Kind: CloneSet, Operation: Scale, Seconds: 180},
		{Fault: "errors", Kind: CloneSet, Operation: Create, Finished: true, Seconds: 9, Writes: 3, Tries: 11,
			Broken: []judge.Finding{{Invariant: judge.Surge}, {Invariant: judge.Budget}, {Invariant: judge.Surge}}},
	}}
	want := `### CloneSet

| fault | create | in place | recreate | scale | rollout |
|---|---|---|---|---|---|
| none, to compare with | 3.1 s |  |  | **did not finish** in 180.0 s |  |
| errors | 9.0 s, **surge broken** 2×, **unavailable broken** 1× |  |  |  |  |

1 of 3 cells are good: 3 broken invariants. One pod was changed at most 3 times in one operation, and written to at most 11 times. Seed 7.
`
	if diff := cmp.Diff(want, r.Markdown()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if r.Good() {
		t.Error("the report is good")
	}
	if r.Cells = r.Cells[:1]; !r.Good() {
		t.Error("a report of good cells is not good")
	}
	if r.Errors = []string{"none: it rained"}; r.Good() || !strings.Contains(r.Markdown(), "it rained") {
		t.Error("a story that was not told to its end is good")
	}
}

func TestUnknownNamesAreRefusedAndEmptyListsMeanAll(t *testing.T) {
	o := Options{Faults: []string{"rain"}, Out: io.Discard}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), `there is no fault "rain"; there are none, `) {
		t.Errorf("error %v", err)
	}
	o = Options{Kinds: []string{CloneSet}}
	if err := o.Validate(); err != nil || len(o.Faults) != len(faults()) || len(o.Operations) != 5 || len(o.Kinds) != 1 {
		t.Errorf("%d faults, %d operations, %d kinds, error %v", len(o.Faults), len(o.Operations), len(o.Kinds), err)
	}
}

func TestASetIsSettledWhenItsStatusSaysAllOfIt(t *testing.T) {
	set, ok := subjects(CloneSet, "demo")[1].object.(*kruisev1alpha1.CloneSet)
	if !ok {
		t.Fatal("the subject is no CloneSet")
	}
	set.Generation = 3
	reached := kruisev1alpha1.CloneSetStatus{ObservedGeneration: 3, Replicas: 5, ReadyReplicas: 5, AvailableReplicas: 5, UpdatedReplicas: 4}
	for sentence, test := range map[string]struct {
		change  func(*kruisev1alpha1.CloneSetStatus)
		settled bool
	}{
		"it is when all are there, and the partition keeps one": {func(*kruisev1alpha1.CloneSetStatus) {}, true},
		"an older spec does not count":                          {func(s *kruisev1alpha1.CloneSetStatus) { s.ObservedGeneration = 2 }, false},
		"one too many":                                          {func(s *kruisev1alpha1.CloneSetStatus) { s.Replicas = 6 }, false},
		"one not available":                                     {func(s *kruisev1alpha1.CloneSetStatus) { s.AvailableReplicas = 4 }, false},
		"one not updated":                                       {func(s *kruisev1alpha1.CloneSetStatus) { s.UpdatedReplicas = 3 }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			set.Status = reached
			test.change(&set.Status)
			if lacks := settled(set); (lacks == "") != test.settled {
				t.Errorf("it lacks %q", lacks)
			}
		})
	}
}
