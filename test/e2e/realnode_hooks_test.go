// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

// The marks by which the owner of the hooks holds pods back.
const (
	registered = "e2e.test/registered" // a finalizer: the pod stands in somebody's list, and must not be updated
	guarded    = "e2e.test/guarded"    // a label: the pod must not be deleted
)

var _ = describeReal("a hook", func() {
	It("holds the process back from an update and from its end, until its owner lets go", func() {
		everyKindTogether(holdBack)
	})
})

func holdBack(kind realKind) {
	GinkgoHelper()
	name := kind.called("hooked")
	template := realTemplate(name)
	template.Labels[guarded], template.Finalizers = "true", []string{registered}
	set := kind.build(name, 1, template)
	hook(set, &kruisev1alpha1.Lifecycle{
		InPlaceUpdate: &kruisev1alpha1.LifecycleHook{FinalizersHandler: []string{registered}, MarkPodNotReady: true},
		PreDelete:     &kruisev1alpha1.LifecycleHook{LabelsHandler: map[string]string{guarded: "true"}},
	})
	createReal(set)
	settleReal(set)
	pod := podsOf(set)[0]
	then := whoIs(pod, appContainer)

	release(set, "v2")
	pod = inState(pod, kruisev1alpha1.LifecyclePreparingUpdate, corev1.ConditionFalse)
	now := whoIs(pod, appContainer)
	Expect(now.Started).To(BeTemporally("==", then.Started), "the process that is held back")
	Expect(now.Version).To(Equal("v1"))

	patchPod(pod, func(p *corev1.Pod) { p.Finalizers = without(p.Finalizers, registered) })
	pod = inState(pod, kruisev1alpha1.LifecycleUpdated, corev1.ConditionTrue)
	Expect(whoIs(pod, appContainer).Version).To(Equal("v2"), "the version when the hook is told")
	patchPod(pod, func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, registered) })
	pod = inState(pod, kruisev1alpha1.LifecycleNormal, corev1.ConditionTrue)
	settleReal(set)
	Expect(containerOf(pod, appContainer).RestartCount).To(Equal(int32(1)), "restarts of the container")
	updated := whoIs(pod, appContainer)

	scaleTo(set, 0)
	pod = inState(pod, kruisev1alpha1.LifecyclePreparingDelete, corev1.ConditionTrue)
	Expect(pod.DeletionTimestamp).To(BeNil(), "the deletion of a pod that is held back")
	Expect(whoIs(pod, appContainer).Started).To(BeTemporally("==", updated.Started), "the process that is held back")
	patchPod(pod, func(p *corev1.Pod) {
		delete(p.Labels, guarded)
		p.Finalizers = without(p.Finalizers, registered)
	})
	Eventually(func() bool {
		return apierrors.IsNotFound(cluster.Get(testCtx, client.ObjectKeyFromObject(pod), &corev1.Pod{}))
	}).WithTimeout(realPatience).Should(BeTrue(), "that the pod is gone")
	settleReal(set)
}

// inState waits until the pod stands there in its life, ready or not, and returns it.
func inState(pod *corev1.Pod, state kruisev1alpha1.LifecycleState, ready corev1.ConditionStatus) *corev1.Pod {
	GinkgoHelper()
	now := &corev1.Pod{}
	Eventually(func(g Gomega) {
		g.Expect(cluster.Get(testCtx, client.ObjectKeyFromObject(pod), now)).To(Succeed())
		g.Expect(now.UID).To(Equal(pod.UID), "the pod's UID")
		g.Expect(now.Labels).To(HaveKeyWithValue(kruisev1alpha1.LabelLifecycleState, string(state)))
		g.Expect(now.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.PodReady), HaveField("Status", ready))))
	}).WithTimeout(realPatience).Should(Succeed())
	return now
}

func hook(set client.Object, lifecycle *kruisev1alpha1.Lifecycle) {
	GinkgoHelper()
	switch set := set.(type) {
	case *kruisev1alpha1.CloneSet:
		set.Spec.Lifecycle = lifecycle
	case *kruisev1beta1.StatefulSet:
		set.Spec.Lifecycle = lifecycle
	default:
		Fail(fmt.Sprintf("%T has no hooks that are known here", set))
	}
}

func without(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })
}
