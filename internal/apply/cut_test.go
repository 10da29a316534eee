// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

func TestCutKeepsTheFrontAndSaysSo(t *testing.T) {
	for sentence, c := range map[string]struct{ text, want string }{
		"nothing stays nothing":                  {"", ""},
		"what fits is left alone":                {strings.Repeat("a", 20), strings.Repeat("a", 20)},
		"what does not fit loses its end":        {strings.Repeat("a", 21), strings.Repeat("a", 11) + "… (cut)"},
		"a letter of several bytes is not split": {strings.Repeat("a", 10) + "ééééééé", strings.Repeat("a", 10) + "… (cut)"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := apply.Cut(c.text, 20); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// An admission webhook may answer with as many words as it likes.
func TestARefusalOfSeveralKilobytesIsCut(t *testing.T) {
	s := serve(t, builders.Pod("a").Build())
	s.fail = func(string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("rule 7 says no, since "+strings.Repeat("x", 8000)))
	}
	outcomes := s.take(t, step.DeletePod{Target: step.On(s.pod(t, "a"))})
	said := outcomes[0].Err.Error()
	if front := `deleting pod a: pods "a" is forbidden: rule 7 says no, since xxx`; len(said) > 300 || !strings.HasPrefix(said, front) || !strings.HasSuffix(said, "(cut)") {
		t.Errorf("%d bytes are told: %s", len(said), said)
	}
	if !apierrors.IsForbidden(outcomes[0].Err) {
		t.Errorf("the answer is not known any more as what it is: %v", outcomes[0].Err)
	}
}

// The words by which a server says that a node is too small may stand behind many others.
func TestALongRefusalOfAResizeIsStillUnderstood(t *testing.T) {
	s := serve(t, podWithRequests())
	s.fail = func(write string) error {
		if write != "patch resize of a" {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New(strings.Repeat("x", 8000)+": node didn't have enough allocatable resources: cpu"))
	}
	if err := s.take(t, resized(s.pod(t, "a")))[0].Err; !apply.IsInfeasible(err) {
		t.Errorf("not known as infeasible: %v", err)
	}
}

func TestNoEventIsTooLongForTheAPI(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	p := builders.Pod("a").Build()
	apply.Tell(recorder, p, []apply.Outcome{{Step: step.UpdateInPlace{Because: step.Because(strings.Repeat("x", 4000)), Target: step.On(p)}}}, nil)
	note := strings.TrimPrefix(<-recorder.Events, "Normal SuccessfulUpdatePodInPlace ")
	if len(note) > 1024 || !strings.HasPrefix(note, "pod a: xxx") || !strings.HasSuffix(note, "(cut)") {
		t.Errorf("the note has %d bytes: %s", len(note), note)
	}
}
