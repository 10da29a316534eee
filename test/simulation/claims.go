// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

const (
	protection = "kubernetes.io/pvc-protection" // put on every claim by the server, taken off when nobody uses it
	stuck      = "example.com/stuck"            // put on by somebody who never takes it off
)

// claimTemplates are what a user may want at one time.
func (s *simulation) claimTemplates() []corev1.PersistentVolumeClaim {
	names := [][]string{{"data"}, {"data"}, {"data", "log"}, {"log"}, nil}[s.random.IntN(5)]
	if names == nil && s.about(Claiming, Together) {
		names = []string{"data"}
	}
	var templates []corev1.PersistentVolumeClaim
	for _, name := range names {
		templates = append(templates, claimTemplate(name))
	}
	return templates
}

func claimTemplate(name string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tier": name}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// editClaims is what a user may do to the claims in the spec.
func (s *simulation) editClaims(set *kruisev1alpha1.CloneSet) {
	if s.random.IntN(2) == 0 {
		set.Spec.ScaleStrategy.DisablePVCReuse = !set.Spec.ScaleStrategy.DisablePVCReuse
		return
	}
	set.Spec.VolumeClaimTemplates = s.claimTemplates()
}

func (w *world) claims() []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for _, o := range w.server.List(api.Claims) {
		claims = append(claims, o.(*corev1.PersistentVolumeClaim))
	}
	return claims
}

// disturbClaim is one thing that a user may do to a claim at any time.
func (s *simulation) disturbClaim(claim *corev1.PersistentVolumeClaim) {
	s.misfortunes--
	key := client.ObjectKeyFromObject(claim)
	if claim.DeletionTimestamp == nil && s.random.IntN(2) == 0 {
		s.must(s.server.Modify("user", api.Claims, key, api.Main, func(o client.Object) { o.SetFinalizers(append(o.GetFinalizers(), stuck)) }))
		s.tell("user: puts a finalizer on claim %s and forgets it", claim.Name)
	}
	if err := s.server.Delete("user", api.Claims, key, nil, nil); err != nil {
		panic(fmt.Sprintf("the user's deletion failed: %v", err))
	}
	s.tell("user: deletes claim %s", claim.Name)
}

// unused finds a claim on its way out that no pod needs any more.
func (w *world) unused() *corev1.PersistentVolumeClaim {
	used := map[string]bool{}
	for _, pod := range w.pods() {
		for _, name := range mounts(pod) {
			used[name] = true
		}
	}
	for _, claim := range w.claims() {
		if claim.DeletionTimestamp != nil && !used[claim.Name] && slices.Contains(claim.Finalizers, protection) {
			return claim
		}
	}
	return nil
}

func (w *world) unprotect(claim *corev1.PersistentVolumeClaim) {
	w.must(w.server.Modify("protection", api.Claims, client.ObjectKeyFromObject(claim), api.Main, func(o client.Object) {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == protection }))
	}))
	w.tell("protection: nobody uses claim %s any more", claim.Name)
}

// hasVolumes tells whether the scheduler can place the pod.
func (w *world) hasVolumes(pod *corev1.Pod) bool {
	for _, name := range mounts(pod) {
		if w.server.Get(api.Claims, types.NamespacedName{Namespace: pod.Namespace, Name: name}) == nil {
			return false
		}
	}
	return true
}

func mounts(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			names = append(names, source.ClaimName)
		}
	}
	return names
}

// claimWrite judges what the manager does to claims. What is deleted cannot be brought back, so an old view is no excuse.
func (s *scene) claimWrite(w api.Write) error {
	claim := w.After.(*corev1.PersistentVolumeClaim)
	id := claim.Labels[kruisev1alpha1.LabelInstanceID]
	pod := setName + "-" + id
	switch w.Verb {
	case api.Create:
		template, _, _ := strings.Cut(claim.Name, "-")
		if id == "" || claim.Name != template+"-"+pod || !metav1.IsControlledBy(claim, s.set) || claim.Labels[labelApp] != setName || claim.Labels["tier"] != template {
			return fmt.Errorf("the claim has labels %v and owners %v", claim.Labels, claim.OwnerReferences)
		}
		return nil
	case api.Update:
		if !s.set.Spec.ScaleStrategy.DisablePVCReuse {
			return fmt.Errorf("the owner of a claim changes although claims are reused")
		}
	default:
		if !s.set.Spec.ScaleStrategy.DisablePVCReuse && !s.judge.deleted[pod] {
			return fmt.Errorf("a claim is deleted whose pod was not deleted by the manager, although claims are reused")
		}
	}
	for _, p := range s.pods {
		if p.DeletionTimestamp == nil && slices.Contains(mounts(p), claim.Name) && (w.Verb != api.Update || active(p)) {
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
	if got := mounts(pod); !slices.Equal(got, want) {
		return fmt.Errorf("pod is created with claims %v, want %v", got, want)
	}
	for _, name := range want {
		key := types.NamespacedName{Namespace: pod.Namespace, Name: name}
		seen := s.judge.view.Peek(api.Claims, key)
		is := s.judge.server.Get(api.Claims, key)
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
	for _, pod := range s.pods {
		if active(pod) && slices.Contains(before.Spec.ScaleStrategy.PodsToDelete, pod.Name) && !slices.Contains(after.Spec.ScaleStrategy.PodsToDelete, pod.Name) {
			return fmt.Errorf("pod %s is active and leaves podsToDelete", pod.Name)
		}
	}
	return nil
}

// claimsConverged compares claims with what the set asks for.
func (w *world) claimsConverged(s *scene) error {
	ids := map[string]string{}
	living := map[string]bool{}
	for _, pod := range s.pods {
		if !active(pod) {
			continue
		}
		living[pod.Name] = true
		if !w.hasVolumes(pod) {
			return fmt.Errorf("pod %s lacks a claim", pod.Name)
		}
		id := pod.Labels[kruisev1alpha1.LabelInstanceID]
		if other := ids[id]; other != "" {
			return fmt.Errorf("pods %s and %s share the id %s", pod.Name, other, id)
		}
		ids[id] = pod.Name
	}
	for _, name := range s.set.Spec.ScaleStrategy.PodsToDelete {
		if !living[name] {
			return fmt.Errorf("podsToDelete names %s, which is no active pod", name)
		}
	}
	for _, claim := range w.claims() {
		pod := setName + "-" + claim.Labels[kruisev1alpha1.LabelInstanceID]
		holder := w.server.Get(api.Pods, types.NamespacedName{Namespace: namespace, Name: pod})
		switch {
		case !metav1.IsControlledBy(claim, s.set) || claim.DeletionTimestamp != nil || holder != nil:
		case s.set.Spec.ScaleStrategy.DisablePVCReuse:
			return fmt.Errorf("claim %s is kept without a pod, although claims are not reused", claim.Name)
		case w.judge.deleted[pod] && w.manager.starts == 1: // a manager that dies between the two deletions cannot know that it owes the second
			return fmt.Errorf("claim %s is kept, although the manager has deleted its pod", claim.Name)
		}
	}
	return nil
}
