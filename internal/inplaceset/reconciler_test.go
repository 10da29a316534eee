// SPDX-License-Identifier: Apache-2.0

package inplaceset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/stage"
)

const v2 = "registry.test/app:v2"

type edit = func(*cafev1alpha1.InPlaceSet)

func image(i string) edit {
	return func(s *cafev1alpha1.InPlaceSet) { s.Spec.Template.Spec.Containers[0].Image = i }
}
func replicas(n int32) edit { return func(s *cafev1alpha1.InPlaceSet) { s.Spec.Replicas = ptr.To(n) } }
func command(s *cafev1alpha1.InPlaceSet) {
	s.Spec.Template.Spec.Containers[0].Command = []string{"serve"}
}
func zone(s *cafev1alpha1.InPlaceSet) { s.Spec.UnitType = cafev1alpha1.ZoneUnitType }

func declaring(components string) edit {
	return func(s *cafev1alpha1.InPlaceSet) {
		s.Annotations = map[string]string{cafev1alpha1.AnnotationTrafficComponents: components}
	}
}

func inCell(n int32) *builders.InPlaceSetBuilder {
	return builders.InPlaceSet("web").Replicas(n).MaxUnavailable("1").With(func(s *cafev1alpha1.InPlaceSet) { s.Spec.DeployUnit = "CellA" })
}

// TestWhatPeopleAreTold: a set that has come to rest, an edit, and what it tells until it rests again.
func TestWhatPeopleAreTold(t *testing.T) {
	for sentence, c := range map[string]struct {
		set    *builders.InPlaceSetBuilder
		edit   edit
		events []string
		ready  string
	}{
		"a default that is spelled out changes nothing": {
			set: inCell(2), edit: func(s *cafev1alpha1.InPlaceSet) { s.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways },
			ready: "True SpecReached: 2 pods available, 2 of them updated",
		},
		"pods are created": {
			set: inCell(0), edit: replicas(2), ready: "True SpecReached: 2 pods available, 2 of them updated",
			events: []string{"Normal SuccessfulCreate on web, Pod web-1: pod web-1, web-2: 2 of 2 pods are missing"},
		},
		"a release in place": {
			set: inCell(2), edit: image(v2), ready: "True SpecReached: 2 pods available, 2 of them updated",
			events: []string{
				"Normal SuccessfulUpdatePodInPlace on web, Pod web-2: pod web-2: revision r2 replaces r1: image of app to registry.test/app:v2",
				"Normal SuccessfulUpdatePodInPlace on web, Pod web-1: pod web-1: revision r2 replaces r1: image of app to registry.test/app:v2",
			},
		},
		"a recreation names the field and the IP": {
			set: inCell(1), edit: command, ready: "True SpecReached: 1 pod available, 1 of them updated",
			events: []string{
				"Normal SuccessfulUpdatePodReCreate on web, Pod web-1: pod web-1: spec.containers[app].command cannot change in place; its successor gets another IP",
				"Normal SuccessfulCreate on web, Pod web-1: pod web-1: 1 of 1 pod is missing", // its name is free again
			},
		},
		"so does a change of the unit's type": {
			set: inCell(1), edit: zone, ready: "True SpecReached: 1 pod available, 1 of them updated",
			events: []string{
				"Normal SuccessfulUpdatePodReCreate on web, Pod web-1: pod web-1: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms cannot change in place; its successor gets another IP",
				"Normal SuccessfulCreate on web, Pod web-1: pod web-1: 1 of 1 pod is missing", // its name is free again
			},
		},
		"a declaration that makes no sense": {
			set: inCell(1), edit: declaring("l b"),
			events: []string{`Warning InvalidSpec on web: metadata.annotations[cafe.sofastack.io/traffic-components]: "l b" is not allowed: use names of at most 63 letters, digits, '-', '_' or '.', separated by commas`},
			ready:  `False InvalidSpec: metadata.annotations[cafe.sofastack.io/traffic-components]: "l b" is not allowed: use names of at most 63 letters, digits, '-', '_' or '.', separated by commas`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := enter(t, c.set)
			r.Settle()
			r.Told = nil
			r.Edit(c.edit)
			r.Settle()
			if diff := cmp.Diff(c.events, r.Events(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if got := r.condition(cafev1alpha1.ConditionReady); got != c.ready {
				t.Errorf("Ready is %q, want %q", got, c.ready)
			}
		})
	}
}

func TestRefusedWritesAreTold(t *testing.T) {
	for refuse, c := range map[string]struct {
		edit      edit
		kind      cafev1alpha1.ConditionType
		condition string
	}{
		"create pods": {replicas(2), cafev1alpha1.ConditionFailedScale, "True : creating pod web-new: forbidden: a rule says no"},
		"patch pods":  {image(v2), cafev1alpha1.ConditionFailedUpdate, "True : patching pod web-1: forbidden: a rule says no"},
	} {
		t.Run(refuse, func(t *testing.T) {
			r := enter(t, inCell(1))
			r.Settle()
			r.Edit(c.edit)
			r.Door.Refuse = refuse
			for range 2 { // the first may only record the template
				if err := r.Pass(); err != nil {
					break
				}
			}
			if got := r.condition(c.kind); got != c.condition {
				t.Errorf("%s is %q, want %q", c.kind, got, c.condition)
			}
			r.Door.Refuse = ""
			r.Settle()
			if got := r.condition(c.kind); got != "False" {
				t.Errorf("afterwards %s is %q, want False", c.kind, got)
			}
		})
	}
}

// TestTheConditionFollowsTheTraffic tells a release with two components from the outside.
func TestTheConditionFollowsTheTraffic(t *testing.T) {
	r := enter(t, inCell(1).Traffic("lb", "rpc"))
	waits := func(want string) {
		t.Helper()
		if got := r.condition(cafev1alpha1.ConditionWaitingForTraffic); got != want {
			t.Errorf("the condition is %q, want %q", got, want)
		}
	}
	r.Settle()
	waits("True WaitingForComponents: pod web-1: components lb, rpc have to take it on")
	r.takesOn("lb")
	waits("True WaitingForComponents: pod web-1: component rpc has to take it on")
	if got := r.Set().Status.AvailableReplicas; got != 0 {
		t.Errorf("%d pods are available before the last component is there", got)
	}
	r.takesOn("rpc")
	waits("False")

	r.Edit(image(v2))
	r.Settle()
	waits("True WaitingForComponents: pod web-1: components lb, rpc have to let go of it before it is updated")
	const held = "False WaitingForPods: 0 of 1 pod available, 0 of 1 updated; components that route traffic have to let go of pods before their update; " +
		"waiting for pod web-1 (components lb, rpc have to let go of it before it is updated)"
	if got := r.condition(cafev1alpha1.ConditionReady); got != held {
		t.Errorf("Ready is %q, want %q", got, held)
	}
	r.letsGo("rpc")
	if got := r.Pods()[0].Spec.Containers[0].Image; got == v2 {
		t.Error("the pod was changed before lb let go of it")
	}
	r.letsGo("lb")
	waits("True WaitingForComponents: pod web-1: components lb, rpc have to take it on")
	r.takesOn("lb")
	r.takesOn("rpc")
	waits("False")
	if got := r.condition(cafev1alpha1.ConditionReady); got != "True SpecReached: 1 pod available, 1 of them updated" {
		t.Errorf("Ready is %q at the end", got)
	}
}

// TestAPodThatAPersonDeletes: the finalizer holds it, the gate closes, and the condition says whom it waits for.
func TestAPodThatAPersonDeletes(t *testing.T) {
	r := enter(t, inCell(1).Traffic("lb"))
	r.Settle()
	r.takesOn("lb")
	doomed := r.Pods()[0]
	if err := r.Server.Delete("user", api.Pods, client.ObjectKeyFromObject(doomed), nil, nil); err != nil {
		t.Fatal(err)
	}
	r.Settle()
	if gate := pod.Condition(r.Pods()[0], cafev1alpha1.ConditionInPlaceUpdateReady); gate.Status != corev1.ConditionFalse {
		t.Errorf("the gate is %s", gate.Status)
	}
	for _, want := range []string{"pod web-1: component lb has to let go of it before it can go", "pod web-2: component lb has to take it on"} {
		if got := r.condition(cafev1alpha1.ConditionWaitingForTraffic); !strings.Contains(got, want) {
			t.Errorf("the condition is %q, want %q in it", got, want)
		}
	}
	r.letsGo("lb")
	if left := r.Pods(); len(left) != 1 || left[0].UID == doomed.UID {
		t.Errorf("%d pods are left, the deleted one among them", len(left))
	}
}

// TestPodsStayInTheirUnit: what is recorded is what pods are made from, unit included.
func TestPodsStayInTheirUnit(t *testing.T) {
	r := enter(t, inCell(1))
	r.Settle()
	required := r.Pods()[0].Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	want := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: cafev1alpha1.LabelCell, Operator: corev1.NodeSelectorOpIn, Values: []string{"CellA"}},
	}}}}
	if diff := cmp.Diff(want, required); diff != "" {
		t.Errorf("required affinity (-want +got):\n%s", diff)
	}
	if r.Set().Spec.Template.Spec.Affinity != nil {
		t.Error("the template of the spec has changed")
	}
}

// TestCountsAreToldOnceASecond: pods come and go faster than a status should be written. What turns a condition is told at once.
func TestCountsAreToldOnceASecond(t *testing.T) {
	r := enter(t, inCell(3))
	r.Settle()
	for _, moment := range []struct {
		says            string
		ready           []corev1.ConditionStatus // of each pod
		passes          time.Duration
		told, available int32
		wait            time.Duration
	}{
		{"the first pod that is down turns a condition", []corev1.ConditionStatus{"False", "True", "True"}, 0, 2, 2, 0},
		{"the next one is only counted", []corev1.ConditionStatus{"False", "False", "True"}, 0, 2, 1, time.Second},
		{"and still is, a moment later", []corev1.ConditionStatus{"False", "False", "True"}, 700 * time.Millisecond, 2, 1, 300 * time.Millisecond},
		{"it is told in the end", []corev1.ConditionStatus{"False", "False", "True"}, 300 * time.Millisecond, 1, 1, 0},
		{"that all are back turns the condition again", []corev1.ConditionStatus{"True", "True", "True"}, 0, 3, 3, 0},
	} {
		r.Clock.SetTime(r.Clock.Now().Add(moment.passes))
		for i, p := range r.Pods() {
			r.Must(r.Server.Modify("node", api.Pods, client.ObjectKeyFromObject(p), api.Status, func(o client.Object) { r.Run(o.(*corev1.Pod), moment.ready[i]) }))
		}
		if err := r.Pass(); err != nil {
			t.Fatal(err)
		}
		if got := r.Set().Status.AvailableReplicas; got != moment.told || r.Looked != moment.wait {
			t.Errorf("%s: %d available are told of %d, and it looks again in %s; want %d and %s",
				moment.says, got, moment.available, r.Looked, moment.told, moment.wait)
		}
	}
}

func TestASettledSetCausesNoWrite(t *testing.T) {
	r := enter(t, inCell(2).Traffic("lb"))
	r.Settle()
	r.takesOn("lb")
	before := len(r.Server.Log())
	if err := r.Pass(); err != nil || len(r.Server.Log()) != before {
		t.Errorf("error %v, %d writes", err, len(r.Server.Log())-before)
	}
}

// TestTheStatusCountsWhatIsObserved: each counter has a number of its own, so that none can be taken for another.
func TestTheStatusCountsWhatIsObserved(t *testing.T) {
	r := enter(t, inCell(6))
	r.Settle()
	first := r.Set().Status.CurrentRevision
	r.Clock.SetTime(r.Clock.Now().Add(2 * time.Minute))
	r.Edit(func(s *cafev1alpha1.InPlaceSet) {
		image(v2)(s)
		s.Spec.MinReadySeconds, s.Spec.Strategy.Partition = 60, ptr.To(intstr.FromInt32(3))
	})
	for range 3 { // one after the other is updated, and the last one is not available yet
		r.Clock.SetTime(r.Clock.Now().Add(time.Minute))
		r.Settle()
	}
	var down *corev1.Pod
	for _, p := range r.Pods() {
		since := pod.Condition(p, corev1.PodReady).LastTransitionTime
		if p.Spec.Containers[0].Image == v2 && (down == nil || since.Before(&pod.Condition(down, corev1.PodReady).LastTransitionTime)) {
			down = p
		}
	}
	r.Must(r.Server.Modify("node", api.Pods, client.ObjectKeyFromObject(down), api.Status, func(o client.Object) { r.Run(o.(*corev1.Pod), corev1.ConditionFalse) }))
	r.Clock.SetTime(r.Clock.Now().Add(2 * time.Second))
	if err := r.Pass(); err != nil {
		t.Fatal(err)
	}
	got := r.Set().Status
	want := cafev1alpha1.InPlaceSetStatus{
		ObservedGeneration: 2, Replicas: 6, ReadyReplicas: 5, AvailableReplicas: 4, UpdatedReplicas: 3, UpdatedReadyReplicas: 2, UpdatedAvailableReplicas: 1,
		CurrentRevision: first, UpdateRevision: got.UpdateRevision, LabelSelector: "app=web",
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(want, "Conditions")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got.UpdateRevision == first || got.UpdateRevision == "" {
		t.Errorf("the update revision is %q, and the current one %q", got.UpdateRevision, first)
	}
	r.Edit(func(s *cafev1alpha1.InPlaceSet) { s.Spec.MinReadySeconds, s.Spec.Strategy.Partition = 0, nil })
	r.Settle()
	if end := r.Set().Status; end.CurrentRevision != got.UpdateRevision || end.UpdatedReplicas != 6 {
		t.Errorf("at the end the current revision is %q of %q, with %d pods updated", end.CurrentRevision, got.UpdateRevision, end.UpdatedReplicas)
	}
}

// TestANameOfARevisionThatIsTakenIsCounted: the next one is called otherwise.
func TestANameOfARevisionThatIsTakenIsCounted(t *testing.T) {
	r := enter(t, inCell(1))
	r.Settle()
	name := r.Set().Status.UpdateRevision
	other := enter(t, inCell(1))
	other.Must(other.Server.Create("user", &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: stage.Web.Namespace, Name: name}, Revision: 1}))
	other.Settle()
	if s := other.Set().Status; s.UpdateRevision == name || ptr.Deref(s.CollisionCount, 0) != 1 || s.AvailableReplicas != 1 {
		t.Errorf("the revision is %s (taken: %s), the count %d, with %d pods", s.UpdateRevision, name, ptr.Deref(s.CollisionCount, 0), s.AvailableReplicas)
	}
}
