// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/builders"
)

var _ = Describe("Taking over", Serial, func() {
	It("touches no pod and makes no revision, and then releases in place", func(ctx SpecContext) {
		testCtx = ctx // an interrupt must end this spec before the suite stops the last manager
		cluster.manager.stop()
		DeferCleanup(func() {
			if !cluster.manager.running() {
				cluster.manager.start()
			}
		})
		set := create(builders.CloneSet("web").Replicas(4).InPlace().MaxUnavailable("50%"))
		revision := foreignRevision(set)
		for i := range 4 {
			foreignPod(set, revision, fmt.Sprintf("web-%dbcdf", i+2))
		}
		set.Status = kruisev1alpha1.CloneSetStatus{
			ObservedGeneration: 1, Replicas: 4, ReadyReplicas: 4, AvailableReplicas: 4, UpdatedReplicas: 4, UpdatedReadyReplicas: 4,
			UpdateRevision: revision.Name, CurrentRevision: revision.Name, LabelSelector: "app=web",
		}
		Expect(cluster.Status().Update(testCtx, set)).To(Succeed())
		Eventually(func(g Gomega) {
			for _, pod := range podsOf(set) {
				g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
			}
		}).Should(Succeed())

		chapter := from(set)
		cluster.manager.start()
		now := settle(set)
		Expect(now.Status.UpdateRevision).To(Equal(revision.Name))
		Consistently(chapter.managerWrites, quiet).Should(HaveEach(Equal("patch clonesets/status web")), "writes for a set that was taken over")
		Expect(revisionsOf(set)).To(HaveLen(1))

		release(set, "v2")
		settle(set)
		verdict := chapter.judge(4)
		Expect(verdict.kept).To(Equal(chapter.names()))
		Expect(verdict.unavailable).To(BeNumerically("<=", 2))
		Expect(images(podsOf(set))).To(HaveEach(image("v2")))
	})
})

// foreignRevision is the set's template as another publisher of this API records it: with a null time that newer
// libraries leave out, and with the defaults that its webhook fills in.
func foreignRevision(set *kruisev1alpha1.CloneSet) *appsv1.ControllerRevision {
	GinkgoHelper()
	template := map[string]any{
		"$patch": "replace",
		"metadata": map[string]any{
			"creationTimestamp": nil,
			"labels":            map[string]any{"app": "web"},
		},
		"spec": map[string]any{
			"containers": []any{map[string]any{
				"name": builders.Container, "image": image("v1"), "imagePullPolicy": "IfNotPresent", "resources": map[string]any{},
				"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
			}},
			"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
			"securityContext": map[string]any{}, "terminationGracePeriodSeconds": 30,
		},
	}
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	Expect(err).NotTo(HaveOccurred())
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: set.Name + "-7d9f5c6b84",
			Labels:          map[string]string{"app": "web", kruisev1alpha1.LabelRevisionHash: "7d9f5c6b84"},
			OwnerReferences: []metav1.OwnerReference{*ownerReference(set)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: 1,
	}
	Expect(cluster.Create(testCtx, revision)).To(Succeed())
	return revision
}

// foreignPod is a pod as another publisher of this API leaves it.
func foreignPod(set *kruisev1alpha1.CloneSet, revision *appsv1.ControllerRevision, name string) {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: name,
			Labels: map[string]string{
				"app":                               "web",
				kruisev1alpha1.LabelRevision:        revision.Name,
				kruisev1alpha1.LabelPodTemplateHash: revision.Labels[kruisev1alpha1.LabelRevisionHash],
				kruisev1alpha1.LabelInstanceID:      name[len("web-"):],
				kruisev1alpha1.LabelLifecycleState:  string(kruisev1alpha1.LifecycleNormal),
			},
			Annotations:     map[string]string{kruisev1alpha1.AnnotationLifecycleTimestamp: "2026-01-01T00:00:00Z"},
			OwnerReferences: []metav1.OwnerReference{*ownerReference(set)},
		},
		Spec: *set.Spec.Template.Spec.DeepCopy(),
	}
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: kruisev1alpha1.ConditionInPlaceUpdateReady}}
	Expect(cluster.Create(testCtx, pod)).To(Succeed())
	inService := pod.DeepCopy()
	inService.Status.Conditions = []corev1.PodCondition{{
		Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
	}}
	Expect(cluster.Status().Patch(testCtx, inService, client.StrategicMergeFrom(pod))).To(Succeed())
}

// ownerReference is of a newer version of the API, which other publishers have.
func ownerReference(set *kruisev1alpha1.CloneSet) *metav1.OwnerReference {
	return &metav1.OwnerReference{
		APIVersion: kruisev1alpha1.GroupVersion.Group + "/v1beta1", Kind: kruisev1alpha1.CloneSetKind, Name: set.Name, UID: set.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}
