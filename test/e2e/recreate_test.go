// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/builders"
)

func newImage(set client.Object) {
	viewOf(set).template.Spec.Containers[0].Image = image("v2")
}

func newVariable(set client.Object) {
	viewOf(set).template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "COLOR", Value: "blue"}}
}

var _ = Describe("A release by new pods", func() {
	DescribeTable("stays within the allowance and costs three writes a pod",
		func(kind kruisev1alpha1.CloneSetUpdateStrategyType, how func(client.Object)) {
			set := created(builders.CloneSet("web").Replicas(8).Type(kind).MaxUnavailable("25%"))
			chapter := from(set)
			change[client.Object](set, how)
			now := settle(set)
			verdict := chapter.judge(8)

			Expect(verdict.kept).To(BeEmpty())
			Expect(verdict.unavailable).To(BeNumerically("<=", 2))
			Expect(verdict.pods).To(Equal(8))
			for _, pod := range podsOf(set) {
				Expect(pod.Labels[kruisev1alpha1.LabelRevision]).To(Equal(now.Status.UpdateRevision))
			}
			Expect(byKind(chapter.acceptedPodWrites())).To(Equal(map[audit.Kind]int{deletion: 8, creation: 8, status: 8}))
			Expect(reasons(set)).To(ContainElement("SuccessfulUpdatePodReCreate"))
		},
		Entry("with the type ReCreate and a new image", kruisev1alpha1.ReCreateCloneSetUpdateStrategyType, newImage),
		Entry("with the type InPlaceIfPossible and a change of the environment",
			kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType, newVariable),
	)

	DescribeTable("never has less than the replicas when it may have one more", func(kind kruisev1alpha1.CloneSetUpdateStrategyType, keeps bool) {
		set := created(builders.CloneSet("web").Replicas(4).Type(kind).MaxUnavailable("0").MaxSurge("1"))
		chapter := from(set)
		change[client.Object](set, newImage)
		settle(set)
		verdict := chapter.judge(4)

		Expect(verdict.unavailable).To(BeZero())
		Expect(verdict.pods).To(Equal(5))
		Expect(images(podsOf(set))).To(HaveEach(image("v2")))
		if !keeps {
			Expect(verdict.kept).To(BeEmpty())
		} else {
			Expect(verdict.kept).NotTo(BeEmpty())
		}
	},
		Entry("by new pods", kruisev1alpha1.ReCreateCloneSetUpdateStrategyType, false),
		Entry("in place", kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType, true),
	)
})
