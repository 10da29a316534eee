// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/builders"
)

var _ = Describe("What others do to pods", func() {
	DescribeTable("is made good by one new pod", func(do func(*corev1.Pod)) {
		set := created(builders.CloneSet("web").Replicas(3))
		before := podsOf(set)
		do(before[1])
		Eventually(func(g Gomega) {
			g.Expect(podsOf(set)).To(HaveLen(3))
			g.Expect(uids(podsOf(set))).NotTo(ContainElement(before[1].UID))
		}).Should(Succeed())
		settle(set)
		Expect(uids(podsOf(set))).To(ContainElements(before[0].UID, before[2].UID))
		created := beginning(set)
		Expect(created.podWrites()).To(HaveLen(4), "pods that the manager has ever written to")
		Expect(created.judge(3).pods).To(Equal(3))
	},
		Entry("when a person deletes a pod", func(pod *corev1.Pod) { Expect(cluster.Delete(testCtx, pod)).To(Succeed()) }),
		Entry("when a pod is evicted", func(pod *corev1.Pod) {
			Expect(cluster.SubResource("eviction").Create(testCtx, pod, &policyv1.Eviction{})).To(Succeed())
		}),
		Entry("when a node gives a pod up", func(pod *corev1.Pod) {
			failed := pod.DeepCopy()
			failed.Status.Phase, failed.Status.Reason = corev1.PodFailed, "Evicted"
			Expect(cluster.Status().Patch(testCtx, failed, client.MergeFrom(pod))).To(Succeed())
		}),
	)

	It("lets a pod go whose labels no longer match, and fills its place", func() {
		set := created(builders.CloneSet("web").Replicas(3))
		released := podsOf(set)[0]
		patchPod(released, func(p *corev1.Pod) { p.Labels["app"] = "debugging" })
		Eventually(func(g Gomega) {
			now := &corev1.Pod{}
			g.Expect(cluster.Get(testCtx, client.ObjectKeyFromObject(released), now)).To(Succeed())
			g.Expect(now.UID).To(Equal(released.UID))
			g.Expect(metav1.GetControllerOf(now)).To(BeNil(), "the controller of the released pod")
			g.Expect(now.DeletionTimestamp).To(BeNil())
			g.Expect(podsOf(set)).To(HaveLen(3))
		}).Should(Succeed())
		settle(set)
		Expect(uids(podsOf(set))).NotTo(ContainElement(released.UID))
	})

	It("chooses whom the scaling in takes: the cheapest to delete", func() {
		set := created(builders.CloneSet("web").Replicas(6))
		pods := podsOf(set)
		var want []types.UID
		for i, cost := range []string{"", "-10", "100", "", "-5", "7"} {
			if cost != "" {
				patchPod(pods[i], func(p *corev1.Pod) {
					p.Annotations = map[string]string{kruisev1alpha1.AnnotationPodDeletionCost: cost}
				})
			}
			if cost != "-10" && cost != "-5" {
				want = append(want, pods[i].UID)
			}
		}
		scaleTo(set, 4)
		settle(set)
		Eventually(func() []types.UID { return uids(podsOf(set)) }).Should(ConsistOf(want))
	})

	It("names pods to replace, and the manager replaces these within the allowance", func() {
		set := created(builders.CloneSet("web").Replicas(4).MaxUnavailable("1"))
		pods := podsOf(set)
		chapter := from(set)
		change(set, func(now *kruisev1alpha1.CloneSet) {
			now.Spec.ScaleStrategy.PodsToDelete = []string{pods[0].Name, pods[3].Name}
		})
		Eventually(func(g Gomega) {
			g.Expect(podsOf(set)).To(HaveLen(4))
			g.Expect(uids(podsOf(set))).NotTo(ContainElements(pods[0].UID, pods[3].UID))
			g.Expect(uids(podsOf(set))).To(ContainElements(pods[1].UID, pods[2].UID))
		}).Should(Succeed())
		settle(set)
		Expect(chapter.judge(4).unavailable).To(Equal(1))
	})
})
