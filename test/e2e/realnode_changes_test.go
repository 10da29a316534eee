// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/localcluster/images/whoami"
)

var _ = describeReal("a change in place", func() {
	It("is seen by the process as it was asked for, whatever it is a change of", func() {
		everyKindTogether(func(kind realKind) {
			together(
				func() { prioritiesAndMetadata(kind) },
				func() { resizeWithoutRestart(kind) },
				func() { sameDigest(kind) },
			)
		})
	})
})

// prioritiesAndMetadata changes both containers, one after the other, and what one of them reads of its pod.
func prioritiesAndMetadata(kind realKind) {
	GinkgoHelper()
	const untilReady = 2 * time.Second
	name := kind.called("order")
	template := realTemplate(name)
	template.Labels["stage"], template.Annotations = "first", map[string]string{"color": "blue"}
	reads := func(variable, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	app, sidecar := &template.Spec.Containers[0], &template.Spec.Containers[1]
	app.Env = append(app.Env, corev1.EnvVar{Name: "KRUISE_CONTAINER_PRIORITY", Value: "5"},
		reads("STAGE", "metadata.labels['stage']"), reads("COLOR", "metadata.annotations['color']"))
	sidecar.Env = append(sidecar.Env, corev1.EnvVar{Name: "KRUISE_CONTAINER_PRIORITY", Value: "10"},
		corev1.EnvVar{Name: "READY_AFTER", Value: untilReady.String()})
	set := createReal(kind.build(name, 1, template))
	settleReal(set)
	before := podsOf(set)[0]
	Expect(whoIs(before, appContainer).Environment).To(And(HaveKeyWithValue("STAGE", "first"), HaveKeyWithValue("COLOR", "blue")))

	change(set, func(now client.Object) {
		template := viewOf(now).template
		template.Labels["stage"], template.Annotations["color"] = "second", "green"
		template.Spec.Containers[0].Image, template.Spec.Containers[1].Image = image("v2"), "registry.test/sidecar:v3"
	})
	settleReal(set)

	after := podsOf(set)[0]
	Expect(after.UID).To(Equal(before.UID), "the pod's UID")
	first, second := whoIs(after, sidecarContainer), whoIs(after, appContainer)
	Expect(first.Image).To(Equal("registry.test/sidecar:v3"))
	Expect(second.Image).To(Equal(image("v2")))
	Expect(second.Started).To(BeTemporally(">=", first.Started.Add(untilReady)), "app may not start before sidecar is ready")
	Expect(second.Environment).To(And(HaveKeyWithValue("STAGE", "second"), HaveKeyWithValue("COLOR", "green")))
	for _, container := range []string{appContainer, sidecarContainer} {
		Expect(containerOf(after, container).RestartCount).To(Equal(int32(1)), "restarts of %s", container)
	}
}

// resizeWithoutRestart changes what the kernel gives to a process that goes on.
func resizeWithoutRestart(kind realKind) {
	GinkgoHelper()
	name := kind.called("resize")
	amounts := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	template := realTemplate(name)
	template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: amounts("20m", "32Mi"), Limits: amounts("400m", "64Mi")}
	set := createReal(kind.build(name, 1, template))
	settleReal(set)
	before := podsOf(set)[0]
	then := whoIs(before, appContainer)
	Expect(then.Limits).To(And(HaveField("Memory", "67108864"), HaveField("CPUQuota", "40000")))

	change(set, func(now client.Object) {
		template := viewOf(now).template
		template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: amounts("30m", "48Mi"), Limits: amounts("600m", "96Mi")}
	})
	settleReal(set)

	after := podsOf(set)[0]
	// A pod that is resized serves on, so its set is settled while the kubelet is still at it.
	Eventually(func() whoami.Limits { return whoIs(after, appContainer).Limits }).WithTimeout(30 * time.Second).Should(
		And(HaveField("Memory", "100663296"), HaveField("CPUQuota", "60000")))
	now := whoIs(after, appContainer)
	Expect(after.UID).To(Equal(before.UID), "the pod's UID")
	Expect(now.Started).To(BeTemporally("==", then.Started), "the start of the process")
	Expect(containerOf(after, appContainer).RestartCount).To(BeZero(), "restarts of the container")
	Expect(containerOf(after, appContainer).ContainerID).To(Equal(containerOf(before, appContainer).ContainerID))
}

// sameDigest releases a tag that names the same image: nothing that a container's status says of its image changes.
func sameDigest(kind realKind) {
	GinkgoHelper()
	name := kind.called("digest")
	set := createReal(kind.build(name, 1, realTemplate(name)))
	settleReal(set)
	before := podsOf(set)[0]
	then := whoIs(before, appContainer)

	release(set, "v1-again")
	settleReal(set)

	after := podsOf(set)[0]
	Expect(after.UID).To(Equal(before.UID), "the pod's UID")
	Expect(after.Spec.Containers[0].Image).To(Equal(image("v1-again")))
	Expect(containerOf(after, appContainer).ImageID).To(Equal(containerOf(before, appContainer).ImageID), "the image's digest")
	Expect(containerOf(after, appContainer).RestartCount).To(Equal(int32(1)), "restarts of the container")
	Expect(whoIs(after, appContainer).Started).To(BeTemporally(">", then.Started), "the start of the process")
}
