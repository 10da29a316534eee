// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/builders"
)

// testCtx and namespace belong to the running spec. Each spec has a namespace of its own.
var (
	testCtx   context.Context
	namespace string
)

var _ = BeforeEach(func(ctx SpecContext) {
	// Ginkgo ends ctx with this function; what the spec does goes on until its clean-up.
	var end context.CancelFunc
	testCtx, end = context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(end)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	Expect(cluster.Create(ctx, made)).To(Succeed())
	namespace = made.Name
	DeferCleanup(func(ctx SpecContext) {
		// The sets first, or their pods would be missed and made again while the namespace is emptied.
		Expect(cluster.DeleteAllOf(ctx, &kruisev1alpha1.CloneSet{}, client.InNamespace(made.Name))).To(Succeed())
		Expect(cluster.DeleteAllOf(ctx, &kruisev1beta1.StatefulSet{}, client.InNamespace(made.Name))).To(Succeed())
		Expect(cluster.Delete(ctx, made)).To(Succeed())
	})
	Eventually(func() error { // without it every pod is refused
		return cluster.Get(ctx, client.ObjectKey{Namespace: made.Name, Name: "default"}, &corev1.ServiceAccount{})
	}).Should(Succeed())
})

var _ = JustAfterEach(func(ctx SpecContext) {
	if CurrentSpecReport().Failed() {
		describe(ctx)
	}
})

// image is a version of what all sets here run.
func image(version string) string { return "registry.test/app:" + version }

// create creates the set in the namespace of the spec.
func create(b *builders.CloneSetBuilder) *kruisev1alpha1.CloneSet {
	GinkgoHelper()
	set := b.Build()
	set.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: set.Name, Labels: set.Labels, Annotations: set.Annotations}
	Expect(cluster.Create(testCtx, set)).To(Succeed())
	return set
}

// created creates the set and waits until it is what it shall be.
func created(b *builders.CloneSetBuilder) *kruisev1alpha1.CloneSet {
	GinkgoHelper()
	set := create(b)
	settle(set)
	return set
}

// change changes the set as a user does.
func change(set *kruisev1alpha1.CloneSet, how func(*kruisev1alpha1.CloneSetSpec)) {
	GinkgoHelper()
	now := get(set)
	changed := now.DeepCopy()
	how(&changed.Spec)
	Expect(cluster.Patch(testCtx, changed, client.MergeFrom(now))).To(Succeed())
}

// wake has the manager look at the set without any need.
func wake(set *kruisev1alpha1.CloneSet) {
	GinkgoHelper()
	now := get(set)
	woken := now.DeepCopy()
	woken.Annotations = map[string]string{"test/woken-after": now.ResourceVersion}
	Expect(cluster.Patch(testCtx, woken, client.MergeFrom(now))).To(Succeed())
}

// release gives the set's template the image of another version.
func release(set *kruisev1alpha1.CloneSet, version string) {
	GinkgoHelper()
	change(set, func(spec *kruisev1alpha1.CloneSetSpec) { spec.Template.Spec.Containers[0].Image = image(version) })
}

func get(set *kruisev1alpha1.CloneSet) *kruisev1alpha1.CloneSet {
	GinkgoHelper()
	now := &kruisev1alpha1.CloneSet{}
	Expect(cluster.Get(testCtx, client.ObjectKeyFromObject(set), now)).To(Succeed())
	return now
}

// settle waits until the status says that the spec is reached, and returns the set as it is then.
func settle(set *kruisev1alpha1.CloneSet) *kruisev1alpha1.CloneSet {
	GinkgoHelper()
	var now *kruisev1alpha1.CloneSet
	Eventually(func(g Gomega) {
		now = get(set)
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation), "the generation that the status is of")
		ready := condition(now)
		g.Expect(ready.Status).To(Equal(corev1.ConditionTrue), "the condition Ready: %s", ready.Message)
		g.Expect(now.Status.AvailableReplicas).To(Equal(*now.Spec.Replicas), "available pods")
		g.Expect(now.Status.UpdatedReplicas).To(BeNumerically(">=", now.Status.ExpectedUpdatedReplicas), "updated pods")
	}).Should(Succeed())
	return now
}

// condition is the set's condition Ready; its zero value if there is none.
func condition(set *kruisev1alpha1.CloneSet) kruisev1alpha1.CloneSetCondition {
	for _, c := range set.Status.Conditions {
		if c.Type == kruisev1alpha1.CloneSetConditionReady {
			return c
		}
	}
	return kruisev1alpha1.CloneSetCondition{}
}

// podsOf lists the pods that the set controls and that are neither finished nor going away, by name.
func podsOf(set *kruisev1alpha1.CloneSet) []*corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(cluster.List(testCtx, list, client.InNamespace(set.Namespace))).To(Succeed())
	var pods []*corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		finished := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
		if metav1.IsControlledBy(pod, set) && pod.DeletionTimestamp == nil && !finished {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

func uids(pods []*corev1.Pod) []types.UID {
	return each(pods, func(p *corev1.Pod) types.UID { return p.UID })
}

func images(pods []*corev1.Pod) []string {
	return each(pods, func(p *corev1.Pod) string { return p.Spec.Containers[0].Image })
}

func each[T any](pods []*corev1.Pod, of func(*corev1.Pod) T) []T {
	list := make([]T, 0, len(pods))
	for _, pod := range pods {
		list = append(list, of(pod))
	}
	return list
}

// running counts the pods whose spec has the version's image.
func running(set *kruisev1alpha1.CloneSet, version string) int {
	GinkgoHelper()
	n := 0
	for _, name := range images(podsOf(set)) {
		if name == image(version) {
			n++
		}
	}
	return n
}

// revisionsOf lists the revisions that the set controls, by their number.
func revisionsOf(set *kruisev1alpha1.CloneSet) []appsv1.ControllerRevision {
	GinkgoHelper()
	list := &appsv1.ControllerRevisionList{}
	Expect(cluster.List(testCtx, list, client.InNamespace(set.Namespace))).To(Succeed())
	own := slices.DeleteFunc(list.Items, func(r appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&r, set) })
	slices.SortFunc(own, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return own
}

// reasons are those of all events about the set, each once.
func reasons(set *kruisev1alpha1.CloneSet) []string {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(cluster.List(testCtx, list, client.InNamespace(set.Namespace))).To(Succeed())
	var all []string
	for i := range list.Items {
		if list.Items[i].Regarding.UID == set.UID {
			all = append(all, list.Items[i].Reason)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// describe prints what helps to understand a failure.
func describe(ctx context.Context) {
	sets, pods, events := &kruisev1alpha1.CloneSetList{}, &corev1.PodList{}, &eventsv1.EventList{}
	for _, list := range []client.ObjectList{sets, pods, events} {
		if err := cluster.List(ctx, list, client.InNamespace(namespace)); err != nil {
			GinkgoWriter.Printf("listing: %v\n", err)
		}
	}
	for i := range sets.Items {
		sets.Items[i].ManagedFields = nil
		text, err := yaml.Marshal(sets.Items[i])
		GinkgoWriter.Printf("---\n%s%v\n", text, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		conditions := map[corev1.PodConditionType]corev1.ConditionStatus{}
		for _, c := range pod.Status.Conditions {
			conditions[c.Type] = c.Status
		}
		GinkgoWriter.Printf("pod %s %s deleting=%t %s labels=%v conditions=%v annotations=%v\n", pod.Name, pod.Status.Phase,
			pod.DeletionTimestamp != nil, pod.Spec.Containers[0].Image, pod.Labels, conditions, pod.Annotations)
	}
	for i := range events.Items {
		event := &events.Items[i]
		GinkgoWriter.Printf("event %s %s %s: %s\n", event.Type, event.Reason, event.Regarding.Name, event.Note)
	}
	GinkgoWriter.Printf("the end of the manager's log:\n%s\n", cluster.manager.tail(60))
}

// stopAt waits until the release can go no further: as many pods as are named run the bad version, and the
// condition Ready names each of them. It returns these pods.
func stopAt(set *kruisev1alpha1.CloneSet, bad string, n int) []*corev1.Pod {
	GinkgoHelper()
	var stuck []*corev1.Pod
	Eventually(func(g Gomega) {
		now := get(set)
		stuck = slices.DeleteFunc(podsOf(set), func(p *corev1.Pod) bool { return p.Spec.Containers[0].Image != image(bad) })
		g.Expect(stuck).To(HaveLen(n), "pods with the image %s", bad)
		ready := condition(now)
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
		g.Expect(ready.Status).To(Equal(corev1.ConditionFalse))
		g.Expect(ready.Reason).To(Equal("WaitingForPods"))
		for _, pod := range stuck {
			g.Expect(ready.Message).To(ContainSubstring("pod " + pod.Name + " ("))
		}
		g.Expect(now.Status.UpdatedReplicas).To(Equal(int32(n)), "updated pods")
		g.Expect(now.Status.AvailableReplicas).To(Equal(*now.Spec.Replicas-int32(n)), "available pods")
	}).Should(Succeed())
	return stuck
}

// patchPod changes a pod as a user does.
func patchPod(pod *corev1.Pod, how func(*corev1.Pod)) {
	GinkgoHelper()
	changed := pod.DeepCopy()
	how(changed)
	Expect(cluster.Patch(testCtx, changed, client.MergeFrom(pod))).To(Succeed())
}

func replicas(n int32) func(*kruisev1alpha1.CloneSetSpec) {
	return func(spec *kruisev1alpha1.CloneSetSpec) { spec.Replicas = ptr.To(n) }
}

func say(format string, args ...any) { AddReportEntry(fmt.Sprintf(format, args...)) }
