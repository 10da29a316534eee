// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/test/audit"
)

const (
	// enough is how many requests have to be made while releases are under way, and several how many releases.
	enough, several = 5000, 3
	// graceSeconds is more than what a proxy takes to notice that a pod has left service. It need not be more than what a
	// kubelet takes: one that is late reports the pod ready once more, and the period begins after that.
	graceSeconds = 5
)

var _ = describeReal("a Service of three pods", func() {
	It("loses no request to a release in place with a grace period, and some to a recreation", func() {
		together(
			func() {
				Expect(lostInReleases(realCloneSet, "in place", inPlaceWithGrace)).To(BeZero(), "lost requests")
			},
			func() {
				Expect(lostInReleases(realStatefulSet, "in place", inPlaceWithGrace)).To(BeZero(), "lost requests")
			},
			func() { // the same eyes see it where requests are lost
				Expect(lostInReleases(realCloneSet, "recreated", withoutSurge)).NotTo(BeZero(), "lost requests")
			},
		)
	})
})

// lostInReleases releases a set of three pods, again and again until there were enough requests, and says how many of
// them were lost. Its server does nothing against that: it has no preStop hook, and closes its port when it is told to end.
func lostInReleases(kind realKind, how string, strategy func(client.Object)) int {
	GinkgoHelper()
	name := kind.called(strings.ReplaceAll(how, " ", "-"))
	template := realTemplate(name)
	template.Spec.Containers = template.Spec.Containers[:1]
	set := kind.build(name, 3, template)
	strategy(set)
	createReal(set)
	visitors := visit(name)
	defer visitors.goHome()
	settleReal(set)
	before := podsOf(set)
	visitors.come(len(before))

	releases, versions := 0, []string{"v2", "v3", "v1"}
	for visitors.requests() < enough || releases < several {
		release(set, versions[releases%len(versions)])
		settleReal(set)
		releases++
	}
	tally := visitors.goHome()

	say("%s, %s: %d of %d requests lost in %d releases of 3 pods; lost by reason: %s; answers by version: %s",
		kind.name, how, tally.lost, tally.made, releases, inWords(tally.reasons), inWords(tally.answers))
	Expect(tally.made).To(BeNumerically(">=", enough))
	Expect(slices.Collect(maps.Keys(tally.answers))).To(ContainElements("v1", "v2"), "the versions that answered")
	if how == "in place" {
		out := outOfServiceBefore(set)
		say("%s, %s: %d changes of a container, each at least %s after endpoints had the pod for the last time; %d times a pod was reported ready again in its grace period",
			kind.name, how, out.changes, out.least.Round(time.Millisecond), out.returns)
		Expect(out.changes).To(Equal(3*releases), "changes of a container")
		Expect(out.serving).To(BeEmpty(), "containers that changed while endpoints had the pod")
	}
	kept := slices.ContainsFunc(podsOf(set), func(pod *corev1.Pod) bool { return pod.UID == before[0].UID })
	Expect(kept).To(Equal(how == "in place"), "whether the pods are still the same")
	return tally.lost
}

// absence is what the audit log says of the changes of a set's containers.
type absence struct {
	changes, returns int
	// least is the shortest time for which a pod had not been ready when its container changed.
	least time.Duration
	// serving are the pods that were ready then.
	serving []string
}

// outOfServiceBefore goes by the condition Ready alone, as endpoints do.
func outOfServiceBefore(set client.Object) absence {
	GinkgoHelper()
	writes, _, err := audit.ReadFile(localcluster.AuditLogPath(cluster.root), 0)
	Expect(err).NotTo(HaveOccurred())
	out := absence{least: time.Hour}
	before, left := map[types.UID]*corev1.Pod{}, map[types.UID]time.Time{}
	sightings := slices.DeleteFunc(audit.Sightings(writes), func(s audit.Sighting) bool { return s.Pod == nil || !metav1.IsControlledBy(s.Pod, set) })
	slices.SortStableFunc(sightings, func(a, b audit.Sighting) int { return cmp.Compare(a.Version, b.Version) })
	for _, seen := range sightings {
		now, was := seen.Pod, before[seen.Pod.UID]
		before[now.UID] = now
		if was == nil {
			continue
		}
		if isReady(was) {
			left[now.UID] = seen.At
		}
		if was.Spec.Containers[0].Image != now.Spec.Containers[0].Image {
			out.changes++
			out.least = min(out.least, seen.At.Sub(left[now.UID]))
			if isReady(was) {
				out.serving = append(out.serving, now.Name)
			}
		}
		if _, held := now.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]; held && !isReady(was) && isReady(now) {
			out.returns++
		}
	}
	return out
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func inPlaceWithGrace(set client.Object) {
	switch set := set.(type) {
	case *kruisev1alpha1.CloneSet:
		set.Spec.UpdateStrategy.InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: graceSeconds}
	case *kruisev1beta1.StatefulSet:
		set.Spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: graceSeconds}
	}
}

// withoutSurge has pods made anew, each after the old one.
func withoutSurge(set client.Object) {
	if set, is := set.(*kruisev1alpha1.CloneSet); is {
		set.Spec.UpdateStrategy.Type = kruisev1alpha1.ReCreateCloneSetUpdateStrategyType
	}
}

// inWords lists counts by name.
func inWords(counts map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%s %d", name, counts[name]))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
