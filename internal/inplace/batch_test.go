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
)

// crew is a pod of several running containers at v1, each with the environment given for it.
func crew(environment map[string][]corev1.EnvVar) *corev1.Pod {
	p := running()
	p.Spec.Containers, p.Status.ContainerStatuses = nil, nil
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name, Image: name + ":v1", Env: environment[name]})
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, ContainerID: "sim://" + name + "/1", ImageID: "sha256:" + name + ":v1", Image: name + ":v1", Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(-time.Hour))}},
		})
	}
	return p
}

// restart is what the node reports after it acted on every container that has another image.
func restart(p *corev1.Pod) {
	p.Status.ObservedGeneration = p.Generation
	for i := range p.Spec.Containers {
		c, st := &p.Spec.Containers[i], &p.Status.ContainerStatuses[i]
		if st.Image != c.Image {
			st.Image, st.ImageID, st.ContainerID = c.Image, "sha256:"+c.Image, st.ContainerID+"+"
			st.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(time.Minute))}
			st.RestartCount++
		}
	}
}

func priority(n string) corev1.EnvVar {
	return corev1.EnvVar{Name: "KRUISE_CONTAINER_PRIORITY", Value: n}
}

func barrier(key string) corev1.EnvVar {
	return corev1.EnvVar{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: key}}}
}

func imagesTo(version string, names ...string) inplace.Difference {
	d := inplace.Difference{Images: map[string]string{}}
	for _, name := range names {
		d.Images[name] = name + ":" + version
	}
	return d
}

// playOut brings an update to its end and tells which containers changed together.
func playOut(t *testing.T, p *corev1.Pod) {
	t.Helper()
	for range 10 {
		restart(p)
		got := progress(t, p, noon)
		if got.Finished {
			return
		}
		if !got.NextBatch {
			t.Fatalf("stands still: %s", got.Waiting)
		}
		next, err := inplace.Advance(p, noon)
		if err != nil {
			t.Fatal(err)
		}
		take(p, next)
	}
	t.Fatal("never ends")
}

func batchesOf(t *testing.T, p *corev1.Pod) []string {
	t.Helper()
	record, err := inplace.RecordOf(p)
	if err != nil {
		t.Fatal(err)
	}
	var batches []string
	for _, b := range record.ContainerBatchesRecord {
		batches = append(batches, strings.Join(b.Containers, " "))
	}
	return batches
}

func TestContainersChangeInTheOrderOfTheirPriorities(t *testing.T) {
	reads := func(env string) corev1.EnvVar { return fromLabel(env, "tier") }
	for sentence, c := range map[string]struct {
		environment map[string][]corev1.EnvVar
		change      inplace.Difference
		want        []string
	}{
		"without priorities all go at once": {
			map[string][]corev1.EnvVar{"a": nil, "b": nil}, imagesTo("v2", "a", "b"), []string{"a b"},
		},
		"the higher number goes first": {
			map[string][]corev1.EnvVar{"a": {priority("1")}, "b": {priority("7")}, "c": {priority("-3")}}, imagesTo("v2", "a", "b", "c"), []string{"b", "a", "c"},
		},
		"a container without a priority goes with the first": {
			map[string][]corev1.EnvVar{"a": {priority("1")}, "b": {priority("7")}, "c": nil}, imagesTo("v2", "a", "b", "c"), []string{"b c", "a"},
		},
		"equal priorities go together": {
			map[string][]corev1.EnvVar{"a": {priority("7")}, "b": {priority("7")}, "c": {priority("2")}}, imagesTo("v2", "a", "b", "c"), []string{"a b", "c"},
		},
		"the barrier counts before the priority": {
			map[string][]corev1.EnvVar{"a": {priority("9"), barrier("p_1")}, "b": {barrier("p_5")}}, imagesTo("v2", "a", "b"), []string{"b", "a"},
		},
		"what is no number is no priority": {
			map[string][]corev1.EnvVar{"a": {priority("first")}, "b": {priority("5")}, "c": {priority("4")}}, imagesTo("v2", "a", "b", "c"), []string{"a b", "c"},
		},
		"containers that do not change do not count": {
			map[string][]corev1.EnvVar{"a": {priority("1")}, "b": {priority("7")}}, imagesTo("v2", "a"), []string{"a"},
		},
		"who reads the same changed label goes together": {
			map[string][]corev1.EnvVar{"a": {priority("9"), reads("T")}, "b": {priority("1"), reads("U")}, "c": {priority("5")}},
			func() inplace.Difference {
				d := imagesTo("v2", "a", "b", "c")
				d.Labels = map[string]*string{"tier": text("back")}
				return d
			}(), []string{"a b", "c"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := crew(c.environment)
			take(p, begin(t, p, c.change, "web-b", 0, noon))
			playOut(t, p)
			if diff := cmp.Diff(c.want, batchesOf(t, p)); diff != "" {
				t.Errorf("batches (-want +got):\n%s", diff)
			}
			for _, have := range p.Spec.Containers {
				if want, changed := c.change.Images[have.Name]; changed && have.Image != want {
					t.Errorf("container %s has %s", have.Name, have.Image)
				}
			}
		})
	}
}

func TestTheNextBatchWaitsUntilTheFirstIsReady(t *testing.T) {
	p := crew(map[string][]corev1.EnvVar{"a": {priority("2")}, "b": {priority("1")}})
	take(p, begin(t, p, imagesTo("v2", "a", "b"), "web-b", 0, noon))
	if got := progress(t, p, noon); got.NextBatch || got.Finished {
		t.Fatalf("before the node has acted: %+v", got)
	}
	restart(p)
	p.Status.ContainerStatuses[0].Ready = false
	if got := progress(t, p, noon); got.NextBatch || !strings.Contains(got.Waiting, "container a") {
		t.Errorf("the first container is not ready: %+v", got)
	}
	p.Status.ContainerStatuses[0].Ready = true
	if got := progress(t, p, noon); !got.NextBatch {
		t.Errorf("the first container is ready: %+v", got)
	}
}

// The label is written when its container changes, so that an older container never restarts into a newer label.
func TestALabelGoesWithTheContainerThatReadsIt(t *testing.T) {
	p := crew(map[string][]corev1.EnvVar{"a": {priority("2")}, "b": {priority("1"), fromLabel("TIER", "tier")}})
	p.Labels["tier"], p.Labels["old"] = "front", "x"
	d := imagesTo("v2", "a", "b")
	d.Labels = map[string]*string{"tier": text("back"), "note": text("n"), "old": nil}
	take(p, begin(t, p, d, "web-b", 0, noon))
	if _, left := p.Labels["old"]; left || p.Labels["tier"] != "front" || p.Labels["note"] != "n" {
		t.Errorf("after the first batch the labels are %v", p.Labels)
	}
	playOut(t, p)
	if p.Labels["tier"] != "back" {
		t.Errorf("in the end the labels are %v", p.Labels)
	}
}

func TestBatchesOfOtherPublishersAreGoneOnWith(t *testing.T) {
	p := crew(map[string][]corev1.EnvVar{"a": {barrier("p_3")}, "b": {barrier("p_2"), fromLabel("TIER", "tier")}, "c": {barrier("p_1")}})
	p.Spec.Containers[0].Image = "a:v2"
	restart(p)
	p.Annotations[kruisev1alpha1.AnnotationInPlaceState] = `{"revision":"web-b","updateTimestamp":"2026-01-02T11:00:00Z","lastContainerStatuses":{"a":{"imageID":"sha256:a:v1"}},
		"updateImages":true,"nextContainerImages":{"b":"b:v2","c":"c:v2","gone":"gone:v2"},
		"nextContainerRefMetadata":{"b":{"creationTimestamp":null,"labels":{"tier":"back"}}},
		"preCheckBeforeNext":{"containersRequiredReady":["a"]},"containerBatchesRecord":[{"timestamp":"2026-01-02T11:00:00Z","containers":["a"]}]}`
	playOut(t, p)
	if diff := cmp.Diff([]string{"a", "b", "c"}, batchesOf(t, p)); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if p.Spec.Containers[1].Image != "b:v2" || p.Spec.Containers[2].Image != "c:v2" || p.Labels["tier"] != "back" {
		t.Errorf("the pod has %s, %s and labels %v", p.Spec.Containers[1].Image, p.Spec.Containers[2].Image, p.Labels)
	}
}

func TestAGracePeriodKeepsTheBatches(t *testing.T) {
	p := crew(map[string][]corev1.EnvVar{"a": {priority("2")}, "b": {priority("1"), fromLabel("TIER", "tier")}})
	d := imagesTo("v2", "a", "b")
	d.Labels = map[string]*string{"tier": text("back")}
	take(p, begin(t, p, d, "web-b", time.Minute, noon))
	if p.Labels["tier"] != "" || len(batchesOf(t, p)) != 0 {
		t.Fatalf("something changes in the grace period: labels %v, batches %v", p.Labels, batchesOf(t, p))
	}
	resumed, err := inplace.Resume(p, noon.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	take(p, resumed)
	playOut(t, p)
	if diff := cmp.Diff([]string{"a", "b"}, batchesOf(t, p)); diff != "" || p.Labels["tier"] != "back" {
		t.Errorf("labels %v, batches (-want +got):\n%s", p.Labels, diff)
	}
}

func TestTheRecordTellsOthersWhatIsLeft(t *testing.T) {
	p := crew(map[string][]corev1.EnvVar{"a": {priority("2")}, "b": {priority("1"), fromLabel("TIER", "tier")}})
	d := imagesTo("v2", "a", "b")
	d.Labels = map[string]*string{"tier": text("back")}
	take(p, begin(t, p, d, "web-b", 0, noon))
	var members map[string]any
	if err := json.Unmarshal([]byte(p.Annotations[kruisev1alpha1.AnnotationInPlaceState]), &members); err != nil {
		t.Fatal(err)
	}
	for member, want := range map[string]any{
		"updateImages": true, "updateEnvFromMetadata": true, "updateResources": nil,
		"nextContainerImages":    map[string]any{"b": "b:v2"},
		"preCheckBeforeNext":     map[string]any{"containersRequiredReady": []any{"a"}},
		"containerBatchesRecord": []any{map[string]any{"timestamp": "2026-01-02T12:00:00Z", "containers": []any{"a"}}},
	} {
		if diff := cmp.Diff(want, members[member]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", member, diff)
		}
	}
	left, _ := members["nextContainerRefMetadata"].(map[string]any)
	if of, _ := left["b"].(map[string]any); !cmp.Equal(of["labels"], any(map[string]any{"tier": "back"})) {
		t.Errorf("nextContainerRefMetadata is %v", left)
	}
}
