// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"slipway.dev/slipway/test/builders"
)

var _ = Describe("A bad version", func() {
	It("stops within the allowance, and a good one goes through without deleting anything", func() {
		set := created(builders.CloneSet("web").Replicas(12).InPlace().MaxUnavailable("25%"))
		chapter := from(set)
		release(set, "v2-broken")
		stopAt(set, "v2-broken", 3)
		Eventually(func(g Gomega) { // the last word about pods that got stuck may come late, but it comes
			stopped := from(set)
			g.Consistently(stopped.managerWrites, quiet).Should(BeEmpty(), "writes for a set that waits for its pods")
		}).Should(Succeed())

		release(set, "v3")
		settle(set)
		verdict := chapter.judge(12)
		Expect(verdict.kept).To(Equal(chapter.names()))
		Expect(verdict.unavailable).To(BeNumerically("<=", 3))
		Expect(images(podsOf(set))).To(HaveEach(image("v3")))
		Expect(byKind(chapter.podWrites())).NotTo(HaveKey(deletion))
	})

	DescribeTable("never blocks the version that follows it, be it newer or older", func(bad string) {
		set := created(builders.CloneSet("web").Replicas(6).InPlace().MaxUnavailable("2"))
		first := revisionsOf(set)[0]
		chapter := from(set)

		release(set, "v2-"+bad)
		stopAt(set, "v2-"+bad, 2)
		release(set, "v3")
		settle(set)

		release(set, "v4-"+bad)
		stopAt(set, "v4-"+bad, 2)
		release(set, "v1")
		now := settle(set)

		verdict := chapter.judge(6)
		Expect(verdict.kept).To(Equal(chapter.names()))
		Expect(verdict.unavailable).To(BeNumerically("<=", 2))
		Expect(images(podsOf(set))).To(HaveEach(image("v1")))
		Expect(now.Status.UpdateRevision).To(Equal(first.Name), "the revision that the set went back to")
		revisions := revisionsOf(set)
		Expect(revisions).To(HaveLen(4), "one revision for each version")
		newest := revisions[len(revisions)-1]
		Expect(newest.UID).To(Equal(first.UID), "the revision with the highest number")
		Expect(newest.Revision).To(Equal(int64(5)))
	},
		Entry("when it never becomes ready", "broken"),
		Entry("when it crashes again and again", "crash"),
		Entry("when its image cannot be pulled", "missing"),
	)
})
