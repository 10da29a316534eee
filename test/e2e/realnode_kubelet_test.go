// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/localcluster"
)

var _ = describeReal("a kubelet that dies in the middle of a release", func() {
	ofEveryKind("finds the pods as they were, and starts no container twice", func(kind realKind) {
		set := createReal(kind.build("web", 2, realTemplate("web")))
		settleReal(set)
		before := podsOf(set)

		release(set, "v2")
		Eventually(func() []string { return images(podsOf(set)) }).Should(ContainElement(image("v2")))
		killOnRealNode("kubelet")
		settleReal(set)

		after := podsOf(set)
		Expect(uids(after)).To(Equal(uids(before)), "the pods' UIDs")
		Expect(each(after, podIP)).To(Equal(each(before, podIP)), "the pods' addresses")
		for i, pod := range after {
			Expect(whoIs(pod, appContainer).Image).To(Equal(image("v2")))
			Expect(containerOf(pod, appContainer).RestartCount).To(Equal(int32(1)), "restarts of the container")
			Expect(containerOf(pod, sidecarContainer).ContainerID).To(Equal(containerOf(before[i], sidecarContainer).ContainerID))
		}
	})

	It("leaves a set that is settled alone", func() {
		set := createReal(realCloneSet.build("web", 1, realTemplate("web")))
		settleReal(set)
		before := whoIs(podsOf(set)[0], appContainer)
		killOnRealNode("kubelet")
		Consistently(func(g Gomega) {
			pods := podsOf(set)
			g.Expect(pods).To(HaveLen(1))
			g.Expect(containerOf(pods[0], appContainer).RestartCount).To(BeZero())
			g.Expect(pods[0].Status.Phase).To(Equal(corev1.PodRunning))
		}, quiet).Should(Succeed())
		Expect(whoIs(podsOf(set)[0], appContainer).Started).To(BeTemporally("==", before.Started))
	})
})

// killOnRealNode kills "kubelet" or "containerd" and waits until the node has started it again.
func killOnRealNode(program string) {
	GinkgoHelper()
	running := func() int {
		pid, err := localcluster.RealNodePID(cluster.root, program)
		Expect(err).NotTo(HaveOccurred())
		return pid
	}
	killed := running()
	Expect(killed).NotTo(BeZero(), "%s does not run", program)
	Expect(syscall.Kill(killed, syscall.SIGKILL)).To(Succeed())
	Eventually(running).ShouldNot(Or(BeZero(), Equal(killed)), "the process of the next %s", program)
}
