// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/definition"
)

// defined puts the shipped definitions into the namespace of the spec.
func defined() {
	GinkgoHelper()
	shipped, err := definition.Shipped()
	Expect(err).NotTo(HaveOccurred())
	for _, d := range shipped {
		var o client.Object = d.Trait
		if d.Component != nil {
			o = d.Component
		}
		o.SetNamespace(namespace)
		Expect(cluster.Create(testCtx, o)).To(Succeed())
	}
}

func properties(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// cart is a component of some type that runs a version.
func cart(kind, version string, traits ...oamv1beta1.ApplicationTrait) oamv1beta1.ApplicationComponent {
	return oamv1beta1.ApplicationComponent{
		Name: "cart", Type: kind, Properties: properties(`{"image":"` + image(version) + `","labels":{"app":"cart"}}`), Traits: traits,
	}
}

func trait(kind, text string) oamv1beta1.ApplicationTrait {
	return oamv1beta1.ApplicationTrait{Type: kind, Properties: properties(text)}
}

func application(plan *rolloutv1alpha1.RolloutPlan, components ...oamv1beta1.ApplicationComponent) *oamv1beta1.Application {
	GinkgoHelper()
	app := &oamv1beta1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Spec: oamv1beta1.ApplicationSpec{Components: components, RolloutPlan: plan},
	}
	Expect(cluster.Create(testCtx, app)).To(Succeed())
	return app
}

func inTwo(partition *int32) *rolloutv1alpha1.RolloutPlan {
	return &rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](2), BatchPartition: partition}
}

// deployed waits until the revision of that number is deployed, and everything is healthy.
func deployed(app *oamv1beta1.Application, revision int64) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := get(app)
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
		g.Expect(now.Status.LatestRevision).NotTo(BeNil())
		g.Expect(now.Status.LatestRevision.Revision).To(Equal(revision))
		ready := apimeta.FindStatusCondition(now.Status.Conditions, oamv1beta1.ConditionReady)
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
		g.Expect(now.Status.Phase).To(Equal(oamv1beta1.ApplicationRunning))
	}).WithTimeout(appPatience).Should(Succeed())
	owned()
}

func rewrite(app *oamv1beta1.Application, how func(*oamv1beta1.ApplicationSpec)) {
	GinkgoHelper()
	change(app, func(now *oamv1beta1.Application) { how(&now.Spec) })
}

func saysNo(app *oamv1beta1.Application, condition, what string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		c := apimeta.FindStatusCondition(get(app).Status.Conditions, condition)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(c.Message).To(ContainSubstring(what))
	}).WithTimeout(appPatience).Should(Succeed())
}

var _ = Describe("Applications", func() {
	It("release a CloneSet by their plan: first from none, then in place, over a release in the middle, and back", func(ctx SpecContext) {
		testCtx = ctx
		defined()
		By("first")
		app := application(inTwo(ptr.To[int32](0)), cart("cloneset", "v1", trait("scaler", `{"replicas":4}`)))
		runs(map[string]int{"v1": 2})
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) { s.RolloutPlan.BatchPartition = nil })
		deployed(app, 1)
		runs(map[string]int{"v1": 4})
		pods := podIDs()

		By("in place")
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) {
			s.Components[0].Properties, s.RolloutPlan = cart("", "v2").Properties, inTwo(ptr.To[int32](0))
		})
		runs(map[string]int{"v1": 2, "v2": 2})

		By("over a release in the middle")
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) { s.Components[0].Properties = cart("", "v3").Properties })
		Eventually(func() int { return versions()["v3"] }).WithTimeout(appPatience).Should(Equal(2))
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) { s.RolloutPlan.BatchPartition = nil })
		deployed(app, 3)
		runs(map[string]int{"v3": 4})

		By("back in the middle")
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) {
			s.Components[0].Properties, s.RolloutPlan = cart("", "v4").Properties, inTwo(ptr.To[int32](0))
		})
		runs(map[string]int{"v3": 2, "v4": 2})
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) {
			s.Components[0].Properties, s.RolloutPlan = cart("", "v3").Properties, inTwo(nil)
		})
		deployed(app, 5)
		runs(map[string]int{"v3": 4})
		Expect(podIDs()).To(Equal(pods), "pods that were kept")

		By("another plan alone, and another size")
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) { s.RolloutPlan.NumBatches = ptr.To[int32](3) })
		deployed(app, 5)
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) { s.Components[0].Traits[0] = trait("scaler", `{"replicas":6}`) })
		deployed(app, 6)
		runs(map[string]int{"v3": 6})
	}, SpecTimeout(6*time.Minute))

	It("release Deployments side by side, with an autoscaler and a service, one component after the other", func(ctx SpecContext) {
		testCtx = ctx
		defined()
		hpa := trait("hpa", `{"min":4,"max":9}`)
		other := oamv1beta1.ApplicationComponent{Name: "other", Type: "cloneset", Properties: properties(`{"image":"` + image("v1") + `"}`)}
		app := application(inTwo(nil), cart("webservice", "v1", hpa, trait("expose", `{"port":[80]}`)), other)
		deployed(app, 1)
		scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cart"}}
		Expect(get(scaler).Spec.ScaleTargetRef.Name).To(Equal("cart-v1"))
		runs(map[string]int{"v1": 4}) // what the autoscaler has made of the one that was rendered

		rewrite(app, func(s *oamv1beta1.ApplicationSpec) {
			s.Components[0].Properties, s.RolloutPlan = cart("", "v2").Properties, inTwo(ptr.To[int32](0))
		})
		runs(map[string]int{"v1": 2, "v2": 2})
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) { s.RolloutPlan.BatchPartition = nil })
		deployed(app, 2)
		runs(map[string]int{"v2": 4})
		Expect(get(scaler).Spec.ScaleTargetRef.Name).To(Equal("cart-v2"))
		Expect(serviceNames()).To(HaveLen(1))
	}, SpecTimeout(6*time.Minute))

	It("are applied at once without a plan, take away what left, refuse what is wrong, and go with all that they have", func(ctx SpecContext) {
		testCtx = ctx
		defined()
		other := oamv1beta1.ApplicationComponent{Name: "other", Type: "worker", Properties: properties(`{"image":"` + image("v1") + `"}`)}
		app := application(nil, cart("cloneset", "v1", trait("expose", `{"port":[80]}`), trait("scaler", `{"replicas":3}`)), other)
		deployed(app, 1)
		runs(map[string]int{"v1": 3})

		By("what is wrong is said, and what runs stays")
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) {
			s.Components[0].Properties = properties(`{"image":"` + image("v2") + `","color":"red"}`)
		})
		saysNo(app, oamv1beta1.ConditionParsed, `component "cart"`)
		Consistently(versions).WithTimeout(2 * time.Second).Should(Equal(map[string]int{"v1": 3}))

		By("a template that does not end is given up, and what runs stays")
		endless := &oamv1beta1.TraitDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "endless"}}
		endless.Spec.Schematic.CUE.Template = "import \"list\"\nr: list.Range(0, 100000, 1)\npatch: spec: replicas: len([for a in r for b in r for c in r if a+b+c < 0 {a}])\n"
		Expect(cluster.Create(ctx, endless)).To(Succeed())
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) {
			s.Components[0] = cart("cloneset", "v2", trait("endless", `{}`), trait("scaler", `{"replicas":3}`))
		})
		saysNo(app, oamv1beta1.ConditionRender, `component "cart": trait "endless": template: does not end within 3s of processor time`)
		Expect(get(app).Status.Phase).To(Equal(oamv1beta1.ApplicationRendering))
		Expect(versions()).To(Equal(map[string]int{"v1": 3}))

		By("a component and a trait leave")
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) {
			s.Components = []oamv1beta1.ApplicationComponent{cart("cloneset", "v2", trait("scaler", `{"replicas":3}`))}
		})
		deployed(app, 2)
		runs(map[string]int{"v2": 3})
		Eventually(serviceNames).WithTimeout(appPatience).Should(BeEmpty())
		Eventually(func() any { return (&shopApp{kind: "Deployment"}).workload("other") }).WithTimeout(appPatience).Should(BeNil())

		By("what somebody deletes comes back")
		Expect(cluster.Delete(ctx, (&shopApp{kind: "CloneSet"}).workload("cart"))).To(Succeed())
		Eventually(func() string { return strings.Join(podIDs(), " ") }).WithTimeout(appPatience).ShouldNot(BeEmpty())
		deployed(app, 2)

		By("deleted in the middle of a rollout")
		rewrite(app, func(s *oamv1beta1.ApplicationSpec) {
			s.Components[0].Properties, s.RolloutPlan = cart("", "v3").Properties, inTwo(ptr.To[int32](0))
		})
		Eventually(func() int { return versions()["v3"] }).WithTimeout(appPatience).Should(BeNumerically(">", 0))
		Expect(cluster.Delete(ctx, app)).To(Succeed())
		(&shopApp{}).gone(app)
		runs(map[string]int{})
	}, SpecTimeout(6*time.Minute))

	It("record revisions for AppRollouts, and take their workloads along when they are deleted under one", func(ctx SpecContext) {
		testCtx = ctx
		defined()
		app := &oamv1beta1.Application{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop", Annotations: map[string]string{oamv1beta1.AnnotationRolloutTemplate: "true"}},
			Spec:       oamv1beta1.ApplicationSpec{Components: []oamv1beta1.ApplicationComponent{cart("cloneset", "v1")}},
		}
		Expect(cluster.Create(ctx, app)).To(Succeed())
		deployed(app, 1)
		runs(map[string]int{})
		s := &shopApp{app: app, kind: "CloneSet"}
		r := s.roll("", "shop-v1", size(4))
		ended(r, rolloutv1alpha1.RolloutSucceedState)
		runs(map[string]int{"v1": 4})
		rewrite(app, func(spec *oamv1beta1.ApplicationSpec) { spec.Components[0].Properties = cart("", "v2").Properties })
		deployed(app, 2)
		runs(map[string]int{"v1": 4})
		r = s.roll("shop-v1", "shop-v2", upToBatch(0))
		runs(map[string]int{"v1": 2, "v2": 2})

		By("deleted")
		Expect(cluster.Delete(ctx, app)).To(Succeed())
		s.gone(app)
		runs(map[string]int{})
		Eventually(func() any { return get(r).Status.RollingState }).WithTimeout(appPatience).Should(Equal(rolloutv1alpha1.RolloutFailedState))
		Expect(cluster.Delete(ctx, r)).To(Succeed())
		s.gone(r)
	}, SpecTimeout(6*time.Minute))
})
