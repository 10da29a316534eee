// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/builders"
)

// patient is a set that gets a broken version.
type patient struct {
	built             *builders.StatefulSetBuilder
	set               *kruisev1beta1.StatefulSet
	parallel, inPlace bool
	// cure is the version that it gets next.
	cure string
	// stuck are the pods that the broken version stops at, the highest ordinal first.
	stuck []string
	// fallen is the chapter of everything, and cured the one that begins with the cure.
	fallen, cured *chapter
}

const (
	replicasOfPatients = 3
	// atOnce is how many pods of parallel patients may be unavailable.
	atOnce = 2
)

// patients are sets in order and in parallel, in place and by new pods, for each of the cures.
func patients(cures ...string) (all []*patient) {
	for _, cure := range cures {
		for kind := range 4 {
			p := &patient{parallel: kind&1 != 0, inPlace: kind&2 != 0, cure: cure}
			name := map[bool]string{false: "ordered", true: "parallel"}[p.parallel] + map[bool]string{false: "-anew-", true: "-in-place-"}[p.inPlace] + cure
			p.built = builders.StatefulSet(name).Replicas(replicasOfPatients)
			if p.parallel {
				p.built.Parallel().MaxUnavailable(fmt.Sprint(atOnce))
			}
			if p.inPlace {
				p.built.InPlace()
			}
			all = append(all, p)
		}
	}
	return all
}

func (p *patient) unavailable() int {
	if p.parallel {
		return atOnce
	}
	return 1
}

// costs are the writes to a pod, from the broken version to the end; nil for one that has nothing to do with it.
func (p *patient) costs(pod string) map[audit.Kind]int {
	times := 0
	if slices.Contains(p.stuck, pod) {
		times++
	}
	if p.cure != "v1" || times > 0 {
		times++
	}
	switch {
	case times == 0:
		return nil
	case p.inPlace:
		return map[audit.Kind]int{status: 2 * times, patch: times}
	default:
		return map[audit.Kind]int{deletion: times, creation: times}
	}
}

var _ = Describe("A StatefulSet with a broken version", func() {
	It("heals by the next version or by the one before, without anybody deleting a pod", func(ctx SpecContext) {
		cluster.startIn(ctx, soon)
		all := patients("v3", "v1")
		for _, p := range all {
			p.set = create(p.built)
		}
		for _, p := range all {
			settle(p.set)
			p.fallen = from(p.set)
			release(p.set, "v2-broken")
		}
		for _, p := range all {
			stuck := namesOf(stopAt(p.set, "v2-broken", p.unavailable()))
			for i := range p.unavailable() {
				p.stuck = append(p.stuck, fmt.Sprintf("%s-%d", p.set.Name, replicasOfPatients-1-i))
			}
			Expect(stuck).To(ConsistOf(p.stuck), "pods that got the broken version")
		}
		Eventually(func(g Gomega) { // the last word about pods that got stuck may come late, but it comes
			stopped := from(all[0].set)
			g.Consistently(stopped.managerWrites, quiet).Should(BeEmpty(), "writes for sets that wait for their pods")
		}).Should(Succeed())
		for _, p := range all {
			p.cured = from(p.set)
			release(p.set, p.cure)
		}
		for _, p := range all {
			p.judge()
		}
	})

	It("heals when there never was another version", func(ctx SpecContext) {
		cluster.startIn(ctx, soon)
		all := patients("v1")
		for _, p := range all {
			p.set = create(p.built.With(func(set *kruisev1beta1.StatefulSet) {
				viewOf(set).template.Spec.Containers[0].Image = image("v0-broken")
			}))
		}
		for _, p := range all {
			if p.parallel {
				stuckAt(p.set, "v0-broken", replicasOfPatients, 0)
			} else {
				Expect(namesOf(stuckAt(p.set, "v0-broken", 1, 0))).To(HaveExactElements(p.set.Name + "-0"))
			}
			release(p.set, p.cure)
		}
		for _, p := range all {
			now := settle(p.set)
			Expect(now.Status.CurrentRevision).To(Equal(now.Status.UpdateRevision))
			Expect(images(podsOf(p.set))).To(HaveEach(image(p.cure)))
			if !p.parallel {
				Expect(beginning(p.set).disorder()).To(BeEmpty(), "how the pods of %s came", p.set.Name)
			}
		}
	})
})

// judge waits until the set has healed, and looks how.
func (p *patient) judge() {
	GinkgoHelper()
	name := p.set.Name
	now := settle(p.set)
	Expect(now.Status.CurrentRevision).To(Equal(now.Status.UpdateRevision), "the revision of %s", name)
	Expect(images(podsOf(p.set))).To(HaveEach(image(p.cure)), "images of %s", name)

	asked, accepted := p.fallen.podWrites(), p.fallen.acceptedPodWrites()
	var kept []string
	for _, pod := range p.fallen.names() {
		costs := p.costs(pod)
		Expect(accepted[pod]).To(Equal(costs), "writes to pod %s", pod)
		if costs == nil {
			Expect(asked).NotTo(HaveKey(pod), "pods that were written to")
		}
		if costs == nil || p.inPlace {
			kept = append(kept, pod)
		}
	}
	Expect(p.cured.order()[:len(p.stuck)]).To(ConsistOf(p.stuck), "pods of %s that are cured first", name)

	verdict := p.fallen.judge(replicasOfPatients)
	Expect(verdict.unavailable).To(Equal(p.unavailable()), "unavailable pods of %s at the worst moment", name)
	Expect(verdict.pods).To(Equal(replicasOfPatients))
	if !p.parallel {
		Expect(p.fallen.disorder()).To(BeEmpty(), "how %s was released", name)
	}
	Expect(verdict.kept).To(Equal(kept), "pods of %s with the same UID and IP", name)
}
