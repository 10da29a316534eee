// SPDX-License-Identifier: Apache-2.0

package statefulset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
)

func TestTheStatusFollowsARelease(t *testing.T) {
	r := enter(t, ordered(2).Claim("data", "1Gi"))
	r.Settle()
	settled := r.Set().Status
	first := settled.CurrentRevision
	want := kruisev1beta1.StatefulSetStatus{
		ObservedGeneration: 1, Replicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, CurrentReplicas: 2, UpdatedReplicas: 2,
		UpdatedReadyReplicas: 2, UpdatedAvailableReplicas: 2, CurrentRevision: first, UpdateRevision: first, LabelSelector: "app=web",
		VolumeClaims: []kruisev1beta1.VolumeClaimStatus{{VolumeClaimName: "data", CompatibleReplicas: 2}},
	}
	if diff := cmp.Diff(want, settled, cmpopts.IgnoreFields(kruisev1beta1.StatefulSetStatus{}, "Conditions")); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
	if got := r.condition(kruisev1beta1.StatefulSetConditionReady); got != "True SpecReached: 2 pods available, 2 of them updated" {
		t.Errorf("settled, Ready is %q", got)
	}

	r.Edit(image(broken))
	r.Settle()
	halfway := r.Set().Status
	if halfway.CurrentRevision != first || halfway.UpdateRevision == first || halfway.CurrentReplicas != 1 || halfway.UpdatedReplicas != 1 || halfway.UpdatedReadyReplicas != 0 {
		t.Errorf("halfway, the status is %+v", halfway)
	}
	got := r.condition(kruisev1beta1.StatefulSetConditionReady)
	if !strings.HasPrefix(got, "False WaitingForPods: 1 of 2 pods available, 1 of 2 updated; ") || !strings.Contains(got, `waiting for pod web-1 (container app: ImagePullBackOff`) {
		t.Errorf("halfway, Ready is %q", got)
	}

	r.Edit(image(v2))
	r.Settle()
	if after := r.Set().Status; after.CurrentRevision != after.UpdateRevision || after.CurrentRevision == first || after.CurrentReplicas != 2 {
		t.Errorf("in the end, the status is %+v", after)
	}
}

func TestASettledSetCausesNoWrite(t *testing.T) {
	r := enter(t, ordered(3).Claim("data", "1Gi").With(retention("Delete", "Delete")))
	r.Settle()
	before := len(r.Server.Log())
	for range 3 {
		r.Clock.SetTime(r.Clock.Now().Add(time.Hour))
		if err := r.Pass(); err != nil {
			t.Fatal(err)
		}
	}
	if after := len(r.Server.Log()); after != before {
		t.Errorf("writes: %q", r.Writes(before))
	}
	if r.Door.Reads > 0 {
		t.Errorf("%d live reads", r.Door.Reads)
	}
}

// A pass that creates nothing must not take back that the last creation failed.
func TestATroubleStandsUntilTheSameKindOfStepIsTaken(t *testing.T) {
	r := enter(t, parallel(1))
	r.Settle()
	const why = "True : StatefulPodControl failed to create Pod error: creating pod web-1: forbidden: a rule says no"
	r.Edit(replicas(2))
	r.Door.Refuse = "create pods"
	if err := r.Pass(); err == nil {
		t.Fatal("the creation was not refused")
	}
	if got := r.condition(kruisev1beta1.StatefulSetConditionFailedCreatePod); got != why {
		t.Errorf("FailedCreatePod is %q", got)
	}

	name := types.NamespacedName{Namespace: builders.Namespace, Name: "web-1"}
	other := builders.Pod(name.Name).Label("app", "mine").Build() // while somebody has the name, nothing is created
	r.create(other)
	if err := r.Pass(); err != nil {
		t.Fatal(err)
	}
	if got := r.condition(kruisev1beta1.StatefulSetConditionFailedCreatePod); got != why {
		t.Errorf("after a pass without a creation, FailedCreatePod is %q", got)
	}

	r.Door.Refuse = ""
	now := int64(0)
	if err := r.Server.Delete("user", api.Pods, name, &now, nil); err != nil {
		t.Fatal(err)
	}
	r.Settle()
	if got := r.condition(kruisev1beta1.StatefulSetConditionFailedCreatePod); got != "False : " {
		t.Errorf("after a creation, FailedCreatePod is %q", got)
	}
}

// The cache does not show the pods of other controllers, so only the server can tell whose a name is, and when it is free.
func TestANameThatAnotherControllersPodHasIsWaitedFor(t *testing.T) {
	r := enter(t, parallel(2))
	foreign := builders.Pod("web-0").With(func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "other", Controller: ptr.To(true)}}
	}).Build()
	r.create(foreign)
	r.Settle()
	if got := r.condition(kruisev1beta1.StatefulSetConditionReady); !strings.Contains(got, "pod web-0 cannot be created: its name is taken by a pod that is not the set's") {
		t.Errorf("Ready is %q", got)
	}
	if r.Looked <= 0 || r.Looked > 10*time.Second {
		t.Errorf("looks again in %s", r.Looked)
	}

	reads := r.Door.Reads
	for range 5 { // events come, and nobody is asked again before it is time
		if err := r.Pass(); err != nil {
			t.Fatal(err)
		}
	}
	if r.Door.Reads > reads+1 {
		t.Errorf("%d live reads in 5 passes", r.Door.Reads-reads)
	}

	now := int64(0)
	if err := r.Server.Delete("user", api.Pods, client.ObjectKeyFromObject(foreign), &now, nil); err != nil {
		t.Fatal(err)
	}
	r.Clock.SetTime(r.Clock.Now().Add(10 * time.Second))
	r.Settle()
	if status := r.Set().Status; status.AvailableReplicas != 2 {
		t.Errorf("in the end, the status is %+v", status)
	}
}

func TestAClaimThatCannotGrowHoldsItsPodAndIsToldOnce(t *testing.T) {
	r := enter(t, ordered(2).Claim("data", "1Gi").With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.VolumeClaimUpdateStrategy.Type = kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
		s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = ptr.To("rigid")
	}))
	r.classes = []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "rigid"}}}
	r.Settle()
	r.Told = nil
	r.Edit(size("2Gi"))
	r.Settle()
	r.Clock.SetTime(r.Clock.Now().Add(time.Hour))
	r.Settle()
	events := r.Events()
	if len(events) != 1 || !strings.HasPrefix(events[0], "Warning FailedUpdatePVC on web: claim data-web-1 of pod web-1 is smaller than its template") {
		t.Errorf("events are %q", events)
	}
	if got := r.condition(kruisev1beta1.StatefulSetConditionStalled); !strings.HasPrefix(got, "True FailedUpdatePVC: claim data-web-1") {
		t.Errorf("Stalled is %q", got)
	}

	r.classes[0].AllowVolumeExpansion = ptr.To(true)
	from := len(r.Server.Log())
	r.Settle()
	if got := r.Writes(from); len(got) == 0 || got[0] != "update persistentvolumeclaims data-web-1" {
		t.Errorf("writes are %q", got)
	}
	if got := r.condition(kruisev1beta1.StatefulSetConditionStalled); got != "False : " {
		t.Errorf("in the end, Stalled is %q", got)
	}
}

// A condemned pod that is broken is not taken away over the head of another broken one. Nobody may ever get either of them
// to work, so people are told who can do what.
func TestAScaleInThatWaitsForSomebodySaysSo(t *testing.T) {
	r := enter(t, ordered(3))
	r.Settle()
	for _, name := range []string{"web-1", "web-2"} {
		r.EditPod(name, api.Main, func(p *corev1.Pod) { p.Spec.Containers[0].Image = broken })
	}
	r.Nodes()
	r.Told = nil
	r.Edit(replicas(1))
	r.Settle()
	r.Clock.SetTime(r.Clock.Now().Add(time.Hour))
	r.Settle()
	const why = "scaling in waits: pod web-2 is not available, and neither is pod web-1 below it, which it may need; it goes on when one of them is available or somebody deletes it"
	if diff := cmp.Diff([]string{"Warning ScaleInBlocked on web: " + why}, r.Events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := r.condition(kruisev1beta1.StatefulSetConditionReady); !strings.HasPrefix(got, "False ScaleInBlocked: 1 of 1 pod available, 3 of 1 updated; "+why+"; waiting for pod web-1 (") {
		t.Errorf("Ready is %q", got)
	}
	if got := len(r.pods()); got != 3 {
		t.Fatalf("%d pods, want all 3", got)
	}

	now := int64(0)
	if err := r.Server.Delete("user", api.Pods, types.NamespacedName{Namespace: builders.Namespace, Name: "web-1"}, &now, nil); err != nil {
		t.Fatal(err)
	}
	r.Settle()
	if got := r.condition(kruisev1beta1.StatefulSetConditionReady); !strings.HasPrefix(got, "True ") || len(r.pods()) != 1 {
		t.Errorf("in the end, there are %d pods and Ready is %q", len(r.pods()), got)
	}
}
