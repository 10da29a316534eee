// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// editClaims is what a user may do to the claims in the spec.
func (s *simulation) editClaims(set *kruisev1alpha1.CloneSet) {
	if s.Random.IntN(2) == 0 {
		set.Spec.ScaleStrategy.DisablePVCReuse = !set.Spec.ScaleStrategy.DisablePVCReuse
		return
	}
	set.Spec.VolumeClaimTemplates = s.ClaimTemplates()
}

// Claim judges what the manager does to claims. What is deleted cannot be brought back, so an old view is no excuse.
func (s *scene) Claim(w api.Write) error {
	claim := w.After.(*corev1.PersistentVolumeClaim)
	id := claim.Labels[kruisev1alpha1.LabelInstanceID]
	pod := world.SetName + "-" + id
	switch w.Verb {
	case api.Create:
		template, _, _ := strings.Cut(claim.Name, "-")
		if id == "" || claim.Name != template+"-"+pod || !metav1.IsControlledBy(claim, s.set) || claim.Labels[world.LabelApp] != world.SetName || claim.Labels["tier"] != template {
			return fmt.Errorf("the claim has labels %v and owners %v", claim.Labels, claim.OwnerReferences)
		}
		return nil
	case api.Update:
		if !s.set.Spec.ScaleStrategy.DisablePVCReuse {
			return fmt.Errorf("the owner of a claim changes although claims are reused")
		}
	default:
		if !s.set.Spec.ScaleStrategy.DisablePVCReuse && !s.Judge.Deleted[pod] {
			return fmt.Errorf("a claim is deleted whose pod was not deleted by the manager, although claims are reused")
		}
	}
	for _, p := range s.Pods {
		if p.DeletionTimestamp == nil && slices.Contains(world.Mounts(p), claim.Name) && (w.Verb != api.Update || world.Active(p)) {
			return fmt.Errorf("pod %s mounts the claim and is not on its way out", p.Name)
		}
	}
	return nil
}

// mountsClaims: a pod is created with all its claims, which are there and not on their way out.
func (s *scene) mountsClaims(pod *corev1.Pod) error {
	var want []string
	for _, t := range s.set.Spec.VolumeClaimTemplates {
		want = append(want, t.Name+"-"+pod.Name)
	}
	if got := world.Mounts(pod); !slices.Equal(got, want) {
		return fmt.Errorf("pod is created with claims %v, want %v", got, want)
	}
	for _, name := range want {
		key := types.NamespacedName{Namespace: pod.Namespace, Name: name}
		seen := s.Judge.View.Peek(api.Claims, key)
		is := s.Judge.Server.Get(api.Claims, key)
		if seen == nil && is == nil {
			return fmt.Errorf("pod is created before its claim %s", name)
		}
		// What the view shows may be gone, and the claim of that name a new one.
		if seen != nil && seen.GetDeletionTimestamp() != nil && (is == nil || is.GetUID() == seen.GetUID()) {
			return fmt.Errorf("pod is created on claim %s, which is on its way out", name)
		}
	}
	return nil
}

// trims judges a write of the spec: the manager may only drop names of pods that are not active from podsToDelete.
func (s *scene) trims(before, after *kruisev1alpha1.CloneSet) error {
	rest := after.DeepCopy()
	rest.Spec.ScaleStrategy.PodsToDelete = before.Spec.ScaleStrategy.PodsToDelete
	if rest.Generation--; describeSpec(rest) != describeSpec(before) || len(after.Spec.ScaleStrategy.PodsToDelete) >= len(before.Spec.ScaleStrategy.PodsToDelete) {
		return fmt.Errorf("the manager changes the spec from %s to %s", describeSpec(before), describeSpec(after))
	}
	for _, pod := range s.Pods {
		if world.Active(pod) && slices.Contains(before.Spec.ScaleStrategy.PodsToDelete, pod.Name) && !slices.Contains(after.Spec.ScaleStrategy.PodsToDelete, pod.Name) {
			return fmt.Errorf("pod %s is active and leaves podsToDelete", pod.Name)
		}
	}
	return nil
}

// claimsConverged compares claims with what the set asks for.
func (s *simulation) claimsConverged(m *scene) error {
	ids := map[string]string{}
	living := map[string]bool{}
	for _, pod := range m.Pods {
		if !world.Active(pod) {
			continue
		}
		living[pod.Name] = true
		if !s.HasVolumes(pod) {
			return fmt.Errorf("pod %s lacks a claim", pod.Name)
		}
		id := pod.Labels[kruisev1alpha1.LabelInstanceID]
		if other := ids[id]; other != "" {
			return fmt.Errorf("pods %s and %s share the id %s", pod.Name, other, id)
		}
		ids[id] = pod.Name
	}
	for _, name := range m.set.Spec.ScaleStrategy.PodsToDelete {
		if !living[name] {
			return fmt.Errorf("podsToDelete names %s, which is no active pod", name)
		}
	}
	for _, claim := range s.Claims() {
		pod := world.SetName + "-" + claim.Labels[kruisev1alpha1.LabelInstanceID]
		holder := s.Server.Get(api.Pods, types.NamespacedName{Namespace: world.Namespace, Name: pod})
		switch {
		case !metav1.IsControlledBy(claim, m.set) || claim.DeletionTimestamp != nil || holder != nil:
		case m.set.Spec.ScaleStrategy.DisablePVCReuse:
			return fmt.Errorf("claim %s is kept without a pod, although claims are not reused", claim.Name)
		case s.Judge.Deleted[pod] && s.Manager.Starts == 1: // a manager that dies between the two deletions cannot know that it owes the second
			return fmt.Errorf("claim %s is kept, although the manager has deleted its pod", claim.Name)
		}
	}
	return nil
}

// stranded: a claim that the pod mounts is gone, and no template makes it any more. It never starts, so it is replaced whatever its revision
// is; to keep it would keep its place empty for ever.
func (s *scene) stranded(pod *corev1.Pod) bool {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		made := slices.ContainsFunc(s.set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == v.Name })
		if key := (types.NamespacedName{Namespace: pod.Namespace, Name: v.PersistentVolumeClaim.ClaimName}); !made && s.Judge.Server.Get(api.Claims, key) == nil {
			return true
		}
	}
	return false
}
