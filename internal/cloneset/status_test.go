// SPDX-License-Identifier: Apache-2.0

package cloneset

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

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

var now = builders.Epoch().Add(time.Hour)

func member(id string, updated, available bool) plan.Member {
	b := builders.Pod("web-" + id)
	if !available {
		b.Waiting("ImagePullBackOff")
	}
	return plan.Member{Pod: b.Build(), Updated: updated, Ready: available, Available: available, Progress: inplace.Progress{Finished: true}}
}

func told(next plan.Plan, outcomes ...apply.Outcome) kruisev1alpha1.CloneSetStatus {
	next.UpdateRevision, next.CurrentRevision = "web-b", "web-a"
	return statusOf(plan.World{Set: builders.CloneSet("web").Build()}, next, outcomes, now)
}

func TestStatusCountsWhatIsObserved(t *testing.T) {
	got := told(plan.Plan{
		Limits:  budget.Limits{Replicas: 4, Partition: 1},
		Members: []plan.Member{member("a", false, true), member("b", true, true), member("c", true, false)},
	})
	got.Conditions = nil
	want := kruisev1alpha1.CloneSetStatus{
		ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 2, AvailableReplicas: 2, UpdatedReplicas: 2, UpdatedReadyReplicas: 1, UpdatedAvailableReplicas: 1,
		ExpectedUpdatedReplicas: 3, UpdateRevision: "web-b", CurrentRevision: "web-a", LabelSelector: "app=web",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestTheCurrentRevisionAdvancesWhenEveryPodIsThereAndUpdated(t *testing.T) {
	updated := []plan.Member{member("a", true, false), member("b", true, true)}
	for sentence, c := range map[string]struct {
		replicas int
		members  []plan.Member
		want     string
	}{
		"all are, ready or not":         {2, updated, "web-b"},
		"a pod is missing":              {3, updated, "web-a"},
		"one pod is of another version": {3, append([]plan.Member{member("c", false, true)}, updated...), "web-a"},
		"no pod is wanted":              {0, nil, "web-b"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := told(plan.Plan{Limits: budget.Limits{Replicas: c.replicas}, Members: c.members}).CurrentRevision; got != c.want {
				t.Errorf("current revision is %s, want %s", got, c.want)
			}
		})
	}
}

// said is a condition without its times.
func said(status kruisev1alpha1.CloneSetStatus) []string {
	var lines []string
	for _, c := range status.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return lines
}

func TestConditionsSayWhatIsWaitedFor(t *testing.T) {
	doomed := step.DeletePod{Target: step.Target{Name: "web-a"}}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web-a", errors.New("old"))
	one := budget.Limits{Replicas: 1}
	for sentence, c := range map[string]struct {
		plan     plan.Plan
		outcomes []apply.Outcome
		want     []string
	}{
		"the spec is reached": {
			plan.Plan{Limits: one, Members: []plan.Member{member("a", true, true)}}, nil,
			[]string{"Ready=True SpecReached: 1 pod available, 1 of them updated"},
		},
		"the partition is reached": {
			plan.Plan{Limits: budget.Limits{Replicas: 2, Partition: 1}, Members: []plan.Member{member("a", true, true), member("b", false, true)}}, nil,
			[]string{"Ready=True SpecReached: 2 pods available, 1 of them updated"},
		},
		"an image that cannot be pulled": {
			plan.Plan{Limits: budget.Limits{Replicas: 2}, Members: []plan.Member{member("a", true, false), member("b", false, true)}, Held: "no more may be unavailable"}, nil,
			[]string{`Ready=False WaitingForPods: 1 of 2 pods available, 1 of 2 updated; no more may be unavailable; waiting for pod web-a (container app: ImagePullBackOff (image "registry.test/app:v1"))`},
		},
		"an impossible spec": {
			plan.Plan{Invalid: errors.New("spec.updateStrategy.maxSurge: bad")}, nil,
			[]string{"Ready=False InvalidSpec: spec.updateStrategy.maxSurge: bad", "Stalled=True InvalidSpec: spec.updateStrategy.maxSurge: bad"},
		},
		"pods that cannot be updated": {
			plan.Plan{Limits: one, Members: []plan.Member{member("a", false, true)}, Refused: []string{"pod a: no", "pod b: no", "pod c: no", "pod d: no"}}, nil,
			[]string{
				"Ready=False UpdateRefused: 1 of 1 pod available, 0 of 1 updated",
				"Stalled=True UpdateRefused: pod a: no; pod b: no; pod c: no and 1 more",
				"FailedUpdate=True : pod a: no; pod b: no; pod c: no and 1 more",
			},
		},
		"a deletion that failed": {
			plan.Plan{Limits: one, Members: []plan.Member{member("a", true, true)}}, []apply.Outcome{{Step: doomed, Err: errors.New("denied")}},
			[]string{"Ready=True SpecReached: 1 pod available, 1 of them updated", "FailedScale=True : denied"},
		},
		"of many failures three are told": {
			plan.Plan{Limits: one, Members: []plan.Member{member("a", true, true)}},
			[]apply.Outcome{{Step: doomed, Err: errors.New("1")}, {Step: doomed, Err: errors.New("2")}, {Step: doomed, Err: errors.New("3")}, {Step: doomed, Err: errors.New("4")}},
			[]string{"Ready=True SpecReached: 1 pod available, 1 of them updated", "FailedScale=True : 1; 2; 3 and 1 more"},
		},
		"a pause is not the fault of pods": {
			plan.Plan{Limits: one, Members: []plan.Member{member("a", false, true)}, Held: "paused with 1 pods to update"}, nil,
			[]string{"Ready=False Progressing: 1 of 1 pod available, 0 of 1 updated; paused with 1 pods to update"},
		},
		"a template whose pods cannot be made": {
			plan.Plan{Limits: one, Uncreatable: "container app mounts nothing", Held: "container app mounts nothing"}, nil,
			[]string{
				"Ready=False Progressing: 0 of 1 pod available, 0 of 1 updated; container app mounts nothing",
				"Stalled=True FailedCreate: container app mounts nothing", "FailedScale=True : container app mounts nothing",
			},
		},
		"a conflict is nobody's error": {
			plan.Plan{Limits: one, Members: []plan.Member{member("a", true, true)}}, []apply.Outcome{{Step: doomed, Err: conflict}},
			[]string{"Ready=True SpecReached: 1 pod available, 1 of them updated"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, said(told(c.plan, c.outcomes...))); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAConditionThatSaysTheSameIsNotTouched(t *testing.T) {
	next := plan.Plan{Limits: budget.Limits{Replicas: 1}, Members: []plan.Member{member("a", false, true)}, Refused: []string{"pod a: no"}}
	set := builders.CloneSet("web").Build()
	set.Status = statusOf(plan.World{Set: set}, next, nil, now)
	later := statusOf(plan.World{Set: set}, next, nil, now.Add(time.Minute))
	if diff := cmp.Diff(set.Status, later); diff != "" {
		t.Errorf("the status changed with the time alone:\n%s", diff)
	}

	next.Refused = nil
	recovered := statusOf(plan.World{Set: set}, next, nil, now.Add(time.Minute))
	for _, kind := range []kruisev1alpha1.CloneSetConditionType{kruisev1alpha1.CloneSetConditionStalled, kruisev1alpha1.CloneSetConditionFailedUpdate} {
		c := conditions.Find(recovered.Conditions, kind)
		if c.Status != corev1.ConditionFalse || c.Message != "" || !c.LastTransitionTime.Equal(&metav1.Time{Time: now.Add(time.Minute)}) {
			t.Errorf("after the recovery %s is %+v", kind, c)
		}
	}
}
