// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Differs names the field, other than the size, in which a claim is not what its template asks for; empty when it is.
// A storage class counts only when both name one: without one in the template, the server chooses.
func Differs(c, t *corev1.PersistentVolumeClaim) string {
	switch {
	case c.Spec.StorageClassName != nil && t.Spec.StorageClassName != nil && *c.Spec.StorageClassName != *t.Spec.StorageClassName:
		return "spec.storageClassName"
	case !slices.Equal(modes(c), modes(t)):
		return "spec.accessModes"
	}
	return ""
}

func modes(c *corev1.PersistentVolumeClaim) []corev1.PersistentVolumeAccessMode {
	return slices.Compact(slices.Sorted(slices.Values(c.Spec.AccessModes)))
}

// TooSmall tells whether a claim asks for less storage than its template. One that asks for more is never shrunk.
func TooSmall(c, t *corev1.PersistentVolumeClaim) bool {
	return c.Spec.Resources.Requests.Storage().Cmp(*t.Spec.Resources.Requests.Storage()) < 0
}

// Compatible tells whether a claim is what its template asks for, and at least as large.
func Compatible(c, t *corev1.PersistentVolumeClaim) bool {
	return Differs(c, t) == "" && !TooSmall(c, t)
}

// Ready tells whether the volume has all the storage that its claim asks for.
func Ready(c *corev1.PersistentVolumeClaim) bool {
	return c.Status.Capacity.Storage().Cmp(*c.Spec.Resources.Requests.Storage()) >= 0
}

// Growing tells whether a claim has a volume, and that has not all the storage yet that the claim asks for.
func Growing(c *corev1.PersistentVolumeClaim) bool {
	return c.Status.Phase == corev1.ClaimBound && !Ready(c)
}

// Finished tells whether nothing is left to be done about the size of a claim but what the node does when it mounts
// the volume for a pod.
func Finished(c *corev1.PersistentVolumeClaim) bool {
	return Ready(c) || slices.ContainsFunc(c.Status.Conditions, func(condition corev1.PersistentVolumeClaimCondition) bool {
		return condition.Type == corev1.PersistentVolumeClaimFileSystemResizePending && condition.Status == corev1.ConditionTrue
	})
}
