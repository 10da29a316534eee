// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
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
		Consistently(rest.managerWrites, quiet).Should(BeEmpty(), "writes for a settled set")
	})

	It("changes a container only when the pod has been out of service for the grace period", func() {
		const grace = 3
		// The grace period runs from the decision, and the pod leaves service one write later.
		const oneWrite = 250 * time.Millisecond
		set := created(builders.CloneSet("web").Replicas(6).InPlace().MaxUnavailable("50%").Grace(grace))
		chapter := from(set)
		pokes := int32(10)
		release(set, "v2")
		Eventually(func() int { // whatever happens meanwhile must not shorten it
			pokes++
			change(set, func(spec *kruisev1alpha1.CloneSetSpec) { spec.RevisionHistoryLimit = ptr.To(pokes) })
			return running(set, "v2")
		}).Should(Equal(6))
		settle(set)
		verdict := chapter.judge(6)
		Expect(verdict.kept).To(Equal(chapter.names()))
		Expect(verdict.unavailable).To(BeNumerically("<=", 3))

		drained, changed := map[string]time.Time{}, map[string]time.Time{}
		for _, write := range in(cluster.audit.pods[chapter.pods:], set.Namespace) {
			if !write.Accepted() || len(write.Pods) != 1 {
				continue
			}
			pod := &write.Pods[0]
			if _, known := drained[pod.Name]; !known && !audit.Available(pod, 0, write.At) {
				drained[pod.Name] = write.At
			}
			if _, known := changed[pod.Name]; !known && pod.Spec.Containers[0].Image == image("v2") {
				Expect(gate(pod)).To(Equal(corev1.ConditionFalse), "the gate of pod %s when its image changes", pod.Name)
				changed[pod.Name] = write.At
			}
		}
		Expect(changed).To(HaveLen(6))
		for name, at := range changed {
			Expect(drained).To(HaveKey(name))
			Expect(at.Sub(drained[name])).To(BeNumerically(">=", grace*time.Second-oneWrite), "time that pod %s was out of service before it changed", name)
			say("pod %s changed %s after it had left service", name, at.Sub(drained[name]).Round(time.Millisecond))
		}
	})
})

// gate is the status of the pod's readiness gate for updates in place.
func gate(pod *corev1.Pod) corev1.ConditionStatus {
	for _, c := range pod.Status.Conditions {
		if c.Type == kruisev1alpha1.ConditionInPlaceUpdateReady {
			return c.Status
		}
	}
	return ""
}
