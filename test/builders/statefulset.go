// SPDX-License-Identifier: Apache-2.0

package builders

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

// StatefulSetBuilder builds a StatefulSet with nothing but what is required.
type StatefulSetBuilder struct {
	set *kruisev1beta1.StatefulSet
}

// StatefulSet starts a set with that name and UID "<name>-uid", whose pods carry the label app=<name> and run Image.
func StatefulSet(name string) *StatefulSetBuilder {
	return &StatefulSetBuilder{set: &kruisev1beta1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: kruisev1beta1.GroupVersion.String(), Kind: kruisev1beta1.StatefulSetKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: Namespace, UID: types.UID(name + "-uid"), Generation: 1,
			CreationTimestamp: metav1.NewTime(Epoch()),
		},
		Spec: kruisev1beta1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: Container, Image: Image}}},
			},
		},
	}}
}

// Build returns the set.
func (b *StatefulSetBuilder) Build() *kruisev1beta1.StatefulSet { return b.set }

// With changes whatever has no method of its own.
func (b *StatefulSetBuilder) With(change func(*kruisev1beta1.StatefulSet)) *StatefulSetBuilder {
	change(b.set)
	return b
}

// Replicas sets spec.replicas.
func (b *StatefulSetBuilder) Replicas(n int32) *StatefulSetBuilder {
	b.set.Spec.Replicas = ptr.To(n)
	return b
}

// Parallel lets pods not wait for one another.
func (b *StatefulSetBuilder) Parallel() *StatefulSetBuilder {
	b.set.Spec.PodManagementPolicy = kruisev1beta1.ParallelPodManagement
	return b
}

// Rolling changes the tuning of updates.
func (b *StatefulSetBuilder) Rolling(change func(*kruisev1beta1.RollingUpdateStatefulSetStrategy)) *StatefulSetBuilder {
	if b.set.Spec.UpdateStrategy.RollingUpdate == nil {
		b.set.Spec.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{}
	}
	change(b.set.Spec.UpdateStrategy.RollingUpdate)
	return b
}

// InPlace updates pods in place where that is possible.
func (b *StatefulSetBuilder) InPlace() *StatefulSetBuilder {
	return b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) {
		r.PodUpdatePolicy = kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType
	})
}

// Partition sets how many pods keep the current revision.
func (b *StatefulSetBuilder) Partition(n int32) *StatefulSetBuilder {
	return b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.Partition = ptr.To(n) })
}

// MaxUnavailable sets that of updates, as in a manifest: "2" or "25%".
func (b *StatefulSetBuilder) MaxUnavailable(n string) *StatefulSetBuilder {
	return b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.MaxUnavailable = number(n) })
}

// ScaleMaxUnavailable sets that of creations.
func (b *StatefulSetBuilder) ScaleMaxUnavailable(n string) *StatefulSetBuilder {
	b.set.Spec.ScaleStrategy = &kruisev1beta1.StatefulSetScaleStrategy{MaxUnavailable: number(n)}
	return b
}

// Claim adds a claim template of that size.
func (b *StatefulSetBuilder) Claim(name, size string) *StatefulSetBuilder {
	b.set.Spec.VolumeClaimTemplates = append(b.set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			},
		},
	})
	return b
}

// MemberPod starts a pod as the controller makes it for that ordinal of the set: owned, in the named revision, Normal and
// ready since Epoch. Its template is the set's present one.
func MemberPod(set *kruisev1beta1.StatefulSet, ordinal int, revision string) *PodBuilder {
	b := Pod(set.Name + "-" + strconv.Itoa(ordinal))
	template := set.Spec.Template.DeepCopy()
	gates, node := b.pod.Spec.ReadinessGates, b.pod.Spec.NodeName
	b.pod.Labels, b.pod.Annotations, b.pod.Finalizers, b.pod.Spec = template.Labels, template.Annotations, template.Finalizers, template.Spec
	b.pod.Spec.ReadinessGates = append(b.pod.Spec.ReadinessGates, gates...)
	b.pod.Spec.NodeName, b.pod.Spec.Hostname, b.pod.Spec.Subdomain = node, b.pod.Name, set.Spec.ServiceName
	for i := range set.Spec.VolumeClaimTemplates {
		name := set.Spec.VolumeClaimTemplates[i].Name
		b.pod.Spec.Volumes = append(b.pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name + "-" + b.pod.Name},
		}})
	}
	b.pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind))}
	return b.Label(kruisev1beta1.LabelPodName, b.pod.Name).
		Label(kruisev1beta1.LabelPodIndex, strconv.Itoa(ordinal)).
		Label(kruisev1alpha1.LabelRevision, revision).
		Lifecycle(kruisev1alpha1.LifecycleNormal).
		ReadySince(Epoch())
}
