// SPDX-License-Identifier: Apache-2.0

package builders

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

const (
	// Namespace is where everything is built.
	Namespace = "default"
	// Container is the name of the only container of a set's template.
	Container = "app"
	// Image is what that container runs unless a test says otherwise.
	Image = "registry.test/app:v1"
)

// Epoch is the creation time of everything that is built.
func Epoch() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// CloneSetBuilder builds a CloneSet.
type CloneSetBuilder struct {
	set *kruisev1alpha1.CloneSet
}

// CloneSet starts a set whose template has the label app=name and one
// container, and that sets nothing that has a default. Its UID is "<name>-uid".
func CloneSet(name string) *CloneSetBuilder {
	labels := map[string]string{"app": name}
	return &CloneSetBuilder{set: &kruisev1alpha1.CloneSet{
		TypeMeta: metav1.TypeMeta{APIVersion: kruisev1alpha1.GroupVersion.String(), Kind: kruisev1alpha1.CloneSetKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: Namespace, UID: types.UID(name + "-uid"), Generation: 1,
			CreationTimestamp: metav1.NewTime(Epoch()),
		},
		Spec: kruisev1alpha1.CloneSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: Container, Image: Image}}},
			},
		},
	}}
}

// Build returns the set.
func (b *CloneSetBuilder) Build() *kruisev1alpha1.CloneSet { return b.set }

// Replicas sets the number of pods wanted.
func (b *CloneSetBuilder) Replicas(n int32) *CloneSetBuilder {
	b.set.Spec.Replicas = ptr.To(n)
	return b
}

// Image sets the image of the template's container.
func (b *CloneSetBuilder) Image(image string) *CloneSetBuilder {
	b.set.Spec.Template.Spec.Containers[0].Image = image
	return b
}

// Type sets how pods are updated.
func (b *CloneSetBuilder) Type(t kruisev1alpha1.CloneSetUpdateStrategyType) *CloneSetBuilder {
	b.set.Spec.UpdateStrategy.Type = t
	return b
}

// InPlace lets pods be updated in place where that is possible.
func (b *CloneSetBuilder) InPlace() *CloneSetBuilder {
	return b.Type(kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType)
}

// Partition sets the pods to keep on older revisions, such as "3" or "20%".
func (b *CloneSetBuilder) Partition(n string) *CloneSetBuilder {
	b.set.Spec.UpdateStrategy.Partition = number(n)
	return b
}

// MaxUnavailable sets the limit of unavailable pods, such as "3" or "20%".
func (b *CloneSetBuilder) MaxUnavailable(n string) *CloneSetBuilder {
	b.set.Spec.UpdateStrategy.MaxUnavailable = number(n)
	return b
}

// MaxSurge sets the pods above the replicas, such as "3" or "20%".
func (b *CloneSetBuilder) MaxSurge(n string) *CloneSetBuilder {
	b.set.Spec.UpdateStrategy.MaxSurge = number(n)
	return b
}

// ScaleMaxUnavailable sets the limit of creations, such as "3" or "20%".
func (b *CloneSetBuilder) ScaleMaxUnavailable(n string) *CloneSetBuilder {
	b.set.Spec.ScaleStrategy.MaxUnavailable = number(n)
	return b
}

// Paused stops updates.
func (b *CloneSetBuilder) Paused() *CloneSetBuilder {
	b.set.Spec.UpdateStrategy.Paused = true
	return b
}

// Grace sets the seconds between draining a pod and changing it.
func (b *CloneSetBuilder) Grace(seconds int32) *CloneSetBuilder {
	b.set.Spec.UpdateStrategy.InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: seconds}
	return b
}

// MinReadySeconds sets how long a pod must be ready to be available.
func (b *CloneSetBuilder) MinReadySeconds(seconds int32) *CloneSetBuilder {
	b.set.Spec.MinReadySeconds = seconds
	return b
}

// PodsToDelete names pods to delete.
func (b *CloneSetBuilder) PodsToDelete(names ...string) *CloneSetBuilder {
	b.set.Spec.ScaleStrategy.PodsToDelete = names
	return b
}

// Claim adds a claim template of one gibibyte.
func (b *CloneSetBuilder) Claim(name string) *CloneSetBuilder {
	b.set.Spec.VolumeClaimTemplates = append(b.set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	})
	return b
}

// With changes what has no method of its own.
func (b *CloneSetBuilder) With(change func(*kruisev1alpha1.CloneSet)) *CloneSetBuilder {
	change(b.set)
	return b
}

// number keeps what is not an integer as it stands, so that a test can also
// build what must be refused.
func number(s string) *intstr.IntOrString { return ptr.To(intstr.Parse(s)) }
