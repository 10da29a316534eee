// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/step"
)

// What in-place updates are known to get wrong elsewhere.

func TestAnEqualDigestUnderANewTagCompletes(t *testing.T) {
	p := running()
	take(p, begin(t, p, imageTo("app:v2"), "web-b", 0, noon))
	report(p, "sim://2", imageID, "app@"+imageID, noon) // the runtime tells the digest only, and it is the old one
	p.Status.ObservedGeneration = p.Generation
	if got := progress(t, p, noon); !got.Finished {
		t.Fatalf("not finished: %s", got.Waiting)
	}
	if in := inplace.InService(p, noon); len(in) != 1 || in[0].Status != corev1.ConditionTrue {
		t.Errorf("the gate is not opened: %v", in)
	}
}

func TestAnImageWithoutATagAtARegistryWithAPortCompletes(t *testing.T) {
	p := running()
	take(p, begin(t, p, imageTo("registry:5000/app"), "web-b", 0, noon))
	report(p, "sim://2", imageID, "registry:5000/app:latest", noon)
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("not finished: %s", got.Waiting)
	}
}

func TestResizesOverSeveralPrioritiesReachTheLastBatch(t *testing.T) {
	p := crew(map[string][]corev1.EnvVar{"a": {priority("3")}, "b": {priority("2")}, "c": {priority("1")}})
	d := inplace.Difference{Resources: map[string]corev1.ResourceRequirements{}}
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].Resources.Requests = amounts("1", "1Gi")
		d.Resources[p.Spec.Containers[i].Name] = corev1.ResourceRequirements{Requests: cpu("2")}
	}
	reportSizes(p)
	take(p, begin(t, p, d, "web-b", 0, noon))
	for n := 1; n <= 3; n++ {
		if got := len(batchesOf(t, p)); got != n {
			t.Fatalf("%d batches have begun, want %d", got, n)
		}
		reportSizes(p)
		got := progress(t, p, noon)
		if got.NextBatch != (n < 3) || got.Finished != (n == 3) {
			t.Fatalf("after batch %d: %+v", n, got)
		}
		if n < 3 {
			next, err := inplace.Advance(p, noon)
			if err != nil {
				t.Fatal(err)
			}
			take(p, next)
		}
	}
	for _, c := range p.Spec.Containers {
		if c.Resources.Requests.Cpu().String() != "2" {
			t.Errorf("container %s requests %v", c.Name, c.Resources.Requests)
		}
	}
}

func TestAResizedPodWithASidecarWithoutResourcesCompletes(t *testing.T) {
	p := sized(amounts("1", "1Gi"), nil)
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:v1"})
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "sidecar"})
	take(p, begin(t, p, requestTo(cpu("2")), "web-b", 0, noon))
	p.Status.ObservedGeneration = p.Generation
	p.Status.ContainerStatuses[0].Resources = p.Spec.Containers[0].Resources.DeepCopy()
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("not finished: %s", got.Waiting)
	}
	p.Annotations[kruisev1alpha1.AnnotationInPlaceState] = `{"revision":"web-b","updateTimestamp":null,"lastContainerStatuses":null,"updateResources":true}`
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("recorded by another publisher, it is not finished: %s", got.Waiting)
	}
}

func TestAChangeThatNoContainerReadsKeepsThePodInService(t *testing.T) {
	p := reader()
	d := inplace.Difference{Labels: map[string]*string{"note": text("x")}, Annotations: map[string]*string{"other": text("y")}}
	s := begin(t, p, d, "web-b", time.Minute, noon)
	if len(s.Drain) != 0 || s.Grace != 0 {
		t.Errorf("the pod leaves service: %+v", s)
	}
	take(p, s)
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("not finished: %s", got.Waiting)
	}
}

func TestAnEnvironmentWithoutAnAgentIsRefusedAndDoesNotHang(t *testing.T) {
	if got := tierTo("back").Refused(reader()); len(got) != 1 {
		t.Errorf("refused because of %q, want one field", got)
	}
}

// A newer template comes in the middle of batches, some of them failing, or of a grace period.
func TestANewerTemplateSupersedesBatchesInEveryState(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := crew(map[string][]corev1.EnvVar{"a": {priority("3")}, "b": {priority("2")}, "c": {priority("1")}})
		have := map[string]string{"a": "a:v1", "b": "b:v1", "c": "c:v1"} // by the revision that the pod is labelled with
		for n := range rapid.IntRange(1, 6).Draw(r, "releases") {
			d := inplace.Difference{Images: map[string]string{}}
			for name, image := range have {
				if next := name + ":" + rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(r, name); next != image {
					d.Images[name], have[name] = next, next
				}
			}
			grace := time.Duration(rapid.IntRange(0, 1).Draw(r, "grace")) * time.Minute
			s, err := inplace.Begin(p, d, inplace.Aim{Revision: "web-" + string(rune('b'+n)), Label: "web-x", Hash: "x"}, grace, noon)
			if err != nil {
				r.Fatal(err)
			}
			take(p, s)
			for range rapid.IntRange(0, 4).Draw(r, "goes on") {
				goOn(r, p, rapid.Bool().Draw(r, "ready"))
			}
		}
		for range 10 {
			goOn(r, p, true)
		}
		for _, c := range p.Spec.Containers {
			if c.Image != have[c.Name] {
				r.Errorf("container %s ends with %s, want %s", c.Name, c.Image, have[c.Name])
			}
		}
	})
}

// goOn is one look of the manager after the node has acted; containers come up ready or not.
func goOn(t *rapid.T, p *corev1.Pod, ready bool) {
	restart(p)
	for i := range p.Status.ContainerStatuses {
		p.Status.ContainerStatuses[i].Ready = ready
	}
	got, err := inplace.ProgressOf(p, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var s step.UpdateInPlace
	switch {
	case got.Holding:
		s, err = inplace.Resume(p, noon)
	case got.NextBatch:
		s, err = inplace.Advance(p, noon)
	default:
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	take(p, s)
}
