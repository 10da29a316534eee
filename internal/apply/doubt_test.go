// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

// A write that was made and answered with an error is one that the next decision must not repeat.
func TestALostAnswerIsNotTakenForAWriteThatFailed(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for sentence, c := range map[string]struct {
		answer error
		doubt  bool
	}{
		"no answer at all":              {errors.New("connection reset by peer"), true},
		"a timeout on the server":       {apierrors.NewTimeoutError("etcd is slow", 1), true},
		"an error inside the server":    {apierrors.NewInternalError(errors.New("etcd is gone")), true},
		"a conflict: nothing was made":  {apierrors.NewConflict(pods, "web-a", errors.New("old")), false},
		"a refusal: nothing was made":   {apierrors.NewForbidden(pods, "web-a", errors.New("quota")), false},
		"a name that somebody has used": {apierrors.NewAlreadyExists(pods, "web-a"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, behind := serve(t, builders.Pod("web-a").Build()), serve(t)
			s.fail = func(string) error { return c.answer }
			tracker := freshness.New(behind, s, clocktesting.NewFakePassiveClock(time.Unix(0, 0)), 0)
			outcomes := apply.New(s, tracker, apply.Options{Concurrency: 1}).Steps(t.Context(), "set", []step.Step{step.CreatePod{Pod: newPodNamed("web-a")}})
			if outcomes[0].Err == nil {
				t.Fatal("the creation did not fail")
			}
			if _, stale := tracker.Unseen(t.Context(), "set"); stale != c.doubt {
				t.Errorf("the next decision waits: %v, want %v", stale, c.doubt)
			}
		})
	}
}

func newPodNamed(name string) *corev1.Pod {
	p := builders.Pod(name).Build()
	p.UID, p.ResourceVersion, p.Status = "", "", corev1.PodStatus{}
	return p
}
