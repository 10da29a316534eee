// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/test/audit"
)

// lost makes the last write one whose answer nobody got, and gives back what it did to the pod.
func (s *story) lost() audit.Sighting {
	e := &s.events[len(s.events)-1]
	e.Code, e.Answered = 504, nil
	return audit.See(s.pods[e.Name], e.At.Add(time.Minute), false)
}

func TestAWriteWhoseAnswerWasLostIsJudgedByWhatWasSeen(t *testing.T) {
	asked := func(s *story, version string) {
		s.events[len(s.events)-1].Asked = json.RawMessage(`{"metadata":{"resourceVersion":"` + version + `"}}`)
	}
	for sentence, test := range map[string]struct {
		tell func(*story) []audit.Sighting
		want []Invariant
	}{
		"a pod that it took out of service may be updated first by the next manager": {tell: func(s *story) []audit.Sighting {
			s.statefulSet(2, "v1")
			s.ready("db-0", "db-1")
			s.statefulSet(2, "v2")
			s.pod(us, "db-1", drained)
			s.pod(us, "db-1", runs("v2"))
			s.pod(node, "db-1", serving)
			s.pod(us, "db-0", drained)
			seen := s.lost()
			s.statefulSet(2, "v3")
			s.pod(us, "db-0", runs("v3"))
			return []audit.Sighting{seen}
		}},
		"what it took beyond the budget is told": {tell: func(s *story) []audit.Sighting {
			s.cloneSet(2, "v1")
			s.ready("web-a")
			s.pod(us, "web-b")
			s.pod(us, "web-a", drained)
			return []audit.Sighting{s.lost()}
		}, want: []Invariant{Budget}},
		"the same by somebody else is his": {tell: func(s *story) []audit.Sighting {
			s.cloneSet(2, "v1")
			s.ready("web-a")
			s.pod(us, "web-b")
			s.pod(node, "web-a", drained)
			return []audit.Sighting{s.lost()}
		}},
		"one that asked for another state of the pod did not make this one": {tell: func(s *story) []audit.Sighting {
			s.cloneSet(2, "v1")
			s.ready("web-a")
			s.pod(us, "web-b")
			s.pod(us, "web-a", drained)
			asked(s, "1")
			return []audit.Sighting{s.lost()}
		}},
		"one that asked for the state before it did": {tell: func(s *story) []audit.Sighting {
			s.cloneSet(2, "v1")
			s.ready("web-a")
			before := s.pods["web-a"].ResourceVersion
			s.pod(us, "web-b")
			s.pod(us, "web-a", drained)
			asked(s, before)
			return []audit.Sighting{s.lost()}
		}, want: []Invariant{Budget}},
		"one that was never done is nothing": {tell: func(s *story) []audit.Sighting {
			s.cloneSet(2, "v1")
			s.ready("web-a")
			s.pod(us, "web-b")
			s.pod(us, "web-a", drained)
			s.lost()
			return nil
		}},
		"a pod that it made beyond the surge is told": {tell: func(s *story) []audit.Sighting {
			s.cloneSet(1, "v1")
			s.ready("web-a")
			s.pod(us, "web-b")
			return []audit.Sighting{s.lost()}
		}, want: []Invariant{Surge}},
		"a deletion beyond the budget is told": {tell: func(s *story) []audit.Sighting {
			s.cloneSet(2, "v1")
			s.ready("web-a")
			s.pod(us, "web-b")
			s.remove(us, "web-a", nil)
			return []audit.Sighting{s.lost()}
		}, want: []Invariant{Budget}},
		"so is one of a pod that was gone at once": {tell: func(s *story) []audit.Sighting {
			s.cloneSet(2, "v1")
			s.ready("web-a")
			s.pod(us, "web-b")
			s.remove(us, "web-a", nil)
			seen := s.lost()
			seen.Pod = nil
			return []audit.Sighting{seen}
		}, want: []Invariant{Budget}},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &story{t: t, pods: map[string]*corev1.Pod{}}
			seen := test.tell(s)
			found, err := Check(s.events, seen, Options{Product: "slipway-manager", Namespace: "demo"})
			expect(t, test.want, found, err)
		})
	}
}
