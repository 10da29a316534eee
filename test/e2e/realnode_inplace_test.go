// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/localcluster/images/whoami"
)

var _ = describeReal("a release in place", func() {
	ofEveryKind("replaces the process, and nothing else of the pod", func(kind realKind) {
		set := createReal(kind.build("web", 2, realTemplate("web")))
		settleReal(set)
		before := podsOf(set)
		Expect(before).To(HaveLen(2))
		app, sidecar := map[string]whoami.Answer{}, map[string]whoami.Answer{}
		for _, pod := range before {
			app[pod.Name], sidecar[pod.Name] = whoIs(pod, appContainer), whoIs(pod, sidecarContainer)
			Expect(app[pod.Name].Image).To(Equal(image("v1")))
			writeFile(pod, appContainer, dataPath+"/note", "written by v1 of "+pod.Name)
		}

		release(set, "v2")
		settleReal(set)

		after := podsOf(set)
		Expect(uids(after)).To(Equal(uids(before)), "the pods' UIDs")
		Expect(each(after, podIP)).To(Equal(each(before, podIP)), "the pods' addresses")
		for i, pod := range after {
			By("asking pod " + pod.Name)
			now, then := whoIs(pod, appContainer), app[pod.Name]
			Expect(now.Image).To(Equal(image("v2")), "the image that the running process was packed with")
			Expect(now.Started).To(BeTemporally(">", then.Started), "the start of the process")
			Expect(containerOf(pod, appContainer).RestartCount).To(Equal(int32(1)), "restarts of the container")
			Expect(containerOf(pod, appContainer).ContainerID).NotTo(Equal(containerOf(before[i], appContainer).ContainerID))
			Expect(readFile(pod, appContainer, dataPath+"/note")).To(Equal("written by v1 of " + pod.Name))

			beside := whoIs(pod, sidecarContainer)
			Expect(beside.Started).To(BeTemporally("==", sidecar[pod.Name].Started), "the start of the other container's process")
			Expect(containerOf(pod, sidecarContainer)).To(Equal(containerOf(before[i], sidecarContainer)), "the other container's status")
			Expect(readFile(pod, sidecarContainer, dataPath+"/note")).To(Equal("written by v1 of " + pod.Name))
		}
	})

	It("takes the pod first whose server says that it is not ready", func() {
		set := realCloneSet.build("web", 2, realTemplate("web")).(*kruisev1alpha1.CloneSet)
		set.Spec.UpdateStrategy.Partition = ptr.To(intstr.FromInt32(1))
		createReal(set)
		settleReal(set)
		before := podsOf(set)
		tell(before[1], appContainer, "/ready?is=no")
		Eventually(func() bool { return containerOf(podsOf(set)[1], appContainer).Ready }).Should(BeFalse())

		release(set, "v2")
		settleReal(set)

		after := podsOf(set)
		Expect(whoIs(after[0], appContainer).Version).To(Equal("v1"))
		Expect(whoIs(after[1], appContainer).Version).To(Equal("v2"))
		Expect(uids(after)).To(Equal(uids(before)), "the pods' UIDs")
	})
})

func podIP(pod *corev1.Pod) string { return pod.Status.PodIP }
