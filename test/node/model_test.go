// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// tell says a status in one line: phase, each container, the conditions that are True.
func tell(status *corev1.PodStatus) string {
	var parts []string
	list := append(append([]corev1.ContainerStatus{}, status.InitContainerStatuses...), status.ContainerStatuses...)
	for i := range list {
		c := &list[i]
		state := "?"
		switch {
		case c.State.Waiting != nil:
			state = c.State.Waiting.Reason
		case c.State.Running != nil:
			state = "running"
		case c.State.Terminated != nil:
			state = fmt.Sprintf("exit %d", c.State.Terminated.ExitCode)
		}
		_, tag, _ := split(c.Image)
		if c.Ready {
			state += " ready"
		}
		parts = append(parts, fmt.Sprintf("%s:%s %s #%d", c.Name, tag, state, c.RestartCount))
	}
	var conditions []string
	for i := range status.Conditions {
		if status.Conditions[i].Status == corev1.ConditionTrue && status.Conditions[i].Type != corev1.PodScheduled {
			conditions = append(conditions, string(status.Conditions[i].Type))
		}
	}
	return fmt.Sprintf("%s | %s | %s", status.Phase, strings.Join(parts, ", "), strings.Join(conditions, " "))
}

func cpu(list corev1.ResourceList) string { return list.Cpu().String() }

func TestWhatANodeReports(t *testing.T) {
	const up = "PodReadyToStartContainers Initialized"
	setImage := func(name, image string) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
				for i := range list {
					if list[i].Name == name {
						list[i].Image = image
					}
				}
			}
		}
	}
	for name, tc := range map[string]struct {
		model Model
		story func(w *world)
		want  []string
	}{
		"a pod on a fast node is ready with one write": {
			story: func(w *world) { w.after(0) },
			want:  []string{"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready"},
		},
		"delays show as ContainerCreating, then running, then ready": {
			model: Model{StartDelay: 2 * time.Second, ReadyDelay: 3 * time.Second},
			story: func(w *world) { w.after(time.Minute) },
			want: []string{
				"Pending | a:v1 ContainerCreating #0 | Initialized",
				"Running | a:v1 running #0 | " + up,
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
			},
		},
		"a gate without a condition keeps the pod not ready until somebody sets it": {
			story: func(w *world) {
				w.pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
				w.after(time.Minute)
				w.setGate(corev1.ConditionTrue)
				w.after(time.Minute)
				w.setGate(corev1.ConditionFalse)
				w.after(time.Minute)
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady",
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready example.com/gate",
				"Running | a:v1 running ready #0 | " + up + " ContainersReady",
			},
		},
		"a changed image is acknowledged while the old one is ready, then stopped, then replaced": {
			model: Model{RestartDelay: 2 * time.Second},
			story: func(w *world) {
				w.after(time.Minute)
				w.edit(setImage("a", "app:v2"))
				w.after(time.Minute)
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Running | a:v1 exit 0 #0 | " + up,
				"Running | a:v2 running ready #1 | " + up + " ContainersReady Ready",
			},
		},
		"a changed image on a node that restarts in no time is acknowledged and replaced in one report": {
			story: func(w *world) {
				w.after(time.Minute)
				w.edit(setImage("a", "app:v2"))
				w.after(time.Minute)
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Running | a:v2 running ready #1 | " + up + " ContainersReady Ready",
			},
		},
		"an image that is missing stops the old container, and its fix starts at once": {
			story: func(w *world) {
				w.after(time.Minute)
				w.edit(setImage("a", "app:missing"))
				w.after(time.Minute)
				w.edit(setImage("a", "app:v3"))
				w.after(time.Minute)
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Running | a:v1 ErrImagePull #0 | " + up,
				"Running | a:v1 ImagePullBackOff #0 | " + up,
				"Running | a:v3 running ready #1 | " + up + " ContainersReady Ready",
			},
		},
		"a new pod whose image is missing stays pending, and its first start is no restart": {
			story: func(w *world) {
				w.edit(setImage("a", "app:missing"))
				w.after(time.Minute)
				w.edit(setImage("a", "app:v2"))
				w.after(time.Minute)
			},
			want: []string{
				"Pending | a:missing ErrImagePull #0 | " + up,
				"Pending | a:missing ImagePullBackOff #0 | " + up,
				"Running | a:v2 running ready #0 | " + up + " ContainersReady Ready",
			},
		},
		"a broken image runs and is never ready": {
			story: func(w *world) {
				w.edit(setImage("a", "app:v2-broken"))
				w.after(time.Hour)
			},
			want: []string{"Running | a:v2-broken running #0 | " + up},
		},
		"a slow image is ready after its seconds": {
			story: func(w *world) {
				w.edit(setImage("a", "app:slow-30s"))
				w.after(29 * time.Second)
				mustBe(t, "ready after 29 s", w.ready(), false)
				w.after(time.Second)
			},
			want: []string{
				"Running | a:slow-30s running #0 | " + up,
				"Running | a:slow-30s running ready #0 | " + up + " ContainersReady Ready",
			},
		},
		"init containers complete in order before the main ones, sidecars stay": {
			model: Model{InitDelay: time.Second},
			story: func(w *world) {
				w.pod.Spec.InitContainers = []corev1.Container{
					{Name: "first", Image: "init:1"},
					{Name: "side", Image: "side:1", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
					{Name: "second", Image: "init:slow-5s"},
				}
				w.after(time.Minute)
				w.edit(setImage("side", "side:2"))
				w.after(time.Minute)
			},
			want: []string{
				"Pending | first:1 running #0, side:1 PodInitializing #0, second:slow-5s PodInitializing #0, a:v1 PodInitializing #0 | PodReadyToStartContainers",
				"Pending | first:1 exit 0 ready #0, side:1 running ready #0, second:slow-5s running #0, a:v1 PodInitializing #0 | PodReadyToStartContainers",
				"Running | first:1 exit 0 ready #0, side:1 running ready #0, second:slow-5s exit 0 ready #0, a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Running | first:1 exit 0 ready #0, side:2 running ready #1, second:slow-5s exit 0 ready #0, a:v1 running ready #0 | " + up + " ContainersReady Ready",
			},
		},
		"an init container that fails for ever keeps the pod pending, and for a pod that never restarts fails it": {
			story: func(w *world) {
				w.pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "init:crash"}}
				w.pod.Spec.RestartPolicy = corev1.RestartPolicyNever
				w.after(time.Minute)
			},
			want: []string{
				"Pending | first:crash running #0, a:v1 PodInitializing #0 | PodReadyToStartContainers",
				"Failed | first:crash exit 1 #0, a:v1 PodInitializing #0 | ",
			},
		},
		"environment and labels restart nothing, the generation is acknowledged": {
			story: func(w *world) {
				w.after(time.Minute)
				w.pod.Labels = map[string]string{"new": "label"}
				w.after(time.Minute)
				w.edit(func(spec *corev1.PodSpec) { spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}} })
				w.after(time.Minute)
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
			},
		},
		"a resize goes through PodResizeInProgress without a restart": {
			model: Model{ResizeDelay: 2 * time.Second},
			story: func(w *world) {
				w.pod.Spec.Containers[0].Resources = amounts("1")
				w.after(time.Minute)
				w.edit(func(spec *corev1.PodSpec) { spec.Containers[0].Resources = amounts("2") })
				w.after(time.Second)
				mustBe(t, "allocated CPU on the way", cpu(w.container("a").AllocatedResources), "2")
				mustBe(t, "actual CPU on the way", cpu(w.container("a").Resources.Requests), "1")
				w.after(time.Minute)
				mustBe(t, "actual CPU", cpu(w.container("a").Resources.Requests), "2")
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready PodResizeInProgress",
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
			},
		},
		"a resize restarts the container where its policy says so": {
			story: func(w *world) {
				w.pod.Spec.Containers[0].Resources = amounts("1")
				w.pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
				w.after(time.Minute)
				w.edit(func(spec *corev1.PodSpec) { spec.Containers[0].Resources = amounts("2") })
				w.after(time.Minute)
				mustBe(t, "actual CPU", cpu(w.container("a").Resources.Requests), "2")
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready PodResizeInProgress",
				"Running | a:v1 exit 0 #0 | " + up + " PodResizeInProgress",
				"Running | a:v1 running ready #1 | " + up + " ContainersReady Ready",
			},
		},
		"a resize beyond the node is infeasible and changes nothing, also at the next restart": {
			model: Model{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}},
			story: func(w *world) {
				w.pod.Spec.Containers[0].Resources = amounts("1")
				w.after(time.Minute)
				w.edit(func(spec *corev1.PodSpec) { spec.Containers[0].Resources = amounts("5") })
				w.after(time.Minute)
				w.edit(setImage("a", "app:v2"))
				w.after(time.Minute)
				mustBe(t, "actual CPU", cpu(w.container("a").Resources.Requests), "1")
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready PodResizePending",
				"Running | a:v2 running ready #1 | " + up + " ContainersReady Ready PodResizePending",
			},
		},
		"a deleted pod stays ready until its containers stop, and is gone then": {
			model: Model{ShutdownDelay: 5 * time.Second},
			story: func(w *world) {
				w.after(time.Minute)
				w.remove(30)
				w.after(4 * time.Second)
				mustBe(t, "gone before its time", w.gone, false)
				mustBe(t, "ready while it ends", w.ready(), true)
				w.after(time.Second)
				mustBe(t, "gone", w.gone, true)
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Succeeded | a:v1 exit 0 #0 | Initialized",
			},
		},
		"the grace period bounds a preStop sleep": {
			story: func(w *world) {
				w.pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 60}}}
				w.after(time.Minute)
				w.remove(10)
				w.after(9 * time.Second)
				mustBe(t, "gone before its grace is over", w.gone, false)
				w.after(time.Second)
				mustBe(t, "gone", w.gone, true)
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Succeeded | a:v1 exit 0 #0 | Initialized",
			},
		},
		"a pod that never started ends as failed": {
			model: Model{StartDelay: time.Minute},
			story: func(w *world) {
				w.after(0)
				w.remove(30)
				w.after(0)
				mustBe(t, "gone", w.gone, true)
			},
			want: []string{
				"Pending | a:v1 ContainerCreating #0 | Initialized",
				"Failed | a:v1 exit 137 #0 | Initialized",
			},
		},
		"with grace 0 a pod that finalizers hold is stopped, and the rest is theirs": {
			story: func(w *world) {
				w.after(0)
				w.pod.Finalizers = []string{"example.com/hold"}
				w.remove(0)
				w.after(0)
				mustBe(t, "gone", w.gone, false)
			},
			want: []string{
				"Running | a:v1 running ready #0 | " + up + " ContainersReady Ready",
				"Succeeded | a:v1 exit 0 #0 | Initialized",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.model, "app:v1")
			tc.story(w)
			var got []string
			for i := range w.seen {
				got = append(got, tell(&w.seen[i]))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("what was reported (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPodWithoutANodeIsNobodysConcern(t *testing.T) {
	w := newWorld(t, Model{}, "app:v1")
	w.pod.Spec.NodeName = ""
	if diff := cmp.Diff(Outcome{}, w.model.Next(w.pod, w.now)); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func TestACrashingContainerBacksOffLongerAndLonger(t *testing.T) {
	w := newWorld(t, Model{CrashAfter: time.Second}, "app:crash")
	var starts []time.Duration
	last := ""
	for range 60 {
		if _, wait := w.step(); wait > 0 {
			w.now = w.now.Add(wait)
		}
		c := w.container("a")
		mustBe(t, "ready", c.Ready, false)
		if c.State.Running != nil && c.ContainerID != last {
			last = c.ContainerID
			starts = append(starts, c.State.Running.StartedAt.Sub(start))
		}
	}
	var gaps []time.Duration
	for i := 1; i < 9; i++ {
		gaps = append(gaps, starts[i]-starts[i-1])
	}
	s := time.Second
	// One second of running, then: at once, 10 s, doubling, at most five minutes.
	if diff := cmp.Diff([]time.Duration{1 * s, 11 * s, 21 * s, 41 * s, 81 * s, 161 * s, 301 * s, 301 * s}, gaps); diff != "" {
		t.Errorf("time between starts (-want +got):\n%s", diff)
	}
	w.edit(func(spec *corev1.PodSpec) { spec.Containers[0].Image = "app:v2" })
	w.after(0)
	mustBe(t, "ready with the fix, without waiting for the back-off", w.ready(), true)
}

func TestIdentities(t *testing.T) {
	for name, tc := range map[string]struct {
		one, other string
		same       bool
	}{
		"another tag is another image":                {"app:v1", "app:v2", false},
		"another name is another image":               {"app:v1", "ppa:v1", false},
		"a retag has the digest of what it retags":    {"app:v2", "app:v2-retag", true},
		"no tag is the tag latest":                    {"app", "app:latest", true},
		"a registry's port is no tag":                 {"host:5000/app", "host:5000/app:latest", true},
		"a digest decides, whatever the tag in front": {"app:v1@sha256:00ff", "app:v2@sha256:00ff", true},
	} {
		t.Run(name, func(t *testing.T) {
			mustBe(t, "same imageID", imageID(tc.one) == imageID(tc.other), tc.same)
		})
	}
}

func TestTagsAskForBehaviour(t *testing.T) {
	for image, want := range map[string]behaviour{
		"app":                           {},
		"app:v1":                        {},
		"app:broken":                    {broken: true},
		"broken:v1":                     {},
		"app:unbroken":                  {},
		"host:5000/app:v2-broken":       {broken: true},
		"app:crash":                     {crash: true},
		"app:missing":                   {missing: true},
		"app:slow-12s":                  {slow: 12 * time.Second},
		"app:v2-slow-3s":                {slow: 3 * time.Second},
		"app:slow-":                     {},
		"app:slow-12":                   {},
		"app:slow-xs":                   {},
		"app:yslow-3s":                  {},
		"app:missing@sha256:0123456789": {missing: true},
	} {
		if got := behaviourOf(image); got != want {
			t.Errorf("%s: got %+v, want %+v", image, got, want)
		}
	}
}
