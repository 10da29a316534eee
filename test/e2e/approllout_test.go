// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// appPatience is for a few rollouts of a few pods each.
const appPatience = 2 * time.Minute

// shopApp is an application whose revisions are made by the spec: its component cart is of a kind that the spec chooses.
type shopApp struct {
	app  *oamv1beta1.Application
	kind string
}

func newShopApp(kind string) *shopApp {
	GinkgoHelper()
	s := &shopApp{kind: kind, app: &oamv1beta1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop", Annotations: map[string]string{oamv1beta1.AnnotationRolloutTemplate: "true"}},
		Spec:       oamv1beta1.ApplicationSpec{Components: []oamv1beta1.ApplicationComponent{{Name: "cart", Type: "handmade"}}},
	}}
	Expect(cluster.Create(testCtx, s.app)).To(Succeed())
	return s
}

// revise makes a revision in which cart has a version, a size and other objects. The component's own revision is that of the version.
func (s *shopApp) revise(number int, version string, size int, extras ...map[string]any) string {
	GinkgoHelper()
	labels := map[string]any{"app": "cart"}
	spec := map[string]any{
		"replicas": int64(size), "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": image(version)}}},
		},
	}
	apiVersion := "apps/v1"
	if s.kind == "CloneSet" {
		apiVersion = "apps.kruise.io/v1alpha1"
		spec["updateStrategy"] = map[string]any{"type": "InPlaceIfPossible", "maxUnavailable": "100%"}
	}
	revision := &oamv1beta1.ApplicationRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("shop-v%d", number),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.app, oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationKind))},
		},
		Spec: oamv1beta1.ApplicationRevisionSpec{Revision: int64(number), Application: oamv1beta1.Application{Spec: s.app.Spec}},
	}
	component := oamv1beta1.ComponentRevision{
		Name: "cart", Revision: "cart-" + version, Workload: rawOf(map[string]any{
			"apiVersion": apiVersion, "kind": s.kind, "metadata": map[string]any{"name": "cart"}, "spec": spec,
		}),
	}
	for _, extra := range extras {
		component.Resources = append(component.Resources, oamv1beta1.RenderedResource{Name: "extra", Object: *rawOf(extra)})
	}
	revision.Spec.ComponentRevisions = []oamv1beta1.ComponentRevision{component}
	Expect(cluster.Create(testCtx, revision)).To(Succeed())
	return revision.Name
}

func rawOf(object map[string]any) *runtime.RawExtension {
	GinkgoHelper()
	raw, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return &runtime.RawExtension{Raw: raw}
}

func serviceNamed(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"selector": map[string]any{"app": "cart"}, "ports": []any{map[string]any{"port": int64(80)}}},
	}
}

func autoscaler(least, most int) map[string]any {
	return map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "cart"},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart"},
			"minReplicas":    int64(least), "maxReplicas": int64(most),
		},
	}
}

// roll asks for a rollout between revisions in two batches.
func (s *shopApp) roll(source, target string, change ...func(*oamv1beta1.AppRolloutSpec)) *oamv1beta1.AppRollout {
	GinkgoHelper()
	r := &oamv1beta1.AppRollout{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
	found := cluster.Get(testCtx, client.ObjectKeyFromObject(r), r)
	before := r.DeepCopy()
	r.Spec = oamv1beta1.AppRolloutSpec{
		TargetAppRevisionName: target, SourceAppRevisionName: source, RolloutPlan: rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](2)},
	}
	for _, c := range change {
		c(&r.Spec)
	}
	if apierrors.IsNotFound(found) {
		Expect(cluster.Create(testCtx, r)).To(Succeed())
	} else {
		Expect(cluster.Patch(testCtx, r, client.MergeFrom(before))).To(Succeed())
	}
	return r
}

func upToBatch(n int32) func(*oamv1beta1.AppRolloutSpec) {
	return func(s *oamv1beta1.AppRolloutSpec) { s.RolloutPlan.BatchPartition = ptr.To(n) }
}

func size(n int32) func(*oamv1beta1.AppRolloutSpec) {
	return func(s *oamv1beta1.AppRolloutSpec) { s.RolloutPlan.TargetSize = ptr.To(n) }
}

// ended waits until the rollout to the target has ended in that state.
func ended(r *oamv1beta1.AppRollout, state rolloutv1alpha1.RollingState) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := get(r)
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
		g.Expect(now.Status.LastTargetAppRevision).To(Equal(r.Spec.TargetAppRevisionName), now.Status.Message)
		g.Expect(now.Status.RollingState).To(Equal(state), "%s: %s", now.Status.BatchRollingState, now.Status.Message)
		g.Expect(now.Finalizers).To(BeEmpty())
	}).WithTimeout(appPatience).Should(Succeed())
	owned()
}

// says waits until the rollout says something.
func (s *shopApp) says(r *oamv1beta1.AppRollout, what string) {
	GinkgoHelper()
	Eventually(func() string { return get(r).Status.Message }).WithTimeout(appPatience).Should(ContainSubstring(what))
}

// workload is a workload of cart; nil when there is none of the name.
func (s *shopApp) workload(name string) *unstructured.Unstructured {
	GinkgoHelper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(map[bool]string{true: "apps.kruise.io/v1alpha1", false: "apps/v1"}[s.kind == "CloneSet"])
	o.SetKind(s.kind)
	err := cluster.Get(testCtx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return o
}

// versions are how many pods of each version there are that do not go away.
func versions() map[string]int {
	GinkgoHelper()
	count := map[string]int{}
	for _, p := range cartPods() {
		_, version, _ := strings.Cut(p.Spec.Containers[0].Image, ":")
		count[version]++
	}
	return count
}

func runs(want map[string]int) {
	GinkgoHelper()
	Eventually(versions).WithTimeout(appPatience).Should(Equal(want))
}

// owned checks that every workload is the application's again, and that nothing of a rollout is left on it.
func owned() {
	GinkgoHelper()
	for _, kind := range []string{"CloneSet", "Deployment"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(map[bool]string{true: "apps.kruise.io/v1alpha1", false: "apps/v1"}[kind == "CloneSet"])
		list.SetKind(kind + "List")
		Expect(cluster.List(testCtx, list, client.InNamespace(namespace))).To(Succeed())
		for _, o := range list.Items {
			if o.GetDeletionTimestamp() != nil {
				continue
			}
			refs := o.GetOwnerReferences()
			Expect(refs).To(HaveLen(1), "owners of %s", o.GetName())
			Expect(refs[0].Kind).To(Equal(oamv1beta1.ApplicationKind))
			Expect(*refs[0].Controller).To(BeTrue())
			Expect(o.GetLabels()).NotTo(HaveKey(rolloutv1alpha1.LabelHeld))
			Expect(o.GetAnnotations()).NotTo(HaveKey(rolloutv1alpha1.AnnotationHeld))
		}
	}
}

var _ = Describe("AppRollouts", func() {
	It("take a CloneSet from revision to revision in place, forward, back and to another size", func(ctx SpecContext) {
		testCtx = ctx
		s := newShopApp("CloneSet")
		v1, v2 := s.revise(1, "v1", 4, serviceNamed("cart"), serviceNamed("old")), s.revise(2, "v2", 4, serviceNamed("cart"))
		By("the first release begins at no pods")
		r := s.roll("", v1, size(4), upToBatch(0))
		runs(map[string]int{"v1": 2})
		Expect(metav1.GetControllerOf(s.workload("cart")).Kind).To(Equal(oamv1beta1.AppRolloutKind), "who holds it")
		s.roll("", v1, size(4))
		ended(r, rolloutv1alpha1.RolloutSucceedState)
		runs(map[string]int{"v1": 4})
		before := podIDs()

		By("the next goes in place, batch by batch")
		r = s.roll(v1, v2, upToBatch(0))
		runs(map[string]int{"v1": 2, "v2": 2})
		Expect(metav1.GetControllerOf(s.workload("cart")).Kind).To(Equal(oamv1beta1.AppRolloutKind), "who holds it")
		s.roll(v1, v2)
		ended(r, rolloutv1alpha1.RolloutSucceedState)
		runs(map[string]int{"v2": 4})
		Expect(podIDs()).To(Equal(before), "pods that were kept")
		Expect(serviceNames()).To(ConsistOf("cart"), "what only the older revision had is gone")

		By("back")
		r = s.roll(v2, v1)
		ended(r, rolloutv1alpha1.RolloutSucceedState)
		runs(map[string]int{"v1": 4})
		Expect(podIDs()).To(Equal(before), "pods that were kept")

		By("to another size")
		r = s.roll("", v1, size(6))
		ended(r, rolloutv1alpha1.RolloutSucceedState)
		runs(map[string]int{"v1": 6})
	}, SpecTimeout(5*time.Minute))

	It("put one Deployment beside another and take the older one away, with its autoscaler", func(ctx SpecContext) {
		testCtx = ctx
		s := newShopApp("Deployment")
		v1, v2, v3 := s.revise(1, "v1", 4, autoscaler(3, 9)), s.revise(2, "v2", 4, autoscaler(3, 9)), s.revise(3, "v3", 4)
		r := s.roll("", v1, size(4))
		ended(r, rolloutv1alpha1.RolloutSucceedState)
		runs(map[string]int{"v1": 4})
		scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cart"}}
		Expect(get(scaler).Spec.ScaleTargetRef.Name).To(Equal("cart-v1"))

		By("two live side by side")
		r = s.roll(v1, v2, upToBatch(0))
		runs(map[string]int{"v1": 2, "v2": 2})
		Expect(get(scaler).Spec.ScaleTargetRef.Name).To(Equal("cart-v1"))
		Expect(*get(scaler).Spec.MinReplicas).To(BeEquivalentTo(1), "it does not give back what the rollout takes")
		s.roll(v1, v2)
		ended(r, rolloutv1alpha1.RolloutSucceedState)
		runs(map[string]int{"v2": 4})
		Eventually(func() any { return s.workload("cart-v1") }).WithTimeout(appPatience).Should(BeNil())
		Expect(get(scaler).Spec.ScaleTargetRef.Name).To(Equal("cart-v2"))
		Expect(*get(scaler).Spec.MinReplicas).To(BeEquivalentTo(3))

		By("back in the middle of the next")
		s.roll(v2, v3, upToBatch(0))
		runs(map[string]int{"v2": 2, "v3": 2})
		r = s.roll(v3, v2, size(4))
		ended(r, rolloutv1alpha1.RolloutSucceedState)
		runs(map[string]int{"v2": 4})
		Eventually(func() any { return s.workload("cart-v3") }).WithTimeout(appPatience).Should(BeNil())
	}, SpecTimeout(5*time.Minute))

	It("end when they are deleted, also when what they name is gone, and say what is missing", func(ctx SpecContext) {
		testCtx = ctx
		s := newShopApp("CloneSet")
		v1, v2 := s.revise(1, "v1", 4), s.revise(2, "v2", 4)
		r := s.roll("", v1, size(4))
		ended(r, rolloutv1alpha1.RolloutSucceedState)

		By("a revision that is not there")
		r = s.roll(v1, "shop-v9")
		s.says(r, "there is no ApplicationRevision shop-v9 in namespace "+namespace)

		By("deleted in the middle, with what was before brought back")
		r = s.roll(v1, v2, upToBatch(0), func(spec *oamv1beta1.AppRolloutSpec) { spec.RevertOnDelete = ptr.To(true) })
		runs(map[string]int{"v1": 2, "v2": 2})
		Expect(cluster.Delete(ctx, r)).To(Succeed())
		s.gone(r)
		runs(map[string]int{"v1": 4})
		owned()

		By("deleted in the middle, with the revisions gone")
		r = s.roll(v1, v2, upToBatch(0))
		runs(map[string]int{"v1": 2, "v2": 2})
		for _, name := range []string{v1, v2} {
			Expect(cluster.Delete(ctx, &oamv1beta1.ApplicationRevision{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})).To(Succeed())
		}
		Expect(cluster.Delete(ctx, r)).To(Succeed())
		s.gone(r)
		runs(map[string]int{"v1": 2, "v2": 2})
		owned()
	}, SpecTimeout(5*time.Minute))
})

func (s *shopApp) gone(o client.Object) {
	GinkgoHelper()
	Eventually(func() bool {
		return apierrors.IsNotFound(cluster.Get(testCtx, client.ObjectKeyFromObject(o), o))
	}).WithTimeout(appPatience).Should(BeTrue())
}

func cartPods() []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(cluster.List(testCtx, list, client.InNamespace(namespace), client.MatchingLabels{"app": "cart"})).To(Succeed())
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// podIDs are the UIDs of the pods, sorted.
func podIDs() []string {
	GinkgoHelper()
	var all []string
	for _, p := range cartPods() {
		all = append(all, string(p.UID))
	}
	slices.Sort(all)
	return all
}

func serviceNames() []string {
	GinkgoHelper()
	list := &corev1.ServiceList{}
	Expect(cluster.List(testCtx, list, client.InNamespace(namespace))).To(Succeed())
	var all []string
	for i := range list.Items {
		all = append(all, list.Items[i].Name)
	}
	return all
}
