// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// quickly is how long containers take to start where there are many: not at once, or nothing would be caught in its middle.
const quickly = 200 * time.Millisecond

var _ = Describe("A CafeDeployment over two cells", Serial, func() {
	It("goes group by group as people let it, with every kind of pod sets, also when its manager is killed", func(ctx SpecContext) {
		testCtx = ctx // an interrupt must end this spec before the suite stops the last manager
		cluster.startIn(ctx, quickly)
		var shops []*shop
		for _, kind := range []cafev1alpha1.PodSetType{
			cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.CloneSetPodSetType, cafev1alpha1.AdvancedStatefulSetPodSetType,
			cafev1alpha1.StatefulSetPodSetType, cafev1alpha1.ReplicaSetPodSetType,
		} {
			shops = append(shops, openShop(kind, 10, 4, 1, 2, 2))
		}
		inAll := func(do func(*shop)) {
			GinkgoHelper()
			var all []func()
			for _, s := range shops {
				all = append(all, func() { do(s) })
			}
			together(all...)
		}

		By("bringing up the pods")
		inAll(func(s *shop) { s.goThrough(1) })

		By("releasing v2, with a manager that is killed in the middle of a group")
		inAll(func(s *shop) {
			s.release("v2", 1, 2, 2)
			s.confirmed(1)
		})
		Eventually(func() int { return shops[0].running("v2") }).Should(BeNumerically(">", 2), "pods of group 2")
		cluster.manager.kill()
		underWay := shops[0].running("v2") - 2
		Expect(underWay).To(BeNumerically("<=", 4))
		cluster.manager.start("--leader-elect=false") // the lease is still that of the killed one
		DeferCleanup(func() {
			cluster.manager.stop()
			cluster.manager.start()
		})
		say("the manager was killed when %d of 4 pods of the InPlaceSets' second group had been updated", underWay)
		inAll(func(s *shop) { s.goThrough(2) })

		By("pausing the release of v3, and going back from its middle")
		inAll(func(s *shop) {
			s.release("v3", 1, 2, 2)
			s.asked(1, cafev1alpha1.WaitingForConfirmPhase)
			s.slipway("pause")
			s.asked(1, cafev1alpha1.PausedPhase)
			Expect(s.slipway("confirm")).To(ContainSubstring("slipway resume " + s.d.Name))
		})
		Consistently(func(g Gomega) {
			for _, s := range shops {
				g.Expect(s.running("v3")).To(Equal(2), "pods of %s that run v3 in the pause", s.d.Name)
			}
		}, quiet).Should(Succeed())
		inAll(func(s *shop) {
			s.slipway("resume")
			s.asked(2, cafev1alpha1.WaitingForConfirmPhase)
			s.undo("v2", 1, 2)
			s.goThrough(1)
		})

		By("going back from a version that never becomes ready")
		inAll(func(s *shop) {
			s.release("v4-broken", 1, 2, 2)
			Eventually(func(g Gomega) {
				g.Expect(s.running("v4-broken")).To(Equal(2), "pods that run the broken version")
				g.Expect(groupsOf(get(s.d))).To(Equal(s.groups(0)))
			}).Should(Succeed())
			if s.d.Spec.PodSetType == cafev1alpha1.ReplicaSetPodSetType {
				s.undo("v2") // all that it takes is there
			} else {
				s.undo("v2", 1)
			}
			s.end()
		})

		for _, s := range shops {
			s.judge()
		}
		Eventually(func(g Gomega) { // the last word of a pod set may come late
			settled := &chapter{set: shops[0].d, writes: len(cluster.audit.writes)}
			g.Consistently(settled.managerWrites, quiet).Should(BeEmpty(), "writes for what is settled")
		}).Should(Succeed())
	})
})
