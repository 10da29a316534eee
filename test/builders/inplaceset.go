// SPDX-License-Identifier: Apache-2.0

package builders

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// InPlaceSetBuilder builds an InPlaceSet with nothing but what is required.
type InPlaceSetBuilder struct {
	set *cafev1alpha1.InPlaceSet
}

// InPlaceSet starts a set with that name and UID "<name>-uid", whose pods carry the label app=<name> and run Image.
func InPlaceSet(name string) *InPlaceSetBuilder {
	return &InPlaceSetBuilder{set: &cafev1alpha1.InPlaceSet{
		TypeMeta: metav1.TypeMeta{APIVersion: cafev1alpha1.GroupVersion.String(), Kind: cafev1alpha1.InPlaceSetKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: Namespace, UID: types.UID(name + "-uid"), Generation: 1,
			CreationTimestamp: metav1.NewTime(Epoch()),
		},
		Spec: cafev1alpha1.InPlaceSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: Container, Image: Image}}},
			},
		},
	}}
}

// Build returns the set.
func (b *InPlaceSetBuilder) Build() *cafev1alpha1.InPlaceSet { return b.set }

// With changes what has no method of its own.
func (b *InPlaceSetBuilder) With(change func(*cafev1alpha1.InPlaceSet)) *InPlaceSetBuilder {
	change(b.set)
	return b
}

// Replicas sets the number of pods wanted.
func (b *InPlaceSetBuilder) Replicas(n int32) *InPlaceSetBuilder {
	b.set.Spec.Replicas = ptr.To(n)
	return b
}

// Partition sets how many pods stay on older revisions, as in a manifest: "2" or "25%".
func (b *InPlaceSetBuilder) Partition(n string) *InPlaceSetBuilder {
	b.set.Spec.Strategy.Partition = number(n)
	return b
}

// MaxUnavailable sets that of updates, as in a manifest.
func (b *InPlaceSetBuilder) MaxUnavailable(n string) *InPlaceSetBuilder {
	b.set.Spec.Strategy.MaxUnavailable = number(n)
	return b
}

// Traffic declares components that route traffic to the pods.
func (b *InPlaceSetBuilder) Traffic(components ...string) *InPlaceSetBuilder {
	b.set.Annotations = map[string]string{cafev1alpha1.AnnotationTrafficComponents: strings.Join(components, ",")}
	return b
}

// InPlacePod starts a pod "<set>-<id>" as the controller makes it: owned, in the revision "<set>-<hash>", Normal, ready since
// Epoch and with an open gate. Its template is the set's present one.
func InPlacePod(set *cafev1alpha1.InPlaceSet, id, hash string) *PodBuilder {
	b := Pod(set.Name + "-" + id)
	template := set.Spec.Template.DeepCopy()
	gates, node := b.pod.Spec.ReadinessGates, b.pod.Spec.NodeName
	b.pod.Labels, b.pod.Annotations, b.pod.Finalizers, b.pod.Spec = template.Labels, template.Annotations, template.Finalizers, template.Spec
	b.pod.Spec.ReadinessGates, b.pod.Spec.NodeName = append(b.pod.Spec.ReadinessGates, gates...), node
	b.pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind))}
	return b.Label(kruisev1alpha1.LabelRevision, set.Name+"-"+hash).
		Label(kruisev1alpha1.LabelPodTemplateHash, hash).
		Lifecycle(kruisev1alpha1.LifecycleNormal).
		ReadySince(Epoch()).
		Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionTrue, "", Epoch())
}

// RoutedBy puts the finalizers of these components on the pod.
func (b *PodBuilder) RoutedBy(components ...string) *PodBuilder {
	for _, component := range components {
		b.pod.Finalizers = append(b.pod.Finalizers, cafev1alpha1.FinalizerPrefixTraffic+component)
	}
	return b
}
