// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/internal/inplace"
)

// Nodes before Kubernetes 1.34 do not report which generation of a pod they have seen.

// unreported is a pod on such a node. It has 5 seconds to end.
func unreported() *corev1.Pod {
	p := running()
	p.Status.ObservedGeneration, p.Spec.TerminationGracePeriodSeconds = 0, ptr.To[int64](5)
	return p
}

// wantsAfter checks that an update is not finished until a time has passed since noon, and when it asks to be looked at again.
func wantsAfter(t *testing.T, p *corev1.Pod, after time.Duration) {
	t.Helper()
	for _, passed := range []time.Duration{0, after / 2, after - time.Second} {
		got := progress(t, p, noon.Add(passed))
		if got.Finished || got.LookIn != after-passed || !strings.Contains(got.Waiting, "container app") {
			t.Errorf("after %s: finished is %t, it is looked at again in %s, and it waits for %q; want %s", passed, got.Finished, got.LookIn, got.Waiting, after-passed)
		}
	}
	if got := progress(t, p, noon.Add(after)); !got.Finished || got.LookIn != 0 {
		t.Errorf("after %s: not finished: %s (again in %s)", after, got.Waiting, got.LookIn)
	}
}

func TestAnEqualDigestCompletesOnANodeThatReportsNoGenerations(t *testing.T) {
	p := unreported()
	take(p, begin(t, p, imageTo("app:v1-again"), "web-b", 0, noon))
	if got := progress(t, p, noon.Add(time.Hour)); got.Finished {
		t.Fatal("finished before the container was restarted")
	}
	report(p, "sim://2", imageID, "app:v1", noon.Add(time.Second)) // the runtime has both names for it
	wantsAfter(t, p, 35*time.Second)
}

func TestGoingBackCompletesOnANodeThatReportsNoGenerations(t *testing.T) {
	p := unreported()
	take(p, begin(t, p, imageTo("app:v2"), "web-b", 0, noon.Add(-time.Hour)))
	take(p, begin(t, p, imageTo("app:v1"), "web-a", 0, noon))
	wantsAfter(t, p, 35*time.Second)
}

// The time runs from the newest change of a container, and not from the beginning of the update.
func TestAGracePeriodIsNoTimeForANodeToSeeTheChange(t *testing.T) {
	p := unreported()
	take(p, begin(t, p, imageTo("app:v1-again"), "web-b", time.Minute, noon.Add(-time.Hour)))
	second, err := inplace.Resume(p, noon)
	if err != nil {
		t.Fatal(err)
	}
	take(p, second)
	report(p, "sim://2", imageID, "app:v1", noon.Add(time.Second))
	wantsAfter(t, p, 35*time.Second)
}

func TestTimeAloneMakesNoNewContainer(t *testing.T) {
	for sentence, change := range map[string]func(*corev1.Pod){
		"the old container runs on": func(*corev1.Pod) {},
		"the new image cannot be pulled": func(p *corev1.Pod) {
			report(p, "sim://2", imageID, "app:v1", noon)
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
		},
		"the node reports generations, and has not seen this one": func(p *corev1.Pod) {
			report(p, "sim://2", imageID, "app:v1", noon.Add(time.Second))
			p.Status.ObservedGeneration = p.Generation - 1
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := unreported()
			take(p, begin(t, p, imageTo("app:v2"), "web-b", 0, noon))
			change(p)
			if got := progress(t, p, noon.Add(24*time.Hour)); got.Finished || got.LookIn != 0 {
				t.Errorf("finished is %t, looked at again in %s: %s", got.Finished, got.LookIn, got.Waiting)
			}
		})
	}
}

func TestANewerVersionAfterAnEqualDigestOnANodeThatReportsNoGenerations(t *testing.T) {
	p := unreported()
	take(p, begin(t, p, imageTo("app:v1-again"), "web-b", 0, noon))
	report(p, "sim://2", imageID, "app:v1", noon.Add(time.Second))
	take(p, begin(t, p, imageTo("app:v3"), "web-c", 0, noon.Add(time.Minute)))
	if got := progress(t, p, noon.Add(time.Minute)); got.Finished {
		t.Error("finished before the newer version runs")
	}
	report(p, "sim://3", "sha256:v3", "app:v3", noon.Add(61*time.Second))
	if got := progress(t, p, noon.Add(62*time.Second)); !got.Finished {
		t.Errorf("not finished: %s", got.Waiting)
	}
}
