// SPDX-License-Identifier: Apache-2.0

package cafe_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/golden"
)

// TestRelease tells by its writes and events how each kind of pod set is created, released to and scaled down.
func TestRelease(t *testing.T) {
	for _, kind := range []cafev1alpha1.PodSetType{
		cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType,
		cafev1alpha1.CloneSetPodSetType, cafev1alpha1.AdvancedStatefulSetPodSetType,
	} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t, deployment(kind, 4, "A", "B"))
			var story []string
			tell := func(moment string) {
				story = append(append(story, "# "+moment), w.settle()...)
				story = append(story, w.told()...)
			}
			tell("created")
			w.edit(image("v2"))
			tell("a new image")
			w.edit(func(d *cafev1alpha1.CafeDeployment) { d.Spec.Replicas = ptr.To[int32](2) })
			tell("fewer replicas")
			w.edit(func(d *cafev1alpha1.CafeDeployment) { d.Spec.Topology.Values = []string{"B"} })
			tell("a unit less")
			golden.Lines(t, string(kind)+".txt", story)
			if got := w.settle(); len(got) > 0 {
				t.Errorf("a deployment at rest causes writes: %v", got)
			}
		})
	}
}

func TestAGroupWaitsForAPersonAndBeginsUponOneConfirmation(t *testing.T) {
	d := deployment(cafev1alpha1.CloneSetPodSetType, 6, "A", "B")
	d.Spec.Strategy.NeedWaitingForConfirm = true
	w := newWorld(t, d)
	for group, pods := range []int32{2, 4, 6} {
		w.settle()
		now := w.deployment()
		if now.Status.Replicas != pods {
			t.Fatalf("after %d confirmations there are %d pods, want %d", group, now.Status.Replicas, pods)
		}
		waits := now.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed] == "false" && now.Status.Phase == cafev1alpha1.WaitingForConfirmPhase
		if last := pods == 6; waits == last {
			t.Errorf("with %d pods it waits: %v (phase %s)", pods, waits, now.Status.Phase)
		}
		w.edit(func(d *cafev1alpha1.CafeDeployment) {
			if d.Annotations == nil {
				d.Annotations = map[string]string{}
			}
			d.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed] = "true"
		})
	}
	if told := strings.Join(w.told(), "\n"); strings.Count(told, "WaitingForConfirm") != 2 || strings.Count(told, "Confirmed") != 2 {
		t.Errorf("people are told:\n%s", told)
	}
}

// TestADeploymentThatIsOlderThanEveryDefaultWorks: what the schema would have filled in is read as if it were there.
func TestADeploymentThatIsOlderThanEveryDefaultWorks(t *testing.T) {
	d := deployment("", 0, "A", "B")
	d.Spec.Replicas, d.Spec.Strategy, d.Spec.Topology.UnitType = nil, cafev1alpha1.CafeDeploymentStrategy{}, ""
	w := newWorld(t, d)
	w.settle()
	sets := w.sets()
	if len(sets) != 1 {
		t.Fatalf("there are %d pod sets, want one for one pod", len(sets))
	}
	set, is := sets[0].(*cafev1alpha1.InPlaceSet)
	if !is || set.Name != "web-a" || *set.Spec.Replicas != 1 || set.Spec.DeployUnit != "A" {
		t.Errorf("got %T %s with %+v", sets[0], sets[0].GetName(), set)
	}
	if got := w.deployment().Status.Phase; got != cafev1alpha1.StablePhase {
		t.Errorf("phase %s", got)
	}
}

// TestAPodSetBelongsToItsDeployment: what is written on each pod set, so that people and programs find it.
func TestAPodSetBelongsToItsDeployment(t *testing.T) {
	for kind, name := range map[cafev1alpha1.PodSetType]string{cafev1alpha1.CloneSetPodSetType: "web-cell-a", cafev1alpha1.ReplicaSetPodSetType: "web-cell-a-r1"} {
		w := newWorld(t, deployment(kind, 2, "Cell_A"))
		w.settle()
		sets := w.sets()
		if len(sets) != 1 {
			t.Fatalf("%s: there are %d pod sets", kind, len(sets))
		}
		set := sets[0]
		if got := w.plain(set.GetName()); got != name {
			t.Errorf("%s: it is called %s, want %s", kind, got, name)
		}
		if !metav1.IsControlledBy(set, w.deployment()) {
			t.Errorf("%s: it is controlled by %v", kind, set.GetOwnerReferences())
		}
		want := map[string]string{"app": "web", cafev1alpha1.LabelUnit: "Cell_A", cafev1alpha1.LabelCafeDeployment: "web"}
		versioned := kind == cafev1alpha1.ReplicaSetPodSetType
		if versioned {
			want[cafev1alpha1.LabelRevision] = strings.TrimPrefix(set.GetName(), "web-cell-a-")
		}
		if diff := cmp.Diff(want, set.GetLabels()); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", kind, diff)
		}
		pods := templateOf(set).Labels
		delete(want, cafev1alpha1.LabelCafeDeployment)
		if diff := cmp.Diff(want, pods); diff != "" {
			t.Errorf("%s: labels of pods (-want +got):\n%s", kind, diff)
		}
		if got := set.GetAnnotations()[cafev1alpha1.AnnotationRevision]; got != w.deployment().Status.UpdateRevision {
			t.Errorf("%s: its template is of revision %q", kind, got)
		}
		if got := set.GetAnnotations()[cafev1alpha1.AnnotationUnitReplicas]; versioned && got != "2" {
			t.Errorf("%s: the unit is told to have %q pods", kind, got)
		}
	}
}

// A manager that dies anywhere leaves nothing that the next one does not understand.
func TestACrashAtAnyWriteChangesNothingAboutTheEnd(t *testing.T) {
	final := func(crashAt int) (picture string, writes int) {
		d := deployment(cafev1alpha1.InPlaceSetPodSetType, 3, "A", "B")
		d.Spec.Strategy.UpgradeType, d.Spec.Strategy.BatchSize = cafev1alpha1.BetaUpgradeType, nil
		w := newWorld(t, d)
		n := 0
		w.fail = func(string, client.Object) error {
			if n++; n == crashAt {
				return errors.New("the connection is lost")
			}
			return nil
		}
		for _, change := range []func(*cafev1alpha1.CafeDeployment){nil, image("v2"), image("v1")} {
			if change != nil {
				w.edit(change)
			}
			for quiet, last := 0, ""; quiet < 3; quiet++ {
				_, _ = w.look() // the failure is the point
				w.play()
				w.clock.SetTime(w.clock.Now().Add(11 * time.Second))
				if now := fmt.Sprint(n, w.deployment().ResourceVersion); now != last {
					quiet, last = 0, now
				}
			}
		}
		for _, set := range w.sets() {
			shown := w.kind().Show(set, nil, w.clock.Now())
			picture += " " + set.GetName() + " " + templateOf(set).Spec.Containers[0].Image + " " + strings.Repeat("|", shown.Updated)
		}
		return picture, n
	}
	want, writes := final(0)
	if !strings.Contains(want, "web-a registry.test/app:v1 || web-b registry.test/app:v1 |") {
		t.Fatalf("without a crash: %s", want)
	}
	for n := 1; n <= writes; n++ {
		if got, _ := final(n); got != want {
			t.Errorf("after a crash at write %d: %s, want %s", n, got, want)
		}
	}
}

// lost is a pod of A's CloneSet that has found no node until now.
func (w *world) lost() *corev1.Pod {
	w.t.Helper()
	set := w.sets()[0]
	lost := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: builders.Namespace, Name: "web-a-lost", Labels: map[string]string{cafev1alpha1.LabelUnit: "A"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: set.GetName(), UID: set.GetUID(), Controller: ptr.To(true)}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(w.clock.Now()),
		}}},
	}
	if err := w.client.Create(w.t.Context(), lost); err != nil {
		w.t.Fatal(err)
	}
	return lost
}

func TestAPodWithoutANodeMovesItsQuota(t *testing.T) {
	d := deployment(cafev1alpha1.CloneSetPodSetType, 4, "A", "B")
	d.Spec.Topology.AutoReschedule.Enable = true
	w := newWorld(t, d)
	w.settle()
	lost := w.lost()
	result, err := w.look()
	if err != nil || result.RequeueAfter != 10*time.Second {
		t.Errorf("before its time: %v, %v", result, err)
	}
	w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
	for range 3 { // the decision is written, the shortage is over, and then the pod set loses the pod
		if _, err := w.look(); err != nil {
			t.Fatal(err)
		}
	}
	if asked := w.kind().Show(w.sets()[0], nil, w.clock.Now()).Asked; asked != 1 {
		t.Errorf("A is asked for %d pods, want 1", asked)
	}
	if err := w.client.Delete(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	if got := w.sets(); w.kind().Show(got[1], nil, w.clock.Now()).Asked != 3 {
		t.Error("B is not asked for the pod")
	}
	if got := w.settle(); len(got) > 0 {
		t.Errorf("there was nothing else to do: %v", got)
	}
	moves := "Normal Rescheduled unit A gives the quota of 1 pod up to unit B: the pod has found no node for 10s"
	if told := w.told(); !slices.Contains(told, moves) {
		t.Errorf("events are %q, want %q among them", told, moves)
	}
	if units := w.deployment().Status.Units; units[0].RescheduledOut != 1 || units[1].RescheduledIn != 1 || units[0].ShortUntil == nil {
		t.Errorf("the status tells %+v", units)
	}
}

func TestARefusedViewIsLookedAtAgainAndIsNoError(t *testing.T) {
	w := newWorld(t, deployment(cafev1alpha1.CloneSetPodSetType, 4, "A", "B"))
	w.settle()
	w.edit(image("v2"))
	w.fail = func(verb string, o client.Object) error {
		if verb == "patch" {
			return conflict(o)
		}
		return nil
	}
	for range 5 {
		result, err := w.look()
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter == time.Second {
			return
		}
	}
	t.Error("no pass was refused")
}

// TestANameThatIsTakenIsPassedOver: who has the name of a pod set keeps it, and the unit gets its pods all the same.
func TestANameThatIsTakenIsPassedOver(t *testing.T) {
	theirs := &cafev1alpha1.InPlaceSet{ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: "web-a", UID: "theirs"}}
	w := newWorld(t, deployment(cafev1alpha1.InPlaceSetPodSetType, 2, "A", "B"), theirs)
	for range 4 { // the server says that the name is taken
		_, _ = w.look()
	}
	w.settle()
	names := map[string]bool{}
	for _, set := range w.sets() {
		names[set.GetName()] = metav1.IsControlledBy(set, w.deployment())
	}
	if diff := cmp.Diff(map[string]bool{"web-a": false, "web-a-0b933d81": true, "web-b": true}, names); diff != "" {
		t.Errorf("pod sets, and whether they are ours (-want +got):\n%s", diff)
	}
}
