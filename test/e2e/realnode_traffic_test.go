// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/localcluster/realnode"
	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/builders"
)

const (
	component = "lb"
	// drain is more than what a proxy takes to notice that a pod is no backend any more, also on a machine that is loaded.
	drain = 8 * time.Second
	// realCell is the cell of the real node, and of no other.
	realCell = "cell-real"
)

var _ = describeReal("pods that a component routes traffic to", func() {
	It("lose no request to releases in place and to scaling in", func(ctx SpecContext) {
		inRealCell(ctx)
		startComponent("--component="+component, "--delay="+drain.String(), "--service=front", "--port=8080")
		set := createReal(builders.InPlaceSet("web").Replicas(3).Traffic(component).With(func(s *cafev1alpha1.InPlaceSet) { s.Spec.Template = routedTemplate("web") }).Build())
		s := &shop{d: createReal(routedShop())}
		visitors := visitService("front", nil)
		defer visitors.goHome()
		settleReal(set)
		s.confirmOnce()
		before := slices.Concat(podsOf(set), s.pods())
		Expect(before).To(HaveLen(5))
		visitors.come(len(before))

		releases, versions := 0, []string{"v2", "v3", "v1"}
		for visitors.requests() < enough || releases < 2 {
			version := versions[releases%len(versions)]
			release(set, version)
			release(s.d, version)
			s.confirmOnce()
			settleReal(set)
			releases++
			after := slices.Concat(podsOf(set), s.pods())
			Expect(uids(after)).To(Equal(uids(before)), "the pods' UIDs")
			Expect(each(after, podIP)).To(Equal(each(before, podIP)), "the pods' addresses")
			for _, pod := range after {
				Expect(whoIs(pod, appContainer).Image).To(Equal(image(version)), "the image that the process of %s was packed with", pod.Name)
			}
		}
		scaleTo(set, 2)
		settleReal(set)
		Eventually(func() []*corev1.Pod { return podsOf(set) }).WithTimeout(realPatience).Should(HaveLen(2))
		tally := visitors.goHome()

		say("%d of %d requests lost in %d releases of 5 pods, and a scaling in; lost by reason: %s; answers by version: %s",
			tally.lost, tally.made, releases, inWords(tally.reasons), inWords(tally.answers))
		Expect(tally.lost).To(BeZero(), "lost requests")
		Expect(tally.made).To(BeNumerically(">=", enough))
		Expect(tally.answers).To(And(HaveKey("v1"), HaveKey("v2"), HaveKey("v3")), "the versions that answered")
		changes, deletions := routedChanges(append(s.sets(), set))
		Expect(changes).To(Equal(5*releases), "changes of containers")
		Expect(deletions).To(Equal(1), "deletions")
	})
})

// inRealCell puts the real node into a cell of its own, until the spec ends.
func inRealCell(ctx SpecContext) {
	GinkgoHelper()
	label := func(how func(*corev1.Node)) {
		GinkgoHelper()
		list := &corev1.NodeList{}
		Expect(cluster.List(ctx, list, client.MatchingLabels{realnode.Label: "true"})).To(Succeed())
		Expect(list.Items).To(HaveLen(1))
		labelled := list.Items[0].DeepCopy()
		how(labelled)
		Expect(cluster.Patch(testCtx, labelled, client.MergeFrom(&list.Items[0]))).To(Succeed())
	}
	label(func(n *corev1.Node) { n.Labels[cafev1alpha1.LabelCell] = realCell })
	DeferCleanup(func(end SpecContext) {
		ctx = end
		label(func(n *corev1.Node) { delete(n.Labels, cafev1alpha1.LabelCell) })
	})
}

// routedTemplate is of pods with one container, whose server does nothing against lost requests: it has no preStop hook, and
// closes its port when it is told to end.
func routedTemplate(app string) corev1.PodTemplateSpec {
	template := realTemplate(app)
	template.Spec.Containers = template.Spec.Containers[:1]
	return template
}

// routedShop has two pods in the cell of the real node, and a person who is asked after the first.
func routedShop() *cafev1alpha1.CafeDeployment {
	template := routedTemplate("shop")
	return &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{cafev1alpha1.AnnotationTrafficComponents: component}},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
			Strategy: cafev1alpha1.CafeDeploymentStrategy{UpgradeType: cafev1alpha1.BetaUpgradeType, NeedWaitingForConfirm: true},
			Topology: cafev1alpha1.Topology{Values: []string{realCell}},
		},
	}
}

// confirmOnce waits until a person is asked, answers, and waits for the end.
func (s *shop) confirmOnce() {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := get(s.d)
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
		g.Expect(now.Status.Phase).To(Equal(cafev1alpha1.WaitingForConfirmPhase), "the phase; %s", viewOf(now).ready.Message)
	}).WithTimeout(realPatience).Should(Succeed())
	s.slipway("confirm")
	settleReal(s.d)
}

// sets are the InPlaceSets of the deployment.
func (s *shop) sets() []client.Object {
	GinkgoHelper()
	list := &cafev1alpha1.InPlaceSetList{}
	Expect(cluster.List(testCtx, list, client.InNamespace(namespace), client.MatchingLabels{cafev1alpha1.LabelCafeDeployment: s.d.Name})).To(Succeed())
	var sets []client.Object
	for i := range list.Items {
		sets = append(sets, &list.Items[i])
	}
	return sets
}

// routedChanges counts the manager's changes of containers and its deletions in the audit log. None of them may come to a
// pod that has an open gate, or that the component is on.
func routedChanges(sets []client.Object) (changes, deletions int) {
	GinkgoHelper()
	for _, set := range sets {
		history(set) // waits until the log tells all
	}
	images := map[string]string{}
	by := map[string]int{}
	for _, write := range audit.InOrder(in(cluster.audit.pods, namespace)) {
		pod := &write.Pods[0]
		was := images[pod.Name]
		images[pod.Name] = pod.Spec.Containers[0].Image
		deleted := write.Verb == "delete" && audit.Product(write.UserAgent) == managerName
		if write.Verb == "patch" && strings.HasSuffix(write.User, ":"+componentName) {
			by[write.Subresource]++
		}
		if !deleted && (was == "" || was == images[pod.Name]) {
			continue
		}
		if deleted {
			deletions++
		} else {
			changes++
		}
		Expect(gate(pod)).To(Equal(corev1.ConditionFalse), "the gate of pod %s when it is changed", pod.Name)
		Expect(pod.Finalizers).NotTo(ContainElement(cafev1alpha1.FinalizerPrefixTraffic+component), "who is on pod %s when it is changed", pod.Name)
	}
	// Each pod was taken on, and for each change and each deletion let go of; after a change it was taken on again.
	Expect(by).To(Equal(map[string]int{"": 5 + 2*changes + deletions}), "patches of pods by the component")
	return changes, deletions
}
