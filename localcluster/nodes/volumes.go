// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

const (
	annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"
	annotationSelectedNode  = "volume.kubernetes.io/selected-node"
)

// volumes makes, resizes and removes the volumes of claims. Binding is left to the real controller.
type volumes struct {
	client  kubernetes.Interface
	claims  corelisters.PersistentVolumeClaimLister
	all     corelisters.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	// queue has claims as namespace/name, and volumes as a bare name.
	queue *queue
}

func newVolumes(client kubernetes.Interface, factory informers.SharedInformerFactory, log *slog.Logger) *volumes {
	claims, all := factory.Core().V1().PersistentVolumeClaims(), factory.Core().V1().PersistentVolumes()
	v := &volumes{client: client, claims: claims.Lister(), all: all.Lister(), classes: factory.Storage().V1().StorageClasses().Lister()}
	v.queue = newQueue("volume", log, v.sync)
	v.queue.watch(claims.Informer())
	v.queue.watch(all.Informer())
	return v
}

// register makes the default StorageClass.
func (v *volumes) register(ctx context.Context) error {
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        StorageClass,
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner:          provisioner,
		ReclaimPolicy:        ptr.To(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode:    ptr.To(storagev1.VolumeBindingImmediate),
		AllowVolumeExpansion: ptr.To(true),
	}
	if _, err := v.client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the StorageClass %s: %w", StorageClass, err)
	}
	return nil
}

func (v *volumes) sync(ctx context.Context, key string) (time.Duration, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return 0, fmt.Errorf("reading the key: %w", err)
	}
	if namespace == "" {
		return 0, v.reclaim(ctx, name)
	}
	claim, err := v.claims.PersistentVolumeClaims(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the cache: %w", err)
	}
	switch {
	case claim.DeletionTimestamp != nil:
		return 0, nil
	case claim.Spec.VolumeName == "":
		return 0, v.provision(ctx, claim)
	case claim.Status.Phase == corev1.ClaimBound:
		return 0, v.expand(ctx, claim)
	}
	return 0, nil
}

func (v *volumes) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	class, err := v.classes.Get(ptr.Deref(claim.Spec.StorageClassName, ""))
	if apierrors.IsNotFound(err) || err == nil && class.Provisioner != provisioner {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the cache: %w", err)
	}
	waits := ptr.Deref(class.VolumeBindingMode, storagev1.VolumeBindingImmediate) == storagev1.VolumeBindingWaitForFirstConsumer
	if waits && claim.Annotations[annotationSelectedNode] == "" {
		return nil
	}
	name := "pvc-" + string(claim.UID)
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationProvisionedBy: provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			PersistentVolumeReclaimPolicy: ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete),
			StorageClassName:              class.Name,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/simulated/" + name}},
		},
	}
	if _, err := v.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making volume %s: %w", name, err)
	}
	return nil
}

// expand gives a bound claim the size that it asks for, first in the volume, then in the claim's status.
func (v *volumes) expand(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	want, have := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	if want.Cmp(have) <= 0 {
		return nil
	}
	volume, err := v.all.Get(claim.Spec.VolumeName)
	if apierrors.IsNotFound(err) || err == nil && volume.Annotations[annotationProvisionedBy] != provisioner {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the cache: %w", err)
	}
	size := map[corev1.ResourceName]string{corev1.ResourceStorage: want.String()}
	if now := volume.Spec.Capacity[corev1.ResourceStorage]; now.Cmp(want) < 0 {
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"capacity": size}})
		if err != nil {
			return fmt.Errorf("encoding the volume's size: %w", err)
		}
		if _, err := v.client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("resizing volume %s: %w", volume.Name, err)
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": size, "conditions": nil}})
	if err != nil {
		return fmt.Errorf("encoding the claim's size: %w", err)
	}
	_, err = v.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !overtaken(err) {
		return fmt.Errorf("reporting the claim's size: %w", err)
	}
	return nil
}

// reclaim removes a volume of ours that its claim left.
func (v *volumes) reclaim(ctx context.Context, name string) error {
	volume, err := v.all.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the cache: %w", err)
	}
	if volume.Status.Phase != corev1.VolumeReleased || volume.DeletionTimestamp != nil ||
		volume.Annotations[annotationProvisionedBy] != provisioner ||
		volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return nil
	}
	err = v.client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(volume.UID))})
	if err != nil && !overtaken(err) {
		return fmt.Errorf("removing volume %s: %w", name, err)
	}
	return nil
}
