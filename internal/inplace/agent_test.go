// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
)

// reader is a pod whose container app reads the label tier into its environment.
func reader() *corev1.Pod {
	p := running()
	p.Labels["tier"] = "front"
	p.Spec.Containers[0].Env = []corev1.EnvVar{fromLabel("TIER", "tier")}
	return p
}

func tierTo(value string) inplace.Difference {
	return inplace.Difference{Labels: map[string]*string{"tier": &value}}
}

// The hashes of a container app with image app:v1 or app:v2 and of the environment TIER=front, TIER=back or none, computed
// apart from this code; agents in use report the last one for containers that read nothing.
const (
	plainV1, plainV2 = 211166344, 570360670
	tierFront        = 4032169229
	tierBack         = 337572400
	noEnvironment    = 86995377
)

func agentSays(p *corev1.Pod, containerID string, plain, environment uint64) {
	p.Annotations[kruisev1alpha1.AnnotationRuntimeContainersMeta] = fmt.Sprintf(
		`{"containers":[{"name":"app","containerID":%q,"restartCount":0,"hashes":{"plainHash":%d,"plainHashWithoutResources":0,"extractedEnvFromMetadataHash":%d}}]}`,
		containerID, plain, environment)
}

func TestWhoReadsALabelNeedsARestart(t *testing.T) {
	const refusal = "metadata.labels['tier']: env TIER of container app reads it, and only a restart of the container would show the new value"
	for sentence, c := range map[string]struct {
		prepare func(*corev1.Pod, *inplace.Difference)
		want    string
	}{
		"nothing would restart it":      {func(*corev1.Pod, *inplace.Difference) {}, refusal},
		"its image changes too":         {func(_ *corev1.Pod, d *inplace.Difference) { d.Images = map[string]string{"app": "app:v2"} }, ""},
		"a node agent would restart it": {func(p *corev1.Pod, _ *inplace.Difference) { agentSays(p, containerID, plainV1, tierFront) }, ""},
		"an agent that cannot be understood is none": {func(p *corev1.Pod, _ *inplace.Difference) {
			p.Annotations[kruisev1alpha1.AnnotationRuntimeContainersMeta] = "{"
		}, refusal},
		"the label is removed: the container keeps what it had": {func(_ *corev1.Pod, d *inplace.Difference) { d.Labels["tier"] = nil }, ""},
		"another label":                          {func(_ *corev1.Pod, d *inplace.Difference) { d.Labels = map[string]*string{"other": text("x")} }, ""},
		"a variable that injectors use":          {func(p *corev1.Pod, _ *inplace.Difference) { p.Spec.Containers[0].Env[0].Name = "SIDECARSET_VERSION" }, ""},
		"its image is what the spec has already": {func(_ *corev1.Pod, d *inplace.Difference) { d.Images = map[string]string{"app": "app:v1"} }, refusal},
		"a change of its image is taken back before the node has acted": {func(p *corev1.Pod, d *inplace.Difference) {
			s, err := inplace.Begin(p, imageTo("app:v2"), inplace.Aim{Revision: "web-b", Label: "web-b", Hash: "b"}, 0, noon)
			if err != nil {
				panic(err)
			}
			take(p, s)
			d.Images = map[string]string{"app": "app:v1"}
		}, refusal},
	} {
		t.Run(sentence, func(t *testing.T) {
			p, d := reader(), tierTo("back")
			c.prepare(p, &d)
			if got := strings.Join(d.Refused(p), "; "); got != c.want {
				t.Errorf("refused because of %q, want %q", got, c.want)
			}
		})
	}
}

func TestWithAnAgentTheEnvironmentEndsTheUpdate(t *testing.T) {
	p := reader()
	agentSays(p, containerID, plainV1, tierFront)
	s := begin(t, p, tierTo("back"), "web-b", 0, noon)
	if len(s.Drain) == 0 {
		t.Error("the container restarts, but the pod stays in service")
	}
	take(p, s)
	if got := progress(t, p, noon); got.Finished || !strings.Contains(got.Waiting, "environment") {
		t.Errorf("before the restart: %+v", got)
	}
	report(p, "sim://2", imageID, "app:v1", noon)
	if got := progress(t, p, noon); got.Finished {
		t.Error("finished before the agent has spoken of the new container")
	}
	agentSays(p, "sim://2", plainV1, tierFront)
	if got := progress(t, p, noon); got.Finished {
		t.Error("finished with the old environment")
	}
	agentSays(p, "sim://2", plainV1, tierBack)
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("not finished: %s", got.Waiting)
	}
}

func TestAnAgentVouchesForImages(t *testing.T) {
	p := reader()
	take(p, begin(t, p, imageTo("app:v2"), "web-b", 0, noon))
	report(p, "sim://2", imageID, "something:else", noon)
	p.Status.ObservedGeneration = 0 // as on a node that reports no generations
	if got := progress(t, p, noon); got.Finished {
		t.Fatal("finished without evidence")
	}
	agentSays(p, "sim://2", plainV1, tierFront)
	if got := progress(t, p, noon); got.Finished {
		t.Error("finished although the agent speaks of the old image")
	}
	agentSays(p, "sim://2", plainV2, tierFront)
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("not finished: %s", got.Waiting)
	}
}

func TestAContainerThatReadsNothingHasAHashToo(t *testing.T) {
	p := running()
	agentSays(p, containerID, plainV1, noEnvironment)
	p.Annotations[kruisev1alpha1.AnnotationInPlaceState] = `{"revision":"web-b","updateTimestamp":null,"lastContainerStatuses":null,"updateEnvFromMetadata":true}`
	if got := progress(t, p, noon); !got.Finished {
		t.Errorf("not finished: %s", got.Waiting)
	}
}
