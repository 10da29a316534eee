// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
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
		for _, kind := range []client.Object{
			&cafev1alpha1.CafeDeployment{}, &cafev1alpha1.InPlaceSet{}, &kruisev1alpha1.CloneSet{}, &kruisev1beta1.StatefulSet{},
		} {
			Expect(cluster.DeleteAllOf(ctx, kind, client.InNamespace(made.Name))).To(Succeed())
		}
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

// builder builds a set of some kind.
type builder[T client.Object] interface{ Build() T }

// create creates the set in the namespace of the spec.
func create[T client.Object](b builder[T]) T {
	GinkgoHelper()
	set := b.Build()
	set.SetNamespace(namespace)
	set.SetUID("")
	Expect(cluster.Create(testCtx, set)).To(Succeed())
	return set
}

// created creates the set and waits until it is what it shall be.
func created[T client.Object](b builder[T]) T {
	GinkgoHelper()
	set := create(b)
	settle(set)
	return set
}

// change changes the set as a user does.
func change[T client.Object](set T, how func(T)) {
	GinkgoHelper()
	now := get(set)
	changed := now.DeepCopyObject().(T)
	how(changed)
	Expect(cluster.Patch(testCtx, changed, client.MergeFrom(now))).To(Succeed())
}

// wake has the manager look at the set without any need.
func wake(set client.Object) {
	GinkgoHelper()
	change(set, func(now client.Object) {
		now.SetAnnotations(map[string]string{"test/woken-after": now.GetResourceVersion()})
	})
}

// release gives the set's template the image of another version.
func release(set client.Object, version string) {
	GinkgoHelper()
	change(set, func(now client.Object) { viewOf(now).template.Spec.Containers[0].Image = image(version) })
}

func get[T client.Object](set T) T {
	GinkgoHelper()
	now := reflect.New(reflect.TypeOf(set).Elem()).Interface().(T) // what is not in the answer must not be left from before
	Expect(cluster.Get(testCtx, client.ObjectKeyFromObject(set), now)).To(Succeed())
	return now
}

// settle waits until the status says that the spec is reached, and returns the set as it is then.
func settle[T client.Object](set T) T {
	GinkgoHelper()
	return settleWithin(patience, set)
}

// settleWithin is as settle, for a set that takes its time.
func settleWithin[T client.Object](limit time.Duration, set T) T {
	GinkgoHelper()
	var now T
	Eventually(func(g Gomega) {
		now = get(set)
		is := viewOf(now)
		g.Expect(is.observed).To(Equal(now.GetGeneration()), "the generation that the status is of")
		g.Expect(is.ready.Status).To(Equal(metav1.ConditionTrue), "the condition Ready: %s", is.ready.Message)
		g.Expect(is.available).To(Equal(**is.replicas), "available pods")
		g.Expect(is.updated).To(BeNumerically(">=", is.toUpdate), "updated pods")
	}).WithTimeout(limit).Should(Succeed())
	return now
}

// podsOf lists the pods that the set controls and that are neither finished nor going away, by name.
func podsOf(set client.Object) []*corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(cluster.List(testCtx, list, client.InNamespace(set.GetNamespace()))).To(Succeed())
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

func namesOf(pods []*corev1.Pod) []string {
	return each(pods, func(p *corev1.Pod) string { return p.Name })
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
func running(set client.Object, version string) int {
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
func revisionsOf(set client.Object) []appsv1.ControllerRevision {
	GinkgoHelper()
	list := &appsv1.ControllerRevisionList{}
	Expect(cluster.List(testCtx, list, client.InNamespace(set.GetNamespace()))).To(Succeed())
	own := slices.DeleteFunc(list.Items, func(r appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&r, set) })
	slices.SortFunc(own, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return own
}

// reasons are those of all events about the set, each once.
func reasons(set client.Object) []string {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(cluster.List(testCtx, list, client.InNamespace(set.GetNamespace()))).To(Succeed())
	var all []string
	for i := range list.Items {
		if list.Items[i].Regarding.UID == set.GetUID() {
			all = append(all, list.Items[i].Reason)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// describe prints what helps to understand a failure.
func describe(ctx context.Context) {
	for _, list := range []client.ObjectList{
		&cafev1alpha1.CafeDeploymentList{}, &cafev1alpha1.InPlaceSetList{}, &kruisev1alpha1.CloneSetList{}, &kruisev1beta1.StatefulSetList{},
	} {
		if err := cluster.List(ctx, list, client.InNamespace(namespace)); err != nil {
			GinkgoWriter.Printf("listing: %v\n", err)
		}
		err := apimeta.EachListItem(list, func(o runtime.Object) error {
			o.(client.Object).SetManagedFields(nil)
			text, err := yaml.Marshal(o)
			GinkgoWriter.Printf("--- %T\n%s\n", o, text)
			return err
		})
		if err != nil {
			GinkgoWriter.Printf("showing: %v\n", err)
		}
	}
	pods, events := &corev1.PodList{}, &eventsv1.EventList{}
	for _, list := range []client.ObjectList{pods, events} {
		if err := cluster.List(ctx, list, client.InNamespace(namespace)); err != nil {
			GinkgoWriter.Printf("listing: %v\n", err)
		}
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

// stopAt waits until the release can go no further: as many pods as are named run the bad version, all others are
// available, and the condition Ready names each of them. It returns these pods.
func stopAt(set client.Object, bad string, n int) []*corev1.Pod {
	GinkgoHelper()
	return stuckAt(set, bad, n, int(**viewOf(set).replicas)-n)
}

// stuckAt is as stopAt, where not all others need be there.
func stuckAt(set client.Object, bad string, n, available int) []*corev1.Pod {
	GinkgoHelper()
	var stuck []*corev1.Pod
	Eventually(func(g Gomega) {
		now := get(set)
		stuck = slices.DeleteFunc(podsOf(set), func(p *corev1.Pod) bool { return p.Spec.Containers[0].Image != image(bad) })
		g.Expect(stuck).To(HaveLen(n), "pods with the image %s", bad)
		is := viewOf(now)
		g.Expect(is.observed).To(Equal(now.GetGeneration()))
		g.Expect(is.ready.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(is.ready.Reason).To(Equal("WaitingForPods"))
		for _, pod := range stuck {
			g.Expect(is.ready.Message).To(ContainSubstring("pod " + pod.Name + " ("))
		}
		g.Expect(is.updated).To(Equal(int32(n)), "updated pods")
		g.Expect(is.available).To(Equal(int32(available)), "available pods")
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

func scaleTo(set client.Object, n int32) {
	GinkgoHelper()
	change(set, func(now client.Object) { *viewOf(now).replicas = ptr.To(n) })
}

func say(format string, args ...any) { AddReportEntry(fmt.Sprintf(format, args...)) }
