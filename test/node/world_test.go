// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const gate corev1.PodConditionType = "example.com/gate"

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world is one pod on one node, with the API's habits that matter: it counts generations and
// keeps only what JSON keeps.
type world struct {
	t     tester
	model Model
	pod   *corev1.Pod
	now   time.Time
	gone  bool
	// seen has every status that was written, oldest first.
	seen []corev1.PodStatus
}

type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newWorld(t tester, model Model, images ...string) *world {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "0a1b", Generation: 1},
		Spec:       corev1.PodSpec{NodeName: "node-0", RestartPolicy: corev1.RestartPolicyAlways},
	}
	for i, image := range images {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: string(rune('a' + i)), Image: image})
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start), ObservedGeneration: 1},
	}}
	return &world{t: t, model: model, pod: pod, now: start}
}

// edit changes the spec as a client would.
func (w *world) edit(change func(spec *corev1.PodSpec)) {
	change(&w.pod.Spec)
	w.pod.Generation++
}

func (w *world) setGate(status corev1.ConditionStatus) {
	at := condition(w.pod.Status.Conditions, gate)
	if at < 0 {
		at = len(w.pod.Status.Conditions)
		w.pod.Status.Conditions = append(w.pod.Status.Conditions, corev1.PodCondition{Type: gate})
	}
	w.pod.Status.Conditions[at].Status = status
}

func (w *world) remove(grace int64) {
	w.pod.DeletionGracePeriodSeconds = &grace
	w.pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.now.Truncate(time.Second).Add(time.Duration(grace) * time.Second)))
}

// step asks the node once and writes what it says. It returns whether anything was written and the wait.
func (w *world) step() (bool, time.Duration) {
	w.t.Helper()
	before, err := json.Marshal(w.pod)
	if err != nil {
		w.t.Fatalf("encoding the pod: %v", err)
	}
	out := w.model.Next(w.pod, w.now)
	if after, _ := json.Marshal(w.pod); string(after) != string(before) {
		w.t.Fatalf("Next changed its argument:\n%s\n%s", before, after)
	}
	w.gone = out.Gone
	if out.Status == nil {
		return false, out.LookAgain
	}
	stored, err := json.Marshal(out.Status)
	if err != nil {
		w.t.Fatalf("encoding the status: %v", err)
	}
	w.pod.Status = corev1.PodStatus{}
	if err := json.Unmarshal(stored, &w.pod.Status); err != nil {
		w.t.Fatalf("decoding the status: %v", err)
	}
	w.seen = append(w.seen, *w.pod.Status.DeepCopy())
	return true, out.LookAgain
}

// settle runs the node for as long as it has something to do until the time has come.
func (w *world) settle(until time.Time) {
	w.t.Helper()
	for range 1000 {
		wrote, wait := w.step()
		switch {
		case w.gone, !wrote && wait == 0, !wrote && w.now.Add(wait).After(until):
			if !w.gone {
				w.now = until
			}
			return
		case !wrote:
			w.now = w.now.Add(wait)
		}
	}
	w.t.Fatalf("the node never comes to rest: %+v", w.pod.Status)
}

// after lets d pass.
func (w *world) after(d time.Duration) {
	w.t.Helper()
	w.settle(w.now.Add(d))
}

func (w *world) container(name string) corev1.ContainerStatus {
	w.t.Helper()
	for _, list := range [][]corev1.ContainerStatus{w.pod.Status.ContainerStatuses, w.pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return list[i]
			}
		}
	}
	w.t.Fatalf("no status of container %q", name)
	return corev1.ContainerStatus{}
}

func (w *world) ready() bool { return isTrue(w.pod.Status.Conditions, corev1.PodReady) }

func amounts(cpu string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}

func mustBe[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
