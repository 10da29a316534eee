// SPDX-License-Identifier: Apache-2.0

package builders

import (
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// PodBuilder builds a pod as it stands in the API.
type PodBuilder struct {
	pod *corev1.Pod
}

// Pod starts a pod that nobody owns, with one container. It runs on node
// "node-1" and is ready since Epoch. Its UID is "<name>-uid".
func Pod(name string) *PodBuilder {
	b := &PodBuilder{pod: &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: Namespace, UID: types.UID(name + "-uid"),
			CreationTimestamp: metav1.NewTime(Epoch()),
		},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: Container, Image: Image}},
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: kruisev1alpha1.ConditionInPlaceUpdateReady}},
			NodeName:       "node-1",
		},
	}}
	return b.ReadySince(Epoch())
}

// OwnedPod starts a pod "<set>-<id>" made from the set's template, carrying
// the revision "<set>-<hash>".
func OwnedPod(set *kruisev1alpha1.CloneSet, id, hash string) *PodBuilder {
	b := Pod(set.Name + "-" + id)
	template := set.Spec.Template.DeepCopy()
	b.pod.Labels = maps.Clone(template.Labels)
	b.pod.Annotations = maps.Clone(template.Annotations)
	b.pod.Finalizers = template.Finalizers
	gates, node := b.pod.Spec.ReadinessGates, b.pod.Spec.NodeName
	b.pod.Spec = template.Spec
	b.pod.Spec.ReadinessGates = append(b.pod.Spec.ReadinessGates, gates...)
	b.pod.Spec.NodeName = node
	b.pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: kruisev1alpha1.GroupVersion.String(), Kind: kruisev1alpha1.CloneSetKind, Name: set.Name, UID: set.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
	return b.Label(kruisev1alpha1.LabelInstanceID, id).
		Label(kruisev1alpha1.LabelRevision, set.Name+"-"+hash).
		Label(kruisev1alpha1.LabelPodTemplateHash, hash).
		Lifecycle(kruisev1alpha1.LifecycleNormal).
		ReadySince(Epoch())
}

// Build returns the pod.
func (b *PodBuilder) Build() *corev1.Pod { return b.pod }

// Label sets a label.
func (b *PodBuilder) Label(key, value string) *PodBuilder {
	if b.pod.Labels == nil {
		b.pod.Labels = map[string]string{}
	}
	b.pod.Labels[key] = value
	return b
}

// Annotation sets an annotation.
func (b *PodBuilder) Annotation(key, value string) *PodBuilder {
	if b.pod.Annotations == nil {
		b.pod.Annotations = map[string]string{}
	}
	b.pod.Annotations[key] = value
	return b
}

// Revision sets the revision label.
func (b *PodBuilder) Revision(name string) *PodBuilder {
	return b.Label(kruisev1alpha1.LabelRevision, name)
}

// Lifecycle sets the lifecycle state.
func (b *PodBuilder) Lifecycle(state kruisev1alpha1.LifecycleState) *PodBuilder {
	return b.Label(kruisev1alpha1.LabelLifecycleState, string(state))
}

// Chosen marks the pod for deletion by label.
func (b *PodBuilder) Chosen() *PodBuilder {
	return b.Label(kruisev1alpha1.LabelSpecifiedDelete, "true")
}

// Cost sets the deletion cost.
func (b *PodBuilder) Cost(cost int) *PodBuilder {
	return b.Annotation(kruisev1alpha1.AnnotationPodDeletionCost, strconv.Itoa(cost))
}

// Created sets the creation time.
func (b *PodBuilder) Created(at time.Time) *PodBuilder {
	b.pod.CreationTimestamp = metav1.NewTime(at)
	return b
}

// Node binds the pod to a node.
func (b *PodBuilder) Node(name string) *PodBuilder {
	b.pod.Spec.NodeName = name
	return b
}

// Restarts sets the restart count of every container reported so far.
func (b *PodBuilder) Restarts(n int32) *PodBuilder {
	for i := range b.pod.Status.ContainerStatuses {
		b.pod.Status.ContainerStatuses[i].RestartCount = n
	}
	return b
}

// Terminating sets the time by which the pod is to be gone.
func (b *PodBuilder) Terminating(by time.Time) *PodBuilder {
	b.pod.DeletionTimestamp = ptr.To(metav1.NewTime(by))
	b.pod.DeletionGracePeriodSeconds = ptr.To[int64](30)
	return b
}

// With changes what has no method of its own.
func (b *PodBuilder) With(changes ...func(*corev1.Pod)) *PodBuilder {
	for _, change := range changes {
		change(b.pod)
	}
	return b
}
