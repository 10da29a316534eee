// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

const (
	// enough is how many requests have to be made while releases are under way, and several how many releases.
	enough, several = 5000, 3
	// graceSeconds is more than what a proxy takes to notice that a pod has left service. It need not be more than what a
	// kubelet takes: one that is late reports the pod ready once more, and the period begins after that.
	graceSeconds = 5
	// contradicted is a release in place during which each drained pod is reported ready once more.
	contradicted = "in place with a late node"
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
			func() {
				Expect(lostInReleases(realCloneSet, contradicted, inPlaceWithGrace)).To(BeZero(), "lost requests")
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
	if how == contradicted {
		defer contradict(set)()
	}

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
	inPlace := strings.HasPrefix(how, "in place")
	if inPlace {
		out := outOfServiceBefore(set)
		say("%s, %s: %d changes of a container, each at least %s after endpoints had the pod for the last time; %d times a pod was reported ready again in its grace period",
			kind.name, how, out.changes, out.least.Round(time.Millisecond), out.returns)
		Expect(out.changes).To(Equal(3*releases), "changes of a container")
		Expect(out.serving).To(BeEmpty(), "containers that changed while endpoints had the pod")
		if how == contradicted { // on a machine that is loaded, some periods are over before
			Expect(out.returns).To(BeNumerically(">=", releases), "times that a pod came back")
		}
	}
	kept := slices.ContainsFunc(podsOf(set), func(pod *corev1.Pod) bool { return pod.UID == before[0].UID })
	Expect(kept).To(Equal(inPlace), "whether the pods are still the same")
	return tally.lost
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
