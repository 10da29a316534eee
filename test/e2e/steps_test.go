// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/builders"
)

var _ = Describe("A release in steps", func() {
	It("goes as far as the partition, and on when that is lowered", func() {
		set := created(builders.CloneSet("web").Replicas(12).InPlace().MaxUnavailable("50%").Partition("75%"))
		old := get(set).Status.UpdateRevision
		chapter := from(set)
		release(set, "v2")
		now := settle(set)
		Expect(now.Status.UpdatedReplicas).To(Equal(int32(3)))
		Expect(now.Status.CurrentRevision).To(Equal(old), "the revision of the pods that stay")
		Expect(running(set, "v2")).To(Equal(3))
		rest := from(set)
		Consistently(rest.managerWrites, quiet).Should(BeEmpty(), "writes for a set that has reached its partition")

		change(set, func(now *kruisev1alpha1.CloneSet) { now.Spec.UpdateStrategy.Partition = ptr.To(intstr.FromInt32(0)) })
		now = settle(set)
		Expect(now.Status.CurrentRevision).To(Equal(now.Status.UpdateRevision))
		Expect(running(set, "v2")).To(Equal(12))
		verdict := chapter.judge(12)
		Expect(verdict.kept).To(Equal(chapter.names()))
		Expect(verdict.unavailable).To(BeNumerically("<=", 6))
	})

	It("waits while it is paused, but scales", func() {
		set := created(builders.CloneSet("web").Replicas(4).InPlace().MaxUnavailable("50%"))
		first := podsOf(set)
		change(set, func(now *kruisev1alpha1.CloneSet) {
			now.Spec.UpdateStrategy.Paused = true
			now.Spec.Template.Spec.Containers[0].Image = image("v2")
		})
		Eventually(func(g Gomega) {
			now := get(set)
			g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
			g.Expect(viewOf(now).ready.Status).To(Equal(metav1.ConditionFalse))
			g.Expect(viewOf(now).ready.Message).To(ContainSubstring("paused with 4 pods to update"))
		}).Should(Succeed())
		scaleTo(set, 6)
		Eventually(func() int32 { return get(set).Status.AvailableReplicas }).Should(Equal(int32(6)))
		Expect(running(set, "v1")).To(Equal(4), "pods that were there when the release was paused")
		Expect(running(set, "v2")).To(Equal(2), "pods that came since")

		change(set, func(now *kruisev1alpha1.CloneSet) { now.Spec.UpdateStrategy.Paused = false })
		settle(set)
		Expect(running(set, "v2")).To(Equal(6))
		Expect(uids(podsOf(set))).To(ContainElements(uids(first)))
	})

	It("follows a change of the replicas in its middle, down to none", func() {
		set := created(builders.CloneSet("web").Replicas(8).InPlace().MaxUnavailable("2"))
		first := podsOf(set)
		release(set, "v2")
		Eventually(func() int { return running(set, "v2") }).Should(BeNumerically(">=", 2))
		scaleTo(set, 11)
		settle(set)
		Expect(uids(podsOf(set))).To(ContainElements(uids(first)))
		Expect(running(set, "v2")).To(Equal(11))

		release(set, "v3")
		Eventually(func() int { return running(set, "v3") }).Should(BeNumerically(">=", 2))
		scaleTo(set, 5)
		settle(set)
		Expect(running(set, "v3")).To(Equal(5))

		scaleTo(set, 0)
		now := settle(set)
		Expect(now.Status.Replicas).To(BeZero())
		Eventually(func() []*corev1.Pod { return podsOf(set) }).Should(BeEmpty())
	})
})
