// SPDX-License-Identifier: Apache-2.0

package cafe_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// TestPeopleAreToldWhichGroupWaits: by the annotation, by a condition and by an event.
func TestPeopleAreToldWhichGroupWaits(t *testing.T) {
	d := deployment(cafev1alpha1.InPlaceSetPodSetType, 6, "A", "B")
	d.Spec.Strategy.NeedWaitingForConfirm = true
	w := newWorld(t, d)
	w.settle()
	now := w.deployment()
	if got := now.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed]; got != "false" {
		t.Errorf("the annotation is %q", got)
	}
	const which = "group 1 of 3 is done; group 2 of 3 (1 pod in A, 1 pod in B) waits until annotation cafe.sofastack.io/upgrade-confirmed is set to \"true\""
	said := map[cafev1alpha1.ConditionType]string{}
	for _, c := range now.Status.Conditions {
		said[c.Type] = fmt.Sprint(c.Status, " ", c.Reason, ": ", c.Message)
	}
	if got, want := said[cafev1alpha1.ConditionWaitingForConfirm], "True GroupDone: "+which; got != want {
		t.Errorf("the condition is %q, want %q", got, want)
	}
	if got, want := said[cafev1alpha1.ConditionProgressing], "False WaitingForConfirm: "+which; got != want {
		t.Errorf("Progressing is %q, want %q", got, want)
	}
	if told, want := w.told(), "Normal WaitingForConfirm group 1 of 3 is done: group 2 of 3 waits for a confirmation"; !slices.Contains(told, want) {
		t.Errorf("events are %q, want %q among them", told, want)
	}
}

func TestConditionsSayWhatIsWaitedFor(t *testing.T) {
	type want struct{ kind, status, reason, message string }
	for sentence, c := range map[string]struct {
		edit func(*cafev1alpha1.CafeDeployment)
		fail func(string, client.Object) error
		want []want
	}{
		"the spec is reached": {nil, nil, []want{
			{"Ready", "True", "SpecReached", "4 pods available, 4 of them updated"},
			{"TopologyValid", "True", "SplitAddsUp", "A 2, B 2"}, {"Progressing", "False", "Complete", ""}, {"Available", "True", "", ""},
			{"WaitingForConfirm", "False", "NoGroupWaits", ""},
		}},
		"an impossible split": {
			func(d *cafev1alpha1.CafeDeployment) {
				d.Spec.Topology.UnitReplicas = cafev1alpha1.UnitReplicas{"A": intstr.FromInt32(5)}
			}, nil, []want{
				{"TopologyValid", "False", "InvalidSplit", "unitReplicas ask for 5 pods (A 5), and replicas is 4"},
				{"Stalled", "True", "InvalidSplit", ""}, {"Ready", "False", "InvalidSplit", ""},
			},
		},
		"a selector that does not match": {
			func(d *cafev1alpha1.CafeDeployment) { d.Spec.Template.Labels = map[string]string{"app": "other"} }, nil,
			[]want{{"Stalled", "True", "InvalidSpec", "spec.selector app=web does not match the labels of spec.template"}},
		},
		"a pause": {
			func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = true; image("v2")(d) }, nil,
			[]want{{"Progressing", "False", "Paused", "strategy.pause: nothing new begins"}, {"Ready", "False", "Paused", ""}},
		},
		"a refused write": {
			image("v2"), func(verb string, o client.Object) error {
				if verb == "patch" && o.GetName() == "web-a" {
					return errors.New("denied by policy")
				}
				return nil
			},
			[]want{{"Progressing", "True", "WriteFailed", "patching pod set web-a: denied by policy"}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, deployment(cafev1alpha1.CloneSetPodSetType, 4, "A", "B"))
			w.settle()
			if c.fail != nil {
				w.fail = c.fail
			}
			if c.edit != nil {
				w.edit(c.edit)
			}
			for range 8 {
				_, _ = w.look() // what fails is told by the conditions
				w.play()
				w.clock.SetTime(w.clock.Now().Add(time.Second))
			}
			got := map[string]cafev1alpha1.Condition{}
			for _, condition := range w.deployment().Status.Conditions {
				got[string(condition.Type)] = condition
			}
			for _, want := range c.want {
				is := got[want.kind]
				if string(is.Status) != want.status || want.reason != "" && is.Reason != want.reason || !strings.Contains(is.Message, want.message) {
					t.Errorf("%s is %s, %s: %q; want %v", want.kind, is.Status, is.Reason, is.Message, want)
				}
			}
		})
	}
}

// TestUnitsInTroubleAreTold: units that lack pods, and one that has no room and keeps its number all the same.
func TestUnitsInTroubleAreTold(t *testing.T) {
	d := deployment(cafev1alpha1.CloneSetPodSetType, 4, "A", "B")
	d.Spec.Topology.AutoReschedule.Enable = true
	d.Spec.Topology.UnitReplicas = cafev1alpha1.UnitReplicas{"A": intstr.FromInt32(2)}
	w := newWorld(t, d)
	w.settle()
	w.lost()
	w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
	for i, set := range w.sets() {
		setStatus(set, 2, 2)
		set.(*kruisev1alpha1.CloneSet).Status.AvailableReplicas = []int32{1, 0}[i]
		if err := w.client.Status().Update(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // first it is put in writing that the unit is short
		if _, err := w.look(); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(time.Second))
	}
	want := map[cafev1alpha1.ConditionType]string{
		cafev1alpha1.ConditionAvailable:   "False UnitsLackPods: unit A has 1 of 2 pods available; unit B has 0 of 2 pods available",
		cafev1alpha1.ConditionProgressing: "False UnitFull: unit A has no room for 1 pod, and unitReplicas fixes its number",
		cafev1alpha1.ConditionReady:       "False Blocked: 1 of 4 pods available, 4 updated; unit A has no room for 1 pod, and unitReplicas fixes its number",
	}
	for _, c := range w.deployment().Status.Conditions {
		if got := fmt.Sprint(c.Status, " ", c.Reason, ": ", c.Message); want[c.Type] != "" && got != want[c.Type] {
			t.Errorf("%s is %q, want %q", c.Type, got, want[c.Type])
		}
		delete(want, c.Type)
	}
	if len(want) > 0 {
		t.Errorf("nothing is said of %v", want)
	}
}

// TestCountsAreToldOnceASecond: the pods of many sets come and go faster than a status should be written. What is decided is
// written at once.
func TestCountsAreToldOnceASecond(t *testing.T) {
	w := newWorld(t, deployment(cafev1alpha1.CloneSetPodSetType, 6, "A", "B"))
	w.edit(func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.BatchSize = nil })
	w.settle()
	down := func(pods ...int32) {
		for i, set := range w.sets() {
			setStatus(set, 3, 3)
			set.(*kruisev1alpha1.CloneSet).Status.AvailableReplicas -= pods[i]
			if err := w.client.Status().Update(t.Context(), set); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, moment := range []struct {
		says   string
		down   []int32
		passes time.Duration
		told   int32
		wait   time.Duration
	}{
		{"the first pod that is down changes the phase", []int32{1, 0}, 0, 5, 0},
		{"others are only counted", []int32{1, 2}, 0, 5, time.Second},
		{"and told in the end", []int32{1, 2}, time.Second, 3, 0},
		{"also when they come back", []int32{1, 1}, 400 * time.Millisecond, 3, 600 * time.Millisecond},
		{"the spec is reached at once", []int32{0, 0}, 0, 6, 0},
	} {
		w.clock.SetTime(w.clock.Now().Add(moment.passes))
		down(moment.down...)
		result, err := w.look()
		if err != nil {
			t.Fatal(err)
		}
		if got := w.deployment().Status.AvailableReplicas; got != moment.told || result.RequeueAfter != moment.wait {
			t.Errorf("%s: %d available are told, and it looks again in %s; want %d and %s", moment.says, got, result.RequeueAfter, moment.told, moment.wait)
		}
	}
}

func TestAGroupOnItsWayIsTold(t *testing.T) {
	w := newWorld(t, deployment(cafev1alpha1.CloneSetPodSetType, 4, "A", "B"))
	w.settle()
	w.edit(image("v2"))
	for range 8 {
		if _, err := w.look(); err != nil {
			t.Fatal(err)
		}
		if w.deployment().Status.CurrentGroup == 0 { // the pod sets take the template on, and nothing of the first group
			w.play()
		}
		w.clock.SetTime(w.clock.Now().Add(time.Second))
	}
	const want = "group 1 of 2: unit A has 0 of 1 pod available on revision r2, unit B has 0 of 1 pod available on revision r2"
	for _, c := range w.deployment().Status.Conditions {
		if got := w.plain(c.Message); c.Type == cafev1alpha1.ConditionProgressing && (c.Status != "True" || strings.ReplaceAll(got, "web-r2", "r2") != want) {
			t.Errorf("Progressing is %s: %q, want %q", c.Status, got, want)
		}
	}
}
