// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

var now = builders.Epoch().Add(time.Hour)

// replica is a member of revision web-a or, updated, web-b.
func replica(n int, updated, available bool, changes ...func(*plan.Member)) plan.Member {
	set, revision := builders.StatefulSet("web").Build(), "web-a"
	if updated {
		revision = "web-b"
	}
	b := builders.MemberPod(set, n, revision)
	if !available {
		b.Waiting("ImagePullBackOff")
	}
	m := plan.Member{Ordinal: n, Position: n, Member: member.Member{
		Pod: b.Build(), Updated: updated, Ready: available, Available: available, Progress: inplace.Progress{Finished: true},
	}}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func condemned(m *plan.Member) { m.Position = -1 }
func young(m *plan.Member)     { m.Available = false }

func leaving(m *plan.Member) {
	m.Pod.DeletionTimestamp = &m.Pod.CreationTimestamp
}

func over(m *plan.Member) {
	m.Pod.Status.Phase, m.Ready, m.Available = corev1.PodFailed, false, false
}

func told(next plan.Plan, outcomes ...apply.Outcome) kruisev1beta1.StatefulSetStatus {
	return toldOf(builders.StatefulSet("web"), next, outcomes...)
}

func toldOf(set *builders.StatefulSetBuilder, next plan.Plan, outcomes ...apply.Outcome) kruisev1beta1.StatefulSetStatus {
	next.UpdateRevision, next.CurrentRevision = "web-b", "web-a"
	return statusOf(plan.World{Set: set.Build()}, next, outcomes, now)
}

// Every member is counted that the server has: live and condemned, finished and leaving.
func TestStatusCountsWhatIsObserved(t *testing.T) {
	got := told(plan.Plan{
		Limits: budget.Limits{Replicas: 5, Partition: 1}, CollisionCount: 2,
		Members: []plan.Member{
			replica(0, false, true), replica(1, true, true), replica(2, true, true, young), replica(3, true, false), replica(4, true, true, leaving),
			replica(5, false, true, leaving), replica(6, false, true, over), replica(7, false, true, condemned),
		},
		Claims: []plan.ClaimCount{{Template: "data", Compatible: 3, Ready: 2}},
	})
	got.Conditions = nil
	two := int32(2)
	want := kruisev1beta1.StatefulSetStatus{
		ObservedGeneration: 1, Replicas: 8, ReadyReplicas: 6, AvailableReplicas: 5, CurrentReplicas: 3, UpdatedReplicas: 3,
		UpdatedReadyReplicas: 3, UpdatedAvailableReplicas: 2, CurrentRevision: "web-a", UpdateRevision: "web-b", LabelSelector: "app=web", CollisionCount: &two,
		VolumeClaims: []kruisev1beta1.VolumeClaimStatus{{VolumeClaimName: "data", CompatibleReplicas: 3, CompatibleReadyReplicas: 2}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestTheCurrentRevisionAdvancesWhenExactlyTheWantedPodsAreUpdatedAndReady(t *testing.T) {
	both := []plan.Member{replica(0, true, true), replica(1, true, true, young)}
	byHand := builders.StatefulSet("web").With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.UpdateStrategy.Type = kruisev1beta1.OnDeleteStatefulSetStrategyType
	})
	for sentence, c := range map[string]struct {
		set      *builders.StatefulSetBuilder
		replicas int
		members  []plan.Member
		want     string
	}{
		"all are ready, available or not":   {builders.StatefulSet("web"), 2, both, "web-b"},
		"a pod is missing":                  {builders.StatefulSet("web"), 3, both, "web-a"},
		"a pod is there that is not wanted": {builders.StatefulSet("web"), 1, both, "web-a"},
		"one is not ready":                  {builders.StatefulSet("web"), 2, []plan.Member{replica(0, true, true), replica(1, true, false)}, "web-a"},
		"one is of another revision":        {builders.StatefulSet("web"), 2, []plan.Member{replica(0, true, true), replica(1, false, true)}, "web-a"},
		"one is on its way out":             {builders.StatefulSet("web"), 2, []plan.Member{replica(0, true, true), replica(1, true, true, leaving)}, "web-a"},
		"no pod is wanted":                  {builders.StatefulSet("web"), 0, nil, "web-b"},
		"somebody else updates the pods":    {byHand, 2, both, "web-a"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := toldOf(c.set, plan.Plan{Limits: budget.Limits{Replicas: c.replicas}, Members: c.members})
			if got.CurrentRevision != c.want {
				t.Errorf("current revision is %s, want %s", got.CurrentRevision, c.want)
			}
			if c.want == "web-b" && got.CurrentReplicas != got.UpdatedReplicas {
				t.Errorf("%d pods are current and %d updated", got.CurrentReplicas, got.UpdatedReplicas)
			}
		})
	}
}

// said is a condition without its times.
func said(status kruisev1beta1.StatefulSetStatus) []string {
	var lines []string
	for _, c := range status.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return lines
}

func TestConditionsSayWhatIsWaitedFor(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web-0", errors.New("old"))
	removal := func(cause step.DeleteCause) step.Step {
		return step.DeletePod{Target: step.Target{Name: "web-0"}, Cause: cause}
	}
	one := budget.Limits{Replicas: 1}
	fine := plan.Plan{Limits: one, Members: []plan.Member{replica(0, true, true)}}
	const ready = "Ready=True SpecReached: 1 pod available, 1 of them updated"
	for sentence, c := range map[string]struct {
		plan     plan.Plan
		outcomes []apply.Outcome
		want     []string
	}{
		"the spec is reached": {fine, nil, []string{ready}},
		"the partition is reached": {
			plan.Plan{Limits: budget.Limits{Replicas: 2, Partition: 1}, Members: []plan.Member{replica(0, false, true), replica(1, true, true)}}, nil,
			[]string{"Ready=True SpecReached: 2 pods available, 1 of them updated"},
		},
		"an image that cannot be pulled": {
			plan.Plan{Limits: budget.Limits{Replicas: 2}, Members: []plan.Member{replica(0, false, true), replica(1, true, false)}, Held: "pod web-1 is not available"}, nil,
			[]string{`Ready=False WaitingForPods: 1 of 2 pods available, 1 of 2 updated; pod web-1 is not available; waiting for pod web-1 (container app: ImagePullBackOff (image "registry.test/app:v1"))`},
		},
		"a pause is not the fault of pods": {
			plan.Plan{Limits: one, Members: []plan.Member{replica(0, false, true)}, Held: "paused with 1 pods to update"}, nil,
			[]string{"Ready=False Progressing: 1 of 1 pod available, 0 of 1 updated; paused with 1 pods to update"},
		},
		"condemned pods that wait for one another": {
			plan.Plan{
				Limits: budget.Limits{Replicas: 0}, Members: []plan.Member{replica(0, true, false, condemned)}, Held: "pod web-1 waits for its hook", Blocked: "it goes on when somebody deletes web-0",
			}, nil,
			[]string{`Ready=False ScaleInBlocked: 0 of 0 pods available, 1 of 0 updated; it goes on when somebody deletes web-0; waiting for pod web-0 (container app: ImagePullBackOff (image "registry.test/app:v1"))`},
		},
		"an impossible spec": {
			plan.Plan{Invalid: errors.New("spec.reserveOrdinals: bad")}, nil,
			[]string{"Ready=False InvalidSpec: spec.reserveOrdinals: bad", "Stalled=True InvalidSpec: spec.reserveOrdinals: bad"},
		},
		"pods that cannot be updated": {
			plan.Plan{Limits: one, Members: []plan.Member{replica(0, false, true)}, Refused: []string{"pod a: no", "pod b: no", "pod c: no", "pod d: no"}}, nil,
			[]string{
				"Ready=False UpdateRefused: 1 of 1 pod available, 0 of 1 updated",
				"Stalled=True UpdateRefused: pod a: no; pod b: no; pod c: no and 1 more",
				"FailedUpdatePod=True : StatefulPodControl failed to update Pod error: pod a: no; pod b: no; pod c: no and 1 more",
			},
		},
		"claims that cannot follow": {
			plan.Plan{Limits: one, Members: []plan.Member{replica(0, true, true)}, RefusedClaims: []string{"claim data-web-0: no"}}, nil,
			[]string{
				"Ready=False UpdateRefused: 1 of 1 pod available, 1 of 1 updated",
				"Stalled=True FailedUpdatePVC: claim data-web-0: no",
				"FailedUpdatePod=True : StatefulPodControl failed to update Pod error: claim data-web-0: no",
			},
		},
		"a template whose pods cannot be made": {
			plan.Plan{Limits: one, Uncreatable: "container app mounts nothing", Held: "container app mounts nothing"}, nil,
			[]string{
				"Ready=False Progressing: 0 of 1 pod available, 0 of 1 updated; container app mounts nothing",
				"Stalled=True FailedCreate: container app mounts nothing",
				"FailedCreatePod=True : StatefulPodControl failed to create Pod error: container app mounts nothing",
			},
		},
		"a creation that failed": {
			fine, []apply.Outcome{{Step: step.CreatePod{Pod: replica(1, true, true).Pod}, Err: errors.New("denied")}},
			[]string{ready, "FailedCreatePod=True : StatefulPodControl failed to create Pod error: denied"},
		},
		"a claim that could not be made": {
			fine, []apply.Outcome{{Step: step.CreateClaim{Claim: &corev1.PersistentVolumeClaim{}}, Err: errors.New("denied")}},
			[]string{ready, "FailedCreatePod=True : StatefulPodControl failed to create Pod error: denied"},
		},
		"a change in place that failed": {
			fine, []apply.Outcome{{Step: step.UpdateInPlace{}, Err: errors.New("denied")}},
			[]string{ready, "FailedUpdatePod=True : StatefulPodControl failed to update Pod error: denied"},
		},
		"a claim that could not grow": {
			fine, []apply.Outcome{{Step: step.ResizeClaim{}, Err: errors.New("denied")}},
			[]string{ready, "FailedUpdatePod=True : StatefulPodControl failed to update Pod error: denied"},
		},
		"a pod that could not make room for its successor": {
			fine, []apply.Outcome{{Step: removal(step.Recreate), Err: errors.New("denied")}},
			[]string{ready, "FailedUpdatePod=True : StatefulPodControl failed to update Pod error: denied"},
		},
		"of many failures three are told": {
			fine, []apply.Outcome{
				{Step: step.UpdateInPlace{}, Err: errors.New("1")}, {Step: step.UpdateInPlace{}, Err: errors.New("2")},
				{Step: step.UpdateInPlace{}, Err: errors.New("3")}, {Step: step.UpdateInPlace{}, Err: errors.New("4")},
			},
			[]string{ready, "FailedUpdatePod=True : StatefulPodControl failed to update Pod error: 1; 2; 3 and 1 more"},
		},
		"a conflict is nobody's error": {fine, []apply.Outcome{{Step: step.UpdateInPlace{}, Err: conflict}}, []string{ready}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, said(told(c.plan, c.outcomes...))); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAConditionThatSaysTheSameIsNotTouched(t *testing.T) {
	next := plan.Plan{Limits: budget.Limits{Replicas: 1}, Members: []plan.Member{replica(0, false, true)}, Refused: []string{"pod web-0: no"}}
	set := builders.StatefulSet("web").Build()
	set.Status = statusOf(plan.World{Set: set}, next, nil, now)
	if diff := cmp.Diff(set.Status, statusOf(plan.World{Set: set}, next, nil, now.Add(time.Minute))); diff != "" {
		t.Errorf("the status changed with the time alone:\n%s", diff)
	}
}
