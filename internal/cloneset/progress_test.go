// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/test/builders"
)

const deadline = 100 * time.Second

// moment is one observation in the story of a release of 2 pods.
type moment struct {
	after     time.Duration
	revision  string
	available int // updated and available pods
	paused    bool
	partition int
	want      string
}

func TestADeadlineTellsOfAReleaseThatTakesTooLong(t *testing.T) {
	const (
		available, paused, partition = kruisev1alpha1.ReasonCloneSetAvailable, kruisev1alpha1.ReasonCloneSetPaused, kruisev1alpha1.ReasonProgressPartitionAvailable
		exceeded, going              = kruisev1alpha1.ReasonProgressDeadlineExceeded, kruisev1alpha1.ReasonCloneSetUpdated
	)
	texts := map[string]string{
		available: "CloneSet is available", paused: "CloneSet is paused", partition: "CloneSet has been paused due to partition ready",
		going: "CloneSet is progressing", exceeded: "CloneSet revision %s has timed out progressing",
	}
	for sentence, story := range map[string][]moment{
		"a release that comes to its end": {{0, "b", 0, false, 0, going}, {50 * time.Second, "b", 1, false, 0, going}, {99 * time.Second, "b", 2, false, 0, available}},
		"a release that is too slow, partial progress or not": {
			{0, "b", 0, false, 0, going}, {90 * time.Second, "b", 1, false, 0, going}, {101 * time.Second, "b", 1, false, 0, exceeded},
		},
		"once exceeded it stays, until the release ends": {
			{0, "b", 0, false, 0, going}, {101 * time.Second, "b", 0, false, 0, exceeded}, {time.Hour, "b", 1, false, 0, exceeded}, {2 * time.Hour, "b", 2, false, 0, available},
		},
		"a new revision starts the clock anew": {
			{0, "b", 0, false, 0, going}, {101 * time.Second, "b", 0, false, 0, exceeded}, {102 * time.Second, "c", 0, false, 0, going},
			{200 * time.Second, "c", 0, false, 0, going}, {203 * time.Second, "c", 0, false, 0, exceeded},
		},
		"a set that was whole for hours is not late in the first second of its next release": {
			{0, "b", 2, false, 0, available}, {5 * time.Hour, "c", 0, false, 0, going},
		},
		"nor is one that lost a pod": {{0, "b", 2, false, 0, available}, {5 * time.Hour, "b", 1, false, 0, going}},
		"a pause does not consume the deadline": {
			{0, "b", 0, false, 0, going}, {50 * time.Second, "b", 0, true, 0, paused}, {time.Hour, "b", 0, false, 0, going}, {time.Hour + 99*time.Second, "b", 0, false, 0, going},
			{time.Hour + 101*time.Second, "b", 0, false, 0, exceeded},
		},
		"nor does a partition that is reached": {
			{0, "b", 0, false, 1, going}, {50 * time.Second, "b", 1, false, 1, partition}, {time.Hour, "b", 1, false, 0, going},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := builders.CloneSet("web").With(func(s *kruisev1alpha1.CloneSet) {
				s.Spec.ProgressDeadlineSeconds = ptr.To(int32(deadline / time.Second))
			}).Build()
			for _, m := range story {
				at := now.Add(m.after)
				set.Spec.UpdateStrategy.Paused = m.paused
				next := plan.Plan{UpdateRevision: m.revision, CurrentRevision: "a", Limits: budget.Limits{Replicas: 2, Partition: m.partition}}
				for i := range 2 {
					updated := i < m.available
					next.Members = append(next.Members, member(string(rune('a'+i)), updated, true))
				}
				set.Status = statusOf(plan.World{Set: set}, next, nil, at)
				got := conditions.Find(set.Status.Conditions, kruisev1alpha1.CloneSetConditionProgressing)
				if got == nil || got.Reason != m.want || (got.Status == corev1.ConditionFalse) != (m.want == exceeded) {
					t.Fatalf("after %s: condition is %+v, want %s", m.after, got, m.want)
				}
				if text := strings.Replace(texts[m.want], "%s", m.revision, 1); got.Message != text {
					t.Errorf("after %s: the message is %q, want %q", m.after, got.Message, text)
				}
				if wait := untilDeadline(set, set.Status, at); (wait > 0) != (m.want == going) || wait > deadline+time.Second {
					t.Errorf("after %s: looks again in %s", m.after, wait)
				}
			}
		})
	}
}

func TestWithoutADeadlineThereIsNoCondition(t *testing.T) {
	for sentence, seconds := range map[string]*int32{"absent": nil, "the largest number": ptr.To(kruisev1alpha1.NoProgressDeadline)} {
		t.Run(sentence, func(t *testing.T) {
			set := builders.CloneSet("web").Build()
			set.Spec.ProgressDeadlineSeconds = seconds
			set.Status.Conditions = []kruisev1alpha1.CloneSetCondition{{Type: kruisev1alpha1.CloneSetConditionProgressing, Status: corev1.ConditionTrue, LastUpdateTime: metav1.NewTime(now)}}
			status := statusOf(plan.World{Set: set}, plan.Plan{Limits: budget.Limits{Replicas: 1}}, nil, now)
			if got := conditions.Find(status.Conditions, kruisev1alpha1.CloneSetConditionProgressing); got != nil {
				t.Errorf("condition is %+v", got)
			}
		})
	}
}

// The clock of the deadline stands in lastUpdateTime, so whoever reads the condition can tell what is left.
func TestTheTimesOfProgressingAreThoseOfItsChanges(t *testing.T) {
	set := builders.CloneSet("web").With(func(s *kruisev1alpha1.CloneSet) {
		s.Spec.ProgressDeadlineSeconds = ptr.To(int32(deadline / time.Second))
	}).Build()
	for _, m := range []struct {
		sentence            string
		after               time.Duration
		available           bool
		updated, transition time.Duration
	}{
		{"a release begins", 0, false, 0, 0},
		{"nothing new is said", 50 * time.Second, false, 0, 0},
		{"another reason, and the same status", 60 * time.Second, true, 60 * time.Second, 0},
		{"a pod is lost: the clock begins anew", 70 * time.Second, false, 70 * time.Second, 0},
		{"another status", 171 * time.Second, false, 171 * time.Second, 171 * time.Second},
		{"and again nothing new", 200 * time.Second, false, 171 * time.Second, 171 * time.Second},
		{"another status once more", 300 * time.Second, true, 300 * time.Second, 300 * time.Second},
	} {
		next := plan.Plan{UpdateRevision: "b", CurrentRevision: "a", Limits: budget.Limits{Replicas: 1}, Members: []plan.Member{member("a", true, m.available)}}
		set.Status = statusOf(plan.World{Set: set}, next, nil, now.Add(m.after))
		got := conditions.Find(set.Status.Conditions, kruisev1alpha1.CloneSetConditionProgressing)
		if updated, transition := got.LastUpdateTime.Sub(now), got.LastTransitionTime.Sub(now); updated != m.updated || transition != m.transition {
			t.Errorf("%s: %s, updated after %s, last transition after %s", m.sentence, got.Reason, updated, transition)
		}
	}
}
