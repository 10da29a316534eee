// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/builders"
)

const (
	// soon is how long containers take to start where many pods do so one after the other.
	soon = 50 * time.Millisecond
	// inTurn is how long that may take.
	inTurn = 3 * patience
)

// orderly is a set whose pods wait for one another, and what its release is.
type orderly struct {
	set      *kruisev1beta1.StatefulSet
	replicas int
	release  func(client.Object)
	// keeps: its pods are updated in place.
	keeps bool
	// writes are those to each pod.
	writes  map[audit.Kind]int
	chapter *chapter
}

var _ = Describe("An ordered release", func() {
	It("goes from the highest ordinal down, never has more than one pod out of service, and costs three writes a pod", func(ctx SpecContext) {
		cluster.startIn(ctx, soon)
		sets := []*orderly{ // at the same time
			{set: create(builders.StatefulSet("in-place").Replicas(50).InPlace()), replicas: 50, release: newImage, keeps: true,
				writes: map[audit.Kind]int{status: 2, patch: 1}},
			{set: create(builders.StatefulSet("anew").Replicas(50).InPlace()), replicas: 50, release: newVariable,
				writes: map[audit.Kind]int{deletion: 1, creation: 1, status: 1}},
			// Pods that are never updated in place have no gate to turn on.
			{set: create(builders.StatefulSet("gateless").Replicas(5)), replicas: 5, release: newImage,
				writes: map[audit.Kind]int{deletion: 1, creation: 1}},
		}
		began := time.Now()
		for _, o := range sets {
			settleWithin(inTurn, o.set)
			Expect(beginning(o.set).disorder()).To(BeEmpty(), "how the pods of %s came", o.set.Name)
			o.chapter = from(o.set)
		}
		say("the pods came within %s", time.Since(began).Round(time.Second))
		began = time.Now()
		for _, o := range sets {
			change[client.Object](o.set, o.release)
		}
		for _, o := range sets {
			o.judge()
		}
		say("and were released within %s", time.Since(began).Round(time.Second))

		rest := from(sets[0].set)
		Consistently(func() []string {
			for _, o := range sets {
				wake(o.set)
			}
			return rest.managerWrites()
		}, quiet).Should(BeEmpty(), "writes for settled sets")
	})
})

func (o *orderly) judge() {
	GinkgoHelper()
	now := settleWithin(inTurn, o.set)
	Expect(now.Status.CurrentRevision).To(Equal(now.Status.UpdateRevision))
	Expect(o.chapter.disorder()).To(BeEmpty(), "how %s was released", o.set.Name)
	var names []string
	for i := o.replicas - 1; i >= 0; i-- {
		names = append(names, fmt.Sprintf("%s-%d", o.set.Name, i))
	}
	Expect(o.chapter.order()).To(Equal(names), "the pods in the order of their updates")
	verdict := o.chapter.judge(o.replicas)
	Expect(verdict.unavailable).To(Equal(1), "unavailable pods of %s at the worst moment", o.set.Name)
	Expect(verdict.pods).To(Equal(o.replicas), "pods of %s at any moment", o.set.Name)
	if o.keeps {
		Expect(verdict.kept).To(Equal(o.chapter.names()), "pods of %s with the same UID and IP", o.set.Name)
	} else {
		Expect(verdict.kept).To(BeEmpty())
	}
	asked, accepted := o.chapter.podWrites(), o.chapter.acceptedPodWrites()
	for name, kinds := range accepted {
		Expect(kinds).To(Equal(o.writes), "writes that updated pod %s", name)
	}
	Expect(accepted).To(HaveLen(o.replicas))
	for _, kind := range []audit.Kind{creation, deletion, patch} {
		Expect(byKind(asked)[kind]).To(Equal(byKind(accepted)[kind]), "%s of pods of %s, the refused ones with them", kind, o.set.Name)
	}
	say("%s: %d pods, %d writes of pods, %d more refused", o.set.Name, o.replicas, accepted.Total(), asked.Total()-accepted.Total())
}
