// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/step"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const containerID, imageID = "sim://1", "sha256:v1"

// running is a pod of revision web-a: gate open, one container app:v1 as the node reports it.
func running() *corev1.Pod {
	p := &corev1.Pod{}
	p.Namespace, p.Name, p.UID, p.ResourceVersion, p.Generation = "default", "web-x", "uid-x", "10", 1
	p.Labels = map[string]string{kruisev1alpha1.LabelRevision: "web-a"}
	p.Annotations = map[string]string{}
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: kruisev1alpha1.ConditionInPlaceUpdateReady}}
	p.Spec.Containers = []corev1.Container{{Name: "app", Image: "app:v1"}}
	p.Status.ObservedGeneration = 1
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		{Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionTrue},
	}
	report(p, containerID, imageID, "app:v1", noon.Add(-time.Hour))
	return p
}

func report(p *corev1.Pod, containerID, imageID, image string, startedAt time.Time) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", ContainerID: containerID, ImageID: imageID, Image: image,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(startedAt)}},
	}}
}

func imageTo(image string) inplace.Difference {
	return inplace.Difference{Images: map[string]string{"app": image}}
}

// take does to the pod what the API server does for the step.
func take(p *corev1.Pod, s step.UpdateInPlace) {
	for _, c := range s.Drain {
		i := slices.IndexFunc(p.Status.Conditions, func(have corev1.PodCondition) bool { return have.Type == c.Type })
		p.Status.Conditions[i] = c
	}
	for key, value := range s.Patch.Labels {
		set(p.Labels, key, value)
	}
	for key, value := range s.Patch.Annotations {
		set(p.Annotations, key, value)
	}
	if len(s.Resize) > 0 {
		resize(p, s.Resize)
	}
	if len(s.Patch.Images) > 0 {
		p.Generation++
	}
	for i := range p.Spec.Containers {
		if image, changed := s.Patch.Images[p.Spec.Containers[i].Name]; changed {
			p.Spec.Containers[i].Image = image
		}
	}
}

func resize(p *corev1.Pod, resources map[string]corev1.ResourceRequirements) {
	p.Generation++
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		c.Resources = *c.Resources.DeepCopy()
		maps.Copy(c.Resources.Limits, resources[c.Name].Limits)
		maps.Copy(c.Resources.Requests, resources[c.Name].Requests)
	}
}

func set(m map[string]string, key string, value *string) {
	if value == nil {
		delete(m, key)
		return
	}
	m[key] = *value
}

func begin(t *testing.T, p *corev1.Pod, d inplace.Difference, revision string, grace time.Duration, now time.Time) step.UpdateInPlace {
	t.Helper()
	s, err := inplace.Begin(p, d, inplace.Aim{Revision: revision, Label: revision, Hash: revision[len("web-"):]}, grace, now)
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	return s
}

func progress(t *testing.T, p *corev1.Pod, now time.Time) inplace.Progress {
	t.Helper()
	got, err := inplace.ProgressOf(p, now)
	if err != nil {
		t.Fatalf("ProgressOf: %v", err)
	}
	return got
}

func TestAnUpdateDrainsBeforeItChangesAnything(t *testing.T) {
	p := running()
	s := begin(t, p, imageTo("app:v2"), "web-b", 0, noon)
	var drained []corev1.PodConditionType
	for _, c := range s.Drain {
		if c.Status != corev1.ConditionFalse {
			t.Errorf("condition %s is written as %s, want False", c.Type, c.Status)
		}
		drained = append(drained, c.Type)
	}
	if diff := cmp.Diff([]corev1.PodConditionType{kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.PodReady}, drained); diff != "" {
		t.Errorf("drained conditions (-want +got):\n%s", diff)
	}
	if got := *s.Patch.Labels[kruisev1alpha1.LabelRevision]; got != "web-b" {
		t.Errorf("revision label is %q, want web-b", got)
	}
	take(p, s)
	if again := begin(t, p, imageTo("app:v3"), "web-c", 0, noon); len(again.Drain) != 0 {
		t.Errorf("a pod that is out of service is drained again: %v", again.Drain)
	}
}

func TestWhatTheNodeReportsEndsTheUpdate(t *testing.T) {
	for sentence, c := range map[string]struct {
		image    string
		report   func(*corev1.Pod)
		finished bool
	}{
		"nothing yet":                                     {"app:v2", func(*corev1.Pod) {}, false},
		"a new container of a new image":                  {"app:v2", func(p *corev1.Pod) { report(p, "sim://2", "sha256:v2", "app:v2", noon) }, true},
		"a new container, named otherwise by the runtime": {"app:v2", func(p *corev1.Pod) { report(p, "sim://2", "sha256:v2", "sha256:v2", noon) }, true},
		"a new tag of the same digest, restarted":         {"app:same", func(p *corev1.Pod) { report(p, "sim://2", imageID, "app:same", noon) }, true},
		"the same digest under an arbitrary tag, generation seen": {"app:same", func(p *corev1.Pod) {
			report(p, "sim://2", imageID, "app:other", noon)
			p.Status.ObservedGeneration = p.Generation
		}, true},
		"the old version crashed just before the node saw the change": {"app:v2", func(p *corev1.Pod) { report(p, "sim://2", imageID, "app:v1", noon) }, false},
		"the old container was stopped and the image cannot be pulled": {"app:v2", func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
		}, false},
		"nothing of the container at all":                  {"app:v2", func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, false},
		"an image without a tag at a registry with a port": {"registry:5000/app", func(p *corev1.Pod) { report(p, "sim://2", imageID, "registry:5000/app:latest", noon) }, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := running()
			take(p, begin(t, p, imageTo(c.image), "web-b", 0, noon))
			c.report(p)
			got := progress(t, p, noon)
			if got.Finished != c.finished {
				t.Errorf("Finished = %v, want %v (waiting: %s)", got.Finished, c.finished, got.Waiting)
			}
			if !got.Finished && !strings.Contains(got.Waiting, "container app") {
				t.Errorf("Waiting = %q, which does not name the container", got.Waiting)
			}
		})
	}
}

// A pod that is updated before its first start may still be started by a node that has not seen the change.
func TestTheFirstStartCountsOnlyWithTheNewImage(t *testing.T) {
	p := running()
	p.Status.ContainerStatuses = nil
	take(p, begin(t, p, imageTo("app:v2"), "web-b", 0, noon))
	report(p, "sim://1", imageID, "app:v1", noon)
	if got := progress(t, p, noon); got.Finished {
		t.Error("the old version, started late, counts as the new one")
	}
	report(p, "sim://2", "sha256:v2", "app:v2", noon.Add(time.Second))
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("not finished although the new version runs: %s", got.Waiting)
	}
}

func TestGoingBackBeforeTheNodeActedNeedsNoRestart(t *testing.T) {
	p := running()
	take(p, begin(t, p, imageTo("app:v2"), "web-b", 0, noon))
	take(p, begin(t, p, imageTo("app:v1"), "web-a", 0, noon))
	if got := progress(t, p, noon); got.Finished {
		t.Fatal("finished before the node has seen the change back")
	}
	p.Status.ObservedGeneration = p.Generation
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("not finished although the node saw the change back and never left app:v1: %s", got.Waiting)
	}
}

func TestASupersededVersionThatStillStartsDoesNotCount(t *testing.T) {
	p := running()
	take(p, begin(t, p, imageTo("app:v2"), "web-b", 0, noon))
	take(p, begin(t, p, imageTo("app:v3"), "web-c", 0, noon))
	report(p, "sim://2", "sha256:v2", "app:v2", noon.Add(time.Second)) // what the first change led to
	if got := progress(t, p, noon); got.Finished {
		t.Error("the superseded version counts as the new one")
	}
	report(p, "sim://3", "sha256:v3", "app:v3", noon.Add(2*time.Second))
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("not finished although the newest version runs: %s", got.Waiting)
	}
}

func TestAGracePeriodHoldsTheChangeBack(t *testing.T) {
	p := running()
	d := imageTo("app:v2")
	d.Labels = map[string]*string{"version": text("2")}
	first := begin(t, p, d, "web-b", 30*time.Second, noon)
	if len(first.Drain) == 0 || len(first.Patch.Images) != 0 || first.Patch.Labels["version"] != nil {
		t.Fatalf("the first half must drain and hold the rest back, got %+v", first)
	}
	take(p, first)
	if got := progress(t, p, noon.Add(10*time.Second)); !got.Holding || got.GraceLeft != 20*time.Second {
		t.Errorf("after 10 of 30 seconds: %+v", got)
	}
	second, err := inplace.Resume(p, noon)
	if err != nil {
		t.Fatal(err)
	}
	take(p, second)
	if p.Spec.Containers[0].Image != "app:v2" || p.Labels["version"] != "2" {
		t.Errorf("after the grace period the pod has image %s and label %q", p.Spec.Containers[0].Image, p.Labels["version"])
	}
	if _, left := p.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]; left {
		t.Error("the grace annotation is left behind")
	}
	if got := progress(t, p, noon.Add(time.Minute)); got.Finished {
		t.Error("finished before the node started the new version")
	}
}

// The record counts whole seconds. Cut off, the moment of the drain would lie in the past, and the pod would
// get up to a second less than it was promised.
func TestAGracePeriodIsNeverShorterThanAskedFor(t *testing.T) {
	p := running()
	drained := noon.Add(999 * time.Millisecond)
	take(p, begin(t, p, imageTo("app:v2"), "web-b", 3*time.Second, drained))
	if got := progress(t, p, drained.Add(3*time.Second-time.Millisecond)); got.GraceLeft == 0 {
		t.Error("the grace period of 3 seconds is over after 2.999")
	}
	if got := progress(t, p, drained.Add(4*time.Second)); got.GraceLeft != 0 {
		t.Errorf("%s are left of 3 seconds after 4", got.GraceLeft)
	}
}

func TestANewerVersionInTheGracePeriodTakesTheHeldPartAlong(t *testing.T) {
	p := running()
	d := imageTo("app:v2")
	d.Labels = map[string]*string{"version": text("2")}
	take(p, begin(t, p, d, "web-b", 30*time.Second, noon))

	// web-c differs from web-b by an annotation only; the image of web-b was never applied.
	take(p, begin(t, p, inplace.Difference{Annotations: map[string]*string{"note": text("c")}}, "web-c", 0, noon))
	if p.Spec.Containers[0].Image != "app:v2" || p.Labels["version"] != "2" || p.Annotations["note"] != "c" {
		t.Errorf("the pod has image %s, label %q, annotation %q", p.Spec.Containers[0].Image, p.Labels["version"], p.Annotations["note"])
	}
}

func TestGoingBackInTheGracePeriodRestartsNothing(t *testing.T) {
	p := running()
	take(p, begin(t, p, imageTo("app:v2"), "web-b", 30*time.Second, noon))
	back := begin(t, p, imageTo("app:v1"), "web-a", 30*time.Second, noon)
	if len(back.Patch.Images) != 0 {
		t.Errorf("images are patched that never changed: %v", back.Patch.Images)
	}
	take(p, back)
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("not finished: %s", got.Waiting)
	}
	if in := inplace.InService(p, noon); len(in) != 1 || in[0].Status != corev1.ConditionTrue {
		t.Errorf("the pod is not put back into service: %v", in)
	}
}

func TestRecordsOfOtherPublishersAreRead(t *testing.T) {
	for sentence, c := range map[string]struct {
		annotation string
		report     func(*corev1.Pod)
		finished   bool
	}{
		"unknown members are ignored, a new image ID is enough": {
			`{"revision":"web-b","updateTimestamp":"2026-01-02T12:00:00Z","lastContainerStatuses":{"app":{"imageID":"sha256:v1"}},"later":{"x":1}}`,
			func(p *corev1.Pod) { report(p, "sim://2", "sha256:v2", "other", noon) }, true,
		},
		"the old image is not": {
			`{"revision":"web-b","updateTimestamp":"2026-01-02T12:00:00Z","lastContainerStatuses":{"app":{"imageID":"sha256:v1"}}}`,
			func(p *corev1.Pod) { p.Spec.Containers[0].Image = "app:v2" }, false,
		},
		"metadata with a null creationTimestamp": {
			`{"revision":"web-b","updateTimestamp":null,"lastContainerStatuses":null,"nextContainerRefMetadata":{"app":{"creationTimestamp":null,"labels":{"a":"b"}}}}`,
			func(*corev1.Pod) {}, false,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := running()
			p.Annotations[kruisev1alpha1.AnnotationInPlaceState] = c.annotation
			c.report(p)
			if got := progress(t, p, noon); got.Finished != c.finished {
				t.Errorf("Finished = %v, want %v (%s)", got.Finished, c.finished, got.Waiting)
			}
		})
	}
}

func TestLegacyAnnotationsAreReadAndReplaced(t *testing.T) {
	p := running()
	p.Annotations[kruisev1alpha1.AnnotationInPlaceStateLegacy] = `{"revision":"web-0","updateTimestamp":null,"lastContainerStatuses":{"app":{"imageID":"sha256:v0"}}}`
	s := begin(t, p, imageTo("app:v2"), "web-b", 0, noon)
	take(p, s)
	if _, left := p.Annotations[kruisev1alpha1.AnnotationInPlaceStateLegacy]; left {
		t.Error("the legacy annotation is left behind")
	}
	if record, err := inplace.RecordOf(p); err != nil || record.Revision != "web-b" {
		t.Errorf("record is %+v, %v", record, err)
	}
}

func TestAnUnreadableAnnotationIsAnErrorThatNamesIt(t *testing.T) {
	p := running()
	p.Annotations[kruisev1alpha1.AnnotationInPlaceState] = "{"
	if _, err := inplace.ProgressOf(p, noon); err == nil || !strings.Contains(err.Error(), kruisev1alpha1.AnnotationInPlaceState) {
		t.Errorf("error is %v", err)
	}
}

func TestTheRecordHasTheMembersThatOthersRead(t *testing.T) {
	p := running()
	take(p, begin(t, p, inplace.Difference{Labels: map[string]*string{"a": text("b")}}, "web-b", 0, noon.Add(time.Nanosecond)))
	var members map[string]any
	if err := json.Unmarshal([]byte(p.Annotations[kruisev1alpha1.AnnotationInPlaceState]), &members); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"revision": "web-b", "updateTimestamp": "2026-01-02T12:00:00Z", "lastContainerStatuses": nil}
	if diff := cmp.Diff(want, members); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}
