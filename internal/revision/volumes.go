// SPDX-License-Identifier: Apache-2.0

package revision

import (
	corev1 "k8s.io/api/core/v1"
)

func defaultVolume(source *corev1.VolumeSource) {
	if *source == (corev1.VolumeSource{}) {
		source.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if source.Image != nil {
		setDefault(&source.Image.PullPolicy, pullPolicy(source.Image.Reference))
	}
	if source.HostPath != nil {
		setPointer(&source.HostPath.Type, corev1.HostPathUnset)
	}
	if source.Secret != nil {
		setPointer(&source.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if source.ConfigMap != nil {
		setPointer(&source.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if source.DownwardAPI != nil {
		setPointer(&source.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		defaultDownwardItems(source.DownwardAPI.Items)
	}
	if source.Projected != nil {
		defaultProjected(source.Projected)
	}
	if source.Ephemeral != nil && source.Ephemeral.VolumeClaimTemplate != nil {
		defaultClaim(&source.Ephemeral.VolumeClaimTemplate.Spec)
	}
	defaultVendorVolume(source)
}

func defaultProjected(projected *corev1.ProjectedVolumeSource) {
	setPointer(&projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	for i := range projected.Sources {
		part := &projected.Sources[i]
		if part.DownwardAPI != nil {
			defaultDownwardItems(part.DownwardAPI.Items)
		}
		if part.ServiceAccountToken != nil {
			setPointer(&part.ServiceAccountToken.ExpirationSeconds, 60*60)
		}
	}
}

func defaultDownwardItems(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		defaultFieldRef(items[i].FieldRef)
	}
}

func defaultVendorVolume(source *corev1.VolumeSource) {
	if source.ISCSI != nil {
		setDefault(&source.ISCSI.ISCSIInterface, "default")
	}
	if source.RBD != nil {
		setDefault(&source.RBD.RBDPool, "rbd")
		setDefault(&source.RBD.RadosUser, "admin")
		setDefault(&source.RBD.Keyring, "/etc/ceph/keyring")
	}
	if source.AzureDisk != nil {
		setPointer(&source.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		setPointer(&source.AzureDisk.FSType, "ext4")
		setPointer(&source.AzureDisk.ReadOnly, false)
		setPointer(&source.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
	}
	if source.ScaleIO != nil {
		setDefault(&source.ScaleIO.StorageMode, "ThinProvisioned")
		setDefault(&source.ScaleIO.FSType, "xfs")
	}
}

func defaultClaim(spec *corev1.PersistentVolumeClaimSpec) {
	setPointer(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(spec.Resources.Limits)
	roundUp(spec.Resources.Requests)
}
