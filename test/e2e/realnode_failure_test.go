// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

var _ = describeReal("a bad version", func() {
	It("stops at one pod, and the fix goes through in place", func() {
		everyKindTogether(func(kind realKind) {
			together(
				func() { badThenFixed(kind, "missing", "ErrImageNeverPull") },
				func() { badThenFixed(kind, "crash", "CrashLoopBackOff") },
			)
		})
	})
})

// badThenFixed releases a version whose container waits for the reason that is given, and then one that works.
func badThenFixed(kind realKind, bad, reason string) {
	GinkgoHelper()
	name := kind.called(bad)
	set := createReal(kind.build(name, 2, realTemplate(name)))
	settleReal(set)
	before := podsOf(set)

	release(set, bad)
	Eventually(func() []string { return waitingFor(podsOf(set)) }).WithTimeout(realPatience).Should(ConsistOf("", reason))
	for _, pod := range podsOf(set) {
		if pod.Spec.Containers[0].Image == image(bad) {
			Expect(whoIs(pod, sidecarContainer).Version).To(Equal("v1"), "the other container of the bad pod")
			continue
		}
		Expect(whoIs(pod, appContainer).Version).To(Equal("v1"), "the version of the pod that was not updated")
		Expect(containerOf(pod, appContainer).RestartCount).To(BeZero())
	}

	release(set, "v2")
	settleReal(set)
	after := podsOf(set)
	Expect(uids(after)).To(Equal(uids(before)), "the pods' UIDs")
	Expect(each(after, podIP)).To(Equal(each(before, podIP)), "the pods' addresses")
	for i, pod := range after {
		Expect(whoIs(pod, appContainer).Version).To(Equal("v2"))
		Expect(containerOf(pod, sidecarContainer)).To(Equal(containerOf(before[i], sidecarContainer)), "the other container's status")
	}
}

// waitingFor says of each pod why its container app does not run; nothing if it does.
func waitingFor(pods []*corev1.Pod) []string {
	return each(pods, func(pod *corev1.Pod) string {
		if waiting := containerOf(pod, appContainer).State.Waiting; waiting != nil {
			return waiting.Reason
		}
		return ""
	})
}
