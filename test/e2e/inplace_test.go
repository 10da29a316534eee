// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/builders"
)

// The kinds of writes that the manager makes to pods.
var (
	creation = audit.Kind{Verb: "create"}
	patch    = audit.Kind{Verb: "patch"}
	status   = audit.Kind{Verb: "patch", Subresource: "status"}
	deletion = audit.Kind{Verb: "delete"}
)

// quiet is how long a settled set is watched for writes that it must not cause.
const quiet = 3 * time.Second

var _ = Describe("A release in place", func() {
	It("keeps every pod, stays within the allowance, and costs three writes a pod", func() {
		set := create(builders.CloneSet("web").Replicas(12).InPlace().MaxUnavailable("25%"))
		settle(set)
		accepted := beginning(set).acceptedPodWrites()
		for name, kinds := range accepted {
			Expect(kinds).To(Equal(map[audit.Kind]int{creation: 1, status: 1}), "writes that created pod %s", name)
		}
		Expect(accepted).To(HaveLen(12))
		// Scheduler and node write to a new pod at the same time, so some of ours come too late and are repeated.
		say("12 pods created, %d writes refused", beginning(set).podWrites().Total()-accepted.Total())
		old := get(set).Status.UpdateRevision

		chapter := from(set)
		release(set, "v2")
		now := settle(set)
		verdict := chapter.judge(12)

		Expect(verdict.kept).To(Equal(chapter.names()), "pods with the same UID and IP")
		Expect(verdict.unavailable).To(BeNumerically("<=", 3), "unavailable pods at the worst moment")
		Expect(verdict.pods).To(Equal(12), "pods at any moment")
		Expect(now.Status.UpdateRevision).NotTo(Equal(old))
		Expect(now.Status.CurrentRevision).To(Equal(now.Status.UpdateRevision))
		for _, pod := range podsOf(set) {
			Expect(pod.Labels[kruisev1alpha1.LabelRevision]).To(Equal(now.Status.UpdateRevision))
			Expect(pod.Spec.Containers[0].Image).To(Equal(image("v2")))
			Expect(pod.Status.ContainerStatuses[0].Image).To(Equal(image("v2")))
			Expect(pod.Status.ContainerStatuses[0].RestartCount).To(Equal(int32(1)))
		}
		writes := chapter.podWrites()
		for name, kinds := range writes {
			Expect(kinds).To(Equal(map[audit.Kind]int{status: 2, patch: 1}), "writes that updated pod %s", name)
		}
		Expect(writes).To(HaveLen(12))
		Expect(reasons(set)).To(ContainElements("SuccessfulCreate", "SuccessfulUpdatePodInPlace"))
		say("12 pods, at most %d unavailable, %d writes of pods, %d writes of all", verdict.unavailable, writes.Total(), len(chapter.managerWrites()))

		rest := from(set)
		Consistently(func() []string {
			wake(set)
			return rest.managerWrites()
		}, quiet).Should(BeEmpty(), "writes for a settled set")
	})

	It("changes a container only when the pod has been out of service for the grace period", func() {
		const (
			grace = 3
			// The grace period runs from the decision, and the pod leaves service one write later.
			oneWrite = 250 * time.Millisecond
			// Annotations count whole seconds, so the releases begin at different parts of one.
			count = 8
			apart = time.Second / count
		)
		sets := make([]*kruisev1alpha1.CloneSet, count)
		chapters := make([]*chapter, count)
		for i := range sets {
			sets[i] = create(builders.CloneSet(fmt.Sprintf("web-%d", i)).Replicas(1).InPlace().MaxUnavailable("1").Grace(grace))
		}
		for i, set := range sets {
			settle(set)
			chapters[i] = from(set)
		}
		tick := time.NewTicker(apart)
		defer tick.Stop()
		for _, set := range sets {
			release(set, "v2")
			<-tick.C
		}
		limit := int32(10)
		for _, set := range sets {
			Eventually(func() int { // changes that wake the manager all the time must not shorten it
				limit++
				for _, each := range sets {
					change(each, func(now *kruisev1alpha1.CloneSet) { now.Spec.RevisionHistoryLimit = ptr.To(limit) })
				}
				return running(set, "v2")
			}).Should(Equal(1))
		}
		for _, c := range chapters {
			settle(c.set)
			Expect(c.judge(1).kept).To(Equal(c.names()))
			pause := c.pause(image("v2"))
			Expect(pause).To(BeNumerically(">=", grace*time.Second-oneWrite), "time that the pod of %s was out of service before it changed", c.set.GetName())
			say("the pod of %s changed %s after it had left service", c.set.GetName(), pause.Round(time.Millisecond))
		}
	})
})

// pause is the time between the moment when the chapter's only pod left service and the one when it got the image.
func (c *chapter) pause(image string) time.Duration {
	GinkgoHelper()
	var drained time.Time
	for _, write := range audit.InOrder(in(cluster.audit.pods[c.pods:], c.set.GetNamespace())) {
		if !metav1.IsControlledBy(&write.Pods[0], c.set) {
			continue
		}
		pod := &write.Pods[0]
		if pod.Spec.Containers[0].Image == image {
			Expect(gate(pod)).To(Equal(corev1.ConditionFalse), "the gate of pod %s when its image changes", pod.Name)
			Expect(drained).NotTo(BeZero())
			return write.At.Sub(drained)
		}
		if drained.IsZero() && !audit.Available(pod, 0, write.At) {
			drained = write.At
		}
	}
	Fail("the pod never got " + image)
	return 0
}

// gate is the status of the pod's readiness gate for updates in place.
func gate(pod *corev1.Pod) corev1.ConditionStatus {
	for _, c := range pod.Status.Conditions {
		if c.Type == kruisev1alpha1.ConditionInPlaceUpdateReady {
			return c.Status
		}
	}
	return ""
}
