// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/node"
)

// drawTemplate is a template of three containers: app and log in an order, side outside of it. App reads a label.
func drawTemplate(t *rapid.T, ordered bool) *corev1.PodTemplateSpec {
	version := rapid.SampledFrom([]string{"v1", "v2", "v3", "v1-retag"})
	s := &corev1.PodTemplateSpec{}
	s.Labels = map[string]string{"tier": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tier"), "note": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "note")}
	for i, name := range []string{"app", "log", "side"} {
		c := corev1.Container{Name: name, Image: name + ":" + version.Draw(t, name)}
		if ordered && i < 2 {
			c.Env = append(c.Env, corev1.EnvVar{Name: "KRUISE_CONTAINER_PRIORITY", Value: fmt.Sprint(9 - i)})
		}
		s.Spec.Containers = append(s.Spec.Containers, c)
	}
	app, log := &s.Spec.Containers[0], &s.Spec.Containers[1]
	app.Env = append(app.Env, fromLabel("TIER", "tier"))
	log.Resources.Requests = amounts(rapid.SampledFrom([]string{"100m", "200m"}).Draw(t, "cpu"), rapid.SampledFrom([]string{"64Mi", "128Mi"}).Draw(t, "memory"))
	log.ResizePolicy = restartForMemory
	return revision.FromTemplate(s).Template
}

var restartForMemory = []corev1.ContainerResizePolicy{
	{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}, {ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer},
}

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func fromLabel(env, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: env, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + key + "']"}}}
}

// life is one pod with its node, and what was ever released.
type life struct {
	t         *rapid.T
	pod       *corev1.Pod
	templates []*corev1.PodTemplateSpec
	at        int // which template the pod is labelled with
	now       time.Time
	node      node.Model
}

// write makes the first n writes of the step, as a manager that dies does; 3 are all.
func (l *life) write(s step.UpdateInPlace, n int) {
	gate := func() corev1.ConditionStatus {
		return pod.Condition(l.pod, kruisev1alpha1.ConditionInPlaceUpdateReady).Status
	}
	part := step.UpdateInPlace{Drain: s.Drain}
	if n > 1 {
		part.Resize = s.Resize
	}
	if n > 2 {
		part.Patch = s.Patch
	}
	before := l.pod.DeepCopy()
	take(l.pod, part)
	restarts := len(part.Patch.Images) > 0
	for i, c := range before.Spec.Containers {
		memory := l.pod.Spec.Containers[i].Resources.Requests.Memory()
		restarts = restarts || c.Resources.Requests.Memory().Cmp(*memory) != 0
	}
	if restarts && gate() != corev1.ConditionFalse {
		l.t.Fatalf("containers change while the pod is in service: %+v", s)
	}
	if _, app := part.Patch.Images["app"]; app && len(l.templates[0].Spec.Containers[0].Env) > 1 {
		if _, log := part.Patch.Images["log"]; log {
			l.t.Fatal("app and log change at once, although they have an order")
		}
	}
}

// release brings the pod to the n-th template, when it can take that over.
func (l *life) release(n int, grace time.Duration, writes int) {
	d := inplace.Compare(l.templates[l.at], l.templates[n]).Onto(inplace.Strayed(l.pod, l.templates[l.at], l.templates))
	if len(d.Refusals) > 0 || len(d.Refused(l.pod)) > 0 {
		return
	}
	name := fmt.Sprintf("web-%d", n)
	s, err := inplace.Begin(l.pod, d, inplace.Aim{Revision: name, Label: name, Hash: fmt.Sprint(n)}, grace, l.now)
	if err != nil {
		l.t.Fatal(err)
	}
	l.write(s, writes)
	if writes > 2 {
		l.at = n
	}
}

// refresh does what a manager does for a pod without a newer version.
func (l *life) refresh(writes int) (done bool) {
	got, err := inplace.ProgressOf(l.pod, l.now)
	if err != nil {
		l.t.Fatal(err)
	}
	var s step.UpdateInPlace
	switch {
	case got.Holding && got.GraceLeft == 0:
		s, err = inplace.Resume(l.pod, l.now)
	case got.NextBatch:
		s, err = inplace.Advance(l.pod, l.now)
	case got.Finished:
		if !inplace.Strayed(l.pod, l.templates[l.at], l.templates).Empty() {
			l.release(l.at, 0, writes)
			return false
		}
		take(l.pod, step.UpdateInPlace{Drain: inplace.InService(l.pod, l.now)})
		l.runsItsSpec()
		return true
	default:
		return false
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.write(s, writes)
	return false
}

func (l *life) runsItsSpec() {
	for i, c := range l.pod.Spec.Containers {
		if st := l.pod.Status.ContainerStatuses[i]; st.Image != c.Image || st.Resources.Requests.Memory().Cmp(*c.Resources.Requests.Memory()) != 0 {
			l.t.Fatalf("in service while container %s runs %s with %v, not %s with %v", c.Name, st.Image, st.Resources.Requests, c.Image, c.Resources.Requests)
		}
	}
}

func (l *life) work() {
	l.now = l.now.Add(time.Second)
	if out := l.node.Next(l.pod, l.now); out.Status != nil {
		l.pod.Status = *out.Status
	}
}

func born(t *rapid.T) *life {
	l := &life{t: t, now: noon, node: node.Model{RestartDelay: time.Second, ReadyDelay: 2 * time.Second, ResizeDelay: time.Second}}
	l.node.NoGenerations = rapid.Bool().Draw(t, "a node that reports no generations")
	ordered := rapid.Bool().Draw(t, "ordered")
	for range 4 {
		l.templates = append(l.templates, drawTemplate(t, ordered))
	}
	l.pod = &corev1.Pod{Spec: *l.templates[0].Spec.DeepCopy()}
	l.pod.Name, l.pod.UID, l.pod.Generation, l.pod.Spec.NodeName = "web-x", "uid-x", 1, "node"
	l.pod.Annotations, l.pod.Labels = map[string]string{}, map[string]string{}
	for key, value := range l.templates[0].Labels {
		l.pod.Labels[key] = value
	}
	l.pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: kruisev1alpha1.ConditionInPlaceUpdateReady}}
	l.pod.Status.Conditions = []corev1.PodCondition{{Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionTrue}}
	for range rapid.IntRange(0, 10).Draw(t, "age") {
		l.work()
	}
	return l
}

func TestEveryContainerEndsWithTheNewestVersion(t *testing.T) { rapid.Check(t, endsWithTheNewest) }

// endsWithTheNewest: whatever supersedes what, in whatever state, and wherever the manager dies: the pod never changes while it
// serves, it serves only what it runs, and in the end it is what the last template that reached it says.
func endsWithTheNewest(t *rapid.T) {
	l := born(t)
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		writes := rapid.SampledFrom([]int{0, 1, 2, 3, 3, 3, 3}).Draw(t, "writes")
		switch rapid.IntRange(0, 5).Draw(t, "event") {
		case 0:
			l.release(rapid.IntRange(0, 3).Draw(t, "release"), time.Duration(rapid.IntRange(0, 2).Draw(t, "grace"))*time.Second, writes)
		case 1, 2:
			if len(l.pod.Status.ContainerStatuses) == 3 {
				l.refresh(writes)
			}
		default:
			l.work()
		}
	}
	for n := 0; ; n++ {
		l.work()
		if l.refresh(3) && n > 20 {
			break
		}
		if n > 200 {
			progress, _ := inplace.ProgressOf(l.pod, l.now)
			t.Fatalf("the update does not end: %s", progress.Waiting)
		}
	}
	want := l.templates[l.at]
	for i, c := range want.Spec.Containers {
		have := l.pod.Spec.Containers[i]
		if have.Image != c.Image || have.Resources.Requests.Cpu().Cmp(*c.Resources.Requests.Cpu()) != 0 || have.Resources.Requests.Memory().Cmp(*c.Resources.Requests.Memory()) != 0 {
			t.Errorf("container %s has %s with %v, want %s with %v", c.Name, have.Image, have.Resources.Requests, c.Image, c.Resources.Requests)
		}
	}
	for key, value := range want.Labels {
		if l.pod.Labels[key] != value {
			t.Errorf("label %s is %q, want %q", key, l.pod.Labels[key], value)
		}
	}
}
