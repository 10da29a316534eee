// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// retention says which claims are not kept: those of pods that are not wanted any more, and all when the set goes.
type retention struct{ scaled, deleted bool }

func (p *pass) retention() retention {
	policy := p.world.Set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil {
		return retention{}
	}
	return retention{
		scaled:  policy.WhenScaled == kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType,
		deleted: policy.WhenDeleted == kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType,
	}
}

// own makes the claims of a pod go with whom they have to go: with the set, with the pod when it is condemned, or with
// nobody. The member is nil where the pod is yet to be created. References to the set and to pods of this name are ours to
// change; those of others stay. A claim that something else controls is given no owner.
func (p *pass) own(podName string, m *Member) {
	if len(p.world.Claims) == 0 {
		return
	}
	wanted, why := p.owner(m)
	p.forClaims(podName, func(c, _ *corev1.PersistentVolumeClaim) {
		owners := slices.DeleteFunc(slices.Clone(c.OwnerReferences), func(o metav1.OwnerReference) bool {
			return (o.UID == p.world.Set.UID || isPod(o, podName)) && (wanted == nil || o.UID != wanted.UID)
		})
		has := wanted != nil && slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == wanted.UID })
		if wanted != nil && !has && !p.foreign(c, podName) {
			owners = append(owners, *wanted)
		}
		if len(owners) != len(c.OwnerReferences) || !sameOwners(owners, c.OwnerReferences) {
			p.doToClaim(podName, step.GiveClaim{Because: why, Target: step.On(c), Pod: podName, Owners: owners})
		}
	})
}

// owner is with whom the claims of a pod go; nil for nobody.
func (p *pass) owner(m *Member) (*metav1.OwnerReference, step.Because) {
	keeps := p.retention()
	switch {
	case m != nil && m.condemned() && keeps.scaled:
		return &metav1.OwnerReference{APIVersion: "v1", Kind: podKind, Name: m.Pod.Name, UID: m.Pod.UID},
			"its pod is not wanted any more, and it goes with it (persistentVolumeClaimRetentionPolicy.whenScaled)"
	case keeps.deleted:
		owner := setOwner(p.world.Set)
		return &owner, "it goes with the set (persistentVolumeClaimRetentionPolicy.whenDeleted)"
	}
	return nil, "it outlives its pod and the set (persistentVolumeClaimRetentionPolicy)"
}

func setOwner(set *kruisev1beta1.StatefulSet) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: kruisev1beta1.GroupVersion.String(), Kind: kruisev1beta1.StatefulSetKind, Name: set.Name, UID: set.UID}
}

const podKind = "Pod"

func isPod(o metav1.OwnerReference, name string) bool { return o.Kind == podKind && o.Name == name }

// refersTo tells whether a claim goes with a pod of that name.
func refersTo(c *corev1.PersistentVolumeClaim, podName string) bool {
	return slices.ContainsFunc(c.OwnerReferences, func(o metav1.OwnerReference) bool { return isPod(o, podName) })
}

// foreign tells whether something controls a claim that is neither the set nor its pod.
func (p *pass) foreign(c *corev1.PersistentVolumeClaim, podName string) bool {
	ref := metav1.GetControllerOfNoCopy(c)
	return ref != nil && pod.ControllerOf(c) != p.world.Set.UID && !isPod(*ref, podName)
}

func sameOwners(a, b []metav1.OwnerReference) bool {
	return slices.EqualFunc(a, b, func(x, y metav1.OwnerReference) bool { return x.UID == y.UID })
}
