// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

var (
	anyImage = rapid.SampledFrom([]string{"app:v1", "app:v2", "app:v2-retag", "app:broken", "app:crash", "app:missing", "app:slow-3s"})
	anyDelay = rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond, time.Second, 4 * time.Second})
)

func anyWorld(t *rapid.T) *world {
	delay := func(label string) time.Duration { return anyDelay.Draw(t, label) }
	model := Model{
		StartDelay: delay("start"), InitDelay: delay("init"), ReadyDelay: delay("ready"), RestartDelay: delay("restart"),
		ResizeDelay: delay("resize"), ShutdownDelay: delay("shutdown"), CrashAfter: delay("crash"),
	}
	w := newWorld(t, model, rapid.SliceOfN(anyImage, 1, 3).Draw(t, "images")...)
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 999).Draw(t, "ms")) * time.Millisecond)
	for i := range w.pod.Spec.Containers {
		w.pod.Spec.Containers[i].Resources = amounts("1")
		if rapid.Bool().Draw(t, "restart to resize") {
			w.pod.Spec.Containers[i].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "inits") {
		c := corev1.Container{Name: string(rune('p' + len(w.pod.Spec.InitContainers))), Image: anyImage.Draw(t, "init image")}
		if rapid.Bool().Draw(t, "sidecar") {
			c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		w.pod.Spec.InitContainers = append(w.pod.Spec.InitContainers, c)
	}
	if rapid.Bool().Draw(t, "gated") {
		w.pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
	}
	return w
}

// disturb does one thing that users, controllers and time do to a pod.
func disturb(t *rapid.T, w *world) {
	container := func() *corev1.Container {
		return &w.pod.Spec.Containers[rapid.IntRange(0, len(w.pod.Spec.Containers)-1).Draw(t, "container")]
	}
	switch rapid.IntRange(0, 5).Draw(t, "disturbance") {
	case 0:
		image := anyImage.Draw(t, "image")
		w.edit(func(*corev1.PodSpec) { container().Image = image })
	case 1:
		cpu := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "cpu")
		w.edit(func(*corev1.PodSpec) { container().Resources = amounts(cpu) })
	case 2:
		w.setGate(rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "gate"))
	default:
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 6000).Draw(t, "pass")) * time.Millisecond)
	}
}

func TestInEveryHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			disturb(t, w)
			before := w.pod.Status.DeepCopy()
			if again := w.model.Next(w.pod, w.now); !cmp.Equal(again, w.model.Next(w.pod, w.now)) {
				t.Fatalf("two answers to one question")
			}
			wrote, _ := w.step()
			checkConditions(t, w, before)
			checkContainers(t, w, before)
			if wrote && w.pod.Status.ObservedGeneration != w.pod.Generation {
				t.Fatalf("observedGeneration is %d of %d", w.pod.Status.ObservedGeneration, w.pod.Generation)
			}
		}
	})
}

func checkConditions(t *rapid.T, w *world, before *corev1.PodStatus) {
	foreign := func(status *corev1.PodStatus) []corev1.PodCondition {
		var list []corev1.PodCondition
		for _, c := range status.Conditions {
			if c.Type == gate || c.Type == corev1.PodScheduled {
				list = append(list, c)
			}
		}
		return list
	}
	if diff := cmp.Diff(foreign(before), foreign(&w.pod.Status)); diff != "" {
		t.Fatalf("the node touched a condition that is not its own:\n%s", diff)
	}
	want := isTrue(w.pod.Status.Conditions, corev1.ContainersReady)
	for _, g := range w.pod.Spec.ReadinessGates {
		want = want && isTrue(w.pod.Status.Conditions, g.ConditionType)
	}
	if w.ready() != want {
		t.Fatalf("Ready is %v where containers and gates say %v", w.ready(), want)
	}
	for i := range w.pod.Status.Conditions {
		now := &w.pod.Status.Conditions[i]
		at := condition(before.Conditions, now.Type)
		if at >= 0 && before.Conditions[at].Status == now.Status && !before.Conditions[at].LastTransitionTime.Equal(&now.LastTransitionTime) {
			t.Fatalf("%s: the transition time moved without a transition", now.Type)
		}
	}
}

func checkContainers(t *rapid.T, w *world, before *corev1.PodStatus) {
	if before.PodIP != "" && before.PodIP != w.pod.Status.PodIP {
		t.Fatalf("the pod's IP changed from %s to %s", before.PodIP, w.pod.Status.PodIP)
	}
	allReady := true
	for i := range w.pod.Status.ContainerStatuses {
		now := &w.pod.Status.ContainerStatuses[i]
		old := find(before.ContainerStatuses, &w.pod.Spec.Containers[i])
		allReady = allReady && now.Ready
		renewed := old.ContainerID != "" && old.ContainerID != now.ContainerID
		if renewed != (now.RestartCount == old.RestartCount+1) || !renewed && now.RestartCount != old.RestartCount {
			t.Fatalf("container %s: restarts went from %d to %d with ids %q and %q", now.Name, old.RestartCount, now.RestartCount, old.ContainerID, now.ContainerID)
		}
		if renewed && old.State.Running != nil {
			last := now.LastTerminationState.Terminated
			if w.model.RestartDelay > 0 || last == nil || last.ContainerID != old.ContainerID {
				t.Fatalf("container %s was replaced without being seen stopped", now.Name)
			}
		}
		if now.Ready && (now.State.Running == nil || now.ContainerID == "" || now.ImageID != imageID(now.Image)) {
			t.Fatalf("container %s is ready without running: %+v", now.Name, now)
		}
	}
	if isTrue(w.pod.Status.Conditions, corev1.ContainersReady) && !allReady {
		t.Fatalf("ContainersReady with a container that is not")
	}
}

func TestLeftAloneEveryPodComesToRestAsItsSpecSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		for range rapid.IntRange(0, 20).Draw(t, "length") {
			disturb(t, w)
			w.step()
		}
		healthy := true
		for i := range w.pod.Spec.InitContainers {
			w.pod.Spec.InitContainers[i].Image = "init:v1"
		}
		for i := range w.pod.Spec.Containers {
			will := behaviourOf(w.pod.Spec.Containers[i].Image)
			healthy = healthy && !will.broken && !will.crash && !will.missing
		}
		w.edit(func(*corev1.PodSpec) {})
		w.setGate(corev1.ConditionTrue)
		w.after(20 * time.Minute)
		if w.ready() != healthy {
			t.Fatalf("ready is %v, but the images say %v: %s", w.ready(), healthy, tell(&w.pod.Status))
		}
		for i := range w.pod.Spec.Containers {
			if st := w.container(w.pod.Spec.Containers[i].Name); healthy && (st.Image != w.pod.Spec.Containers[i].Image || resourcesDiffer(&w.pod.Spec.Containers[i], &st)) {
				t.Fatalf("container %s runs %s", st.Name, st.Image)
			}
		}
		w.remove(rapid.Int64Range(0, 10).Draw(t, "grace"))
		asked := w.now
		w.after(time.Minute)
		if grace := time.Duration(*w.pod.DeletionGracePeriodSeconds) * time.Second; !w.gone || w.now.Sub(asked) > grace {
			t.Fatalf("gone is %v after %s of %s", w.gone, w.now.Sub(asked), grace)
		}
	})
}

func TestThePatchMakesTheStatusAndSparesOthersConditions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		for range rapid.IntRange(0, 10).Draw(t, "length") {
			disturb(t, w)
			w.step()
		}
		disturb(t, w)
		out := w.model.Next(w.pod, w.now)
		if out.Status == nil {
			return
		}
		patch, err := Patch(w.pod, out.Status)
		if err != nil {
			t.Fatalf("making the patch: %v", err)
		}
		stored := w.pod.DeepCopy()
		late := corev1.PodCondition{Type: "example.com/late", Status: corev1.ConditionTrue}
		stored.Status.Conditions = append(stored.Status.Conditions, late)
		before, err := json.Marshal(stored)
		if err != nil {
			t.Fatalf("encoding: %v", err)
		}
		after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
		if err != nil {
			t.Fatalf("applying %s: %v", patch, err)
		}
		var got corev1.Pod
		if err := json.Unmarshal(after, &got); err != nil {
			t.Fatalf("decoding: %v", err)
		}
		if condition(got.Status.Conditions, late.Type) < 0 {
			t.Fatalf("a condition written meanwhile is lost: %s", patch)
		}
		for _, want := range out.Status.Conditions {
			at := condition(got.Status.Conditions, want.Type)
			if at < 0 || got.Status.Conditions[at].Status != want.Status {
				t.Fatalf("%s: condition %s did not arrive", patch, want.Type)
			}
		}
		got.Status.Conditions, out.Status.Conditions = nil, nil
		if diff := cmp.Diff(mustJSON(t, out.Status), mustJSON(t, &got.Status)); diff != "" {
			t.Fatalf("the patched status differs (-want +got):\n%s", diff)
		}
	})
}

func mustJSON(t *rapid.T, status *corev1.PodStatus) string {
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatalf("encoding: %v", err)
	}
	return string(text)
}
