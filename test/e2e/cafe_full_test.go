// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/localcluster/nodes"
)

var _ = Describe("A cell without room", func() {
	It("gives its quota to the other one, once, and has it back with the next template", func(ctx SpecContext) {
		s := openShop(cafev1alpha1.InPlaceSetPodSetType, 4, 4, 1, 1)
		s.goThrough(1)
		full, other := cells[0], cells[1]
		fill(ctx, full)
		s.change(func(spec *cafev1alpha1.CafeDeploymentSpec) {
			spec.Replicas, spec.Strategy.NeedWaitingForConfirm = ptr.To[int32](6), false
			spec.Topology.AutoReschedule = cafev1alpha1.AutoReschedule{Enable: true, InitialDelaySeconds: ptr.To[int32](1)}
		})
		now := settle(s.d)

		Expect(s.podsIn(full)).To(HaveLen(2), "pods in the cell that is full")
		Expect(s.podsIn(other)).To(HaveLen(4), "pods in the other one")
		told := map[string][]int32{}
		for _, u := range now.Status.Units {
			told[u.Name] = []int32{u.Desired, u.RescheduledIn, u.RescheduledOut}
		}
		Expect(told).To(Equal(map[string][]int32{full: {2, 0, 1}, other: {4, 1, 0}}), "what each cell is to have, got, and gave up")
		Expect(reasons(s.d)).To(ContainElement("Rescheduled"))
		Expect(s.slipway("get", "cafe")).To(ContainSubstring("moved     1 out of " + full + ", 1 into " + other))
		Expect(s.made(full)).To(Equal(3), "pods that were ever made for the cell that is full")
		Expect(s.made(other)).To(Equal(4), "pods that were ever made for the other one")

		empty(ctx, full)
		release(s.d, "v2")
		settle(s.d)
		Expect(s.podsIn(full)).To(HaveLen(3))
		Expect(s.podsIn(other)).To(HaveLen(3))
		Expect(s.running("v2")).To(Equal(6))
	})
})

// fill has the nodes of a cell report no room for further pods, until the spec ends.
func fill(ctx SpecContext, cell string) {
	GinkgoHelper()
	room(ctx, cell, func(n *corev1.Node) { n.Annotations[nodes.AnnotationFull] = "true" })
	DeferCleanup(empty, cell)
}

// empty gives them their room back.
func empty(ctx SpecContext, cell string) {
	GinkgoHelper()
	room(ctx, cell, func(n *corev1.Node) { delete(n.Annotations, nodes.AnnotationFull) })
}

func room(ctx SpecContext, cell string, change func(*corev1.Node)) {
	GinkgoHelper()
	list := &corev1.NodeList{}
	Expect(cluster.List(ctx, list, client.MatchingLabels{cafev1alpha1.LabelCell: cell})).To(Succeed())
	Expect(list.Items).NotTo(BeEmpty(), "nodes of %s", cell)
	for i := range list.Items {
		changed := list.Items[i].DeepCopy()
		if changed.Annotations == nil {
			changed.Annotations = map[string]string{}
		}
		change(changed)
		Expect(cluster.Patch(ctx, changed, client.MergeFrom(&list.Items[i]))).To(Succeed())
	}
	Eventually(func(g Gomega) {
		Expect(cluster.List(ctx, list, client.MatchingLabels{cafev1alpha1.LabelCell: cell})).To(Succeed())
		for _, n := range list.Items {
			has := n.Annotations[nodes.AnnotationFull] == ""
			g.Expect(n.Status.Allocatable.Pods().IsZero()).NotTo(Equal(has), "whether %s reports that it is full", n.Name)
		}
	}).Should(Succeed())
}

// podsIn are the pods of a cell. They run on its nodes.
func (s *shop) podsIn(cell string) (found []*corev1.Pod) {
	GinkgoHelper()
	for _, pod := range s.pods() {
		if pod.Labels[cafev1alpha1.LabelUnit] != cell {
			continue
		}
		node := &corev1.Node{}
		Expect(cluster.Get(testCtx, client.ObjectKey{Name: pod.Spec.NodeName}, node)).To(Succeed())
		Expect(node.Labels[cafev1alpha1.LabelCell]).To(Equal(cell), "the cell of pod %s", pod.Name)
		found = append(found, pod)
	}
	return found
}

// made counts the pods of a cell that were ever there, by the audit log.
func (s *shop) made(cell string) int {
	GinkgoHelper()
	s.history() // waits until the log tells all
	found := map[types.UID]bool{}
	for _, write := range in(cluster.audit.pods, namespace) {
		for i := range write.Pods {
			if pod := &write.Pods[i]; pod.Labels[cafev1alpha1.LabelUnit] == cell {
				found[pod.UID] = true
			}
		}
	}
	return len(found)
}
