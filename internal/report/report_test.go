// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/report"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

// condition is one of a kind that records neither a generation nor a time of its last update.
type condition struct {
	Type            string
	Status          corev1.ConditionStatus
	Reason, Message string
	Since           metav1.Time
}

var conditions = report.Kind[condition, string](func(c *condition) report.Fields[string] {
	return report.Fields[string]{Type: &c.Type, Status: &c.Status, Reason: &c.Reason, Message: &c.Message, Transition: &c.Since}
})

func TestAConditionChangesWhereItSaysSomethingNew(t *testing.T) {
	early, late := metav1.NewTime(builders.Epoch()), metav1.NewTime(builders.Epoch().Add(time.Hour))
	before := []condition{{"Theirs", "True", "Theirs", "of somebody else", early}, {"Ours", "True", "Old", "as it was", early}}
	type set = func(*report.Conditions[condition, string])
	for sentence, c := range map[string]struct {
		set  set
		want []condition
	}{
		"nothing is said":           {func(*report.Conditions[condition, string]) {}, before},
		"the same is said":          {func(w *report.Conditions[condition, string]) { w.Set("Ours", true, "Old", "as it was") }, before},
		"another reason, same time": {func(w *report.Conditions[condition, string]) { w.Set("Ours", true, "New", "else") }, []condition{before[0], {"Ours", "True", "New", "else", early}}},
		"another status":            {func(w *report.Conditions[condition, string]) { w.Clear("Ours") }, []condition{before[0], {"Ours", "False", "", "", late}}},
		"one more":                  {func(w *report.Conditions[condition, string]) { w.Set("More", false, "Why", "because") }, append(before[:2:2], condition{"More", "False", "Why", "because", late})},
		"a trouble that never was":  {func(w *report.Conditions[condition, string]) { w.Fail("More", nil) }, before},
		"a trouble": {
			func(w *report.Conditions[condition, string]) { w.Fail("Ours", []string{"a", "b", "c", "d", "e"}) },
			[]condition{before[0], {"Ours", "True", "", "a; b; c and 2 more", early}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := conditions.From(before, 7, late.Time)
			c.set(w)
			if diff := cmp.Diff(c.want, w.List); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsOnlySaidOtherwiseIsNoOtherCondition(t *testing.T) {
	before := []condition{{Type: "Ready", Status: "False", Reason: "Progressing", Message: "1 of 3"}}
	for sentence, c := range map[string]struct {
		after []condition
		same  bool
	}{
		"other words":         {[]condition{{Type: "Ready", Status: "False", Reason: "WaitingForPods", Message: "2 of 3"}}, true},
		"it has turned":       {[]condition{{Type: "Ready", Status: "True", Reason: "Progressing", Message: "1 of 3"}}, false},
		"another one begins":  {append(before[:1:1], condition{Type: "Stalled", Status: "True"}), false},
		"it is there no more": {nil, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if same := cmp.Equal(before, conditions.Unsaid(before, c.after)); same != c.same {
				t.Errorf("the same: %v, want %v", same, c.same)
			}
		})
	}
}

func TestTroubleIsToldWhenItBegins(t *testing.T) {
	trouble := []condition{{Type: "Stalled", Status: "True", Reason: "Why", Message: "because"}}
	for sentence, c := range map[string]struct {
		before, after []condition
		want          int
	}{
		"there is none":     {nil, nil, 0},
		"it begins":         {nil, trouble, 1},
		"it goes on":        {trouble, trouble, 0},
		"it is another one": {[]condition{{Type: "Stalled", Status: "True", Message: "else"}}, trouble, 1},
		"it begins anew":    {[]condition{{Type: "Stalled", Status: "False", Message: "because"}}, trouble, 1},
		"it ends":           {trouble, []condition{{Type: "Stalled", Status: "False"}}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			recorder := events.NewFakeRecorder(2)
			conditions.TellTrouble(recorder, &corev1.Pod{}, c.before, c.after, "Stalled")
			if got := len(recorder.Events); got != c.want {
				t.Errorf("%d events, want %d", got, c.want)
			}
		})
	}
}

func TestAPassEndsWithTheFirstReasonToLookAgainOrWithItsErrors(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	conflict, refusal := apierrors.NewConflict(pods, "a", nil), apierrors.NewForbidden(pods, "a", errors.New("no"))
	of := func(err error) []apply.Outcome { return []apply.Outcome{{Step: step.DeletePod{}, Err: err}} }
	for sentence, c := range map[string]struct {
		outcomes            []apply.Outcome
		learning, reporting error
		waits               []time.Duration
		want                string
	}{
		"nothing to wait for":                {of(nil), nil, nil, []time.Duration{0, 0}, "0s <nil>"},
		"the shortest wait counts":           {nil, nil, nil, []time.Duration{0, time.Minute, 0, 5 * time.Second}, "5s <nil>"},
		"a refused step is looked at soon":   {of(conflict), nil, nil, []time.Duration{time.Minute}, "1s <nil>"},
		"so is a refused report":             {nil, nil, conflict, nil, "1s <nil>"},
		"a failed step is an error":          {of(refusal), nil, nil, []time.Duration{time.Minute}, "0s pods \"a\" is forbidden: no"},
		"and does not hide that of a report": {of(refusal), nil, errors.New("lost"), nil, "0s pods \"a\" is forbidden: no\nlost"},
		"what was not learnt is an error":    {nil, errors.New("who has it?"), nil, nil, "0s who has it?"},
	} {
		t.Run(sentence, func(t *testing.T) {
			result, err := report.Result(c.outcomes, c.learning, c.reporting, c.waits...)
			if got := fmt.Sprint(result.RequeueAfter, " ", err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
