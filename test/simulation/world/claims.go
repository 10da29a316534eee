// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
)

const (
	protection = "kubernetes.io/pvc-protection" // put on every claim by the server, taken off when nobody uses it
	stuck      = "example.com/stuck"            // put on by somebody who never takes it off
)

// ClaimTemplates are what a user may want at one time.
func (s *Story) ClaimTemplates() []corev1.PersistentVolumeClaim {
	names := [][]string{{"data"}, {"data"}, {"data", "log"}, {"log"}, nil}[s.Random.IntN(5)]
	if names == nil && s.About(Claiming, Together) {
		names = []string{"data"}
	}
	var templates []corev1.PersistentVolumeClaim
	for _, name := range names {
		templates = append(templates, ClaimTemplate(name))
	}
	return templates
}

// ClaimTemplate is one of 1Gi.
func ClaimTemplate(name string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tier": name}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// Claims returns all claims of the server by name.
func (w *World) Claims() []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for _, o := range w.Server.List(api.Claims) {
		claims = append(claims, o.(*corev1.PersistentVolumeClaim))
	}
	return claims
}

// DisturbClaim is one thing that a user may do to a claim at any time.
func (s *Story) DisturbClaim(claim *corev1.PersistentVolumeClaim) {
	s.Misfortunes--
	key := client.ObjectKeyFromObject(claim)
	if claim.DeletionTimestamp == nil && s.Random.IntN(2) == 0 {
		s.Must(s.Server.Modify("user", api.Claims, key, api.Main, func(o client.Object) { o.SetFinalizers(append(o.GetFinalizers(), stuck)) }))
		s.Tell("user: puts a finalizer on claim %s and forgets it", claim.Name)
	}
	s.Remove(api.Claims, claim.Name)
}

// Unused finds a claim on its way out that no pod needs any more.
func (w *World) Unused() *corev1.PersistentVolumeClaim {
	used := map[string]bool{}
	for _, pod := range w.Pods() {
		for _, name := range Mounts(pod) {
			used[name] = true
		}
	}
	for _, claim := range w.Claims() {
		if claim.DeletionTimestamp != nil && !used[claim.Name] && slices.Contains(claim.Finalizers, protection) {
			return claim
		}
	}
	return nil
}

// Unprotect lets a claim go.
func (w *World) Unprotect(claim *corev1.PersistentVolumeClaim) {
	w.Must(w.Server.Modify("protection", api.Claims, client.ObjectKeyFromObject(claim), api.Main, func(o client.Object) {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == protection }))
	}))
	w.Tell("protection: nobody uses claim %s any more", claim.Name)
}

// HasVolumes tells whether the scheduler can place the pod.
func (w *World) HasVolumes(pod *corev1.Pod) bool {
	for _, name := range Mounts(pod) {
		if w.Server.Get(api.Claims, types.NamespacedName{Namespace: pod.Namespace, Name: name}) == nil {
			return false
		}
	}
	return true
}

// Mounts are the names of the claims of a pod.
func Mounts(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			names = append(names, source.ClaimName)
		}
	}
	return names
}

// Unmet finds a claim that waits for its volume, or for that to grow.
func (w *World) Unmet() *corev1.PersistentVolumeClaim {
	if !w.Volumes {
		return nil
	}
	for _, claim := range w.Claims() {
		if size := claim.Spec.Resources.Requests[corev1.ResourceStorage]; claim.Status.Phase != corev1.ClaimBound || size.Cmp(claim.Status.Capacity[corev1.ResourceStorage]) > 0 {
			return claim
		}
	}
	return nil
}

// Meet gives a claim what it asks for.
func (w *World) Meet(claim *corev1.PersistentVolumeClaim) {
	w.Must(w.Server.Modify("volumes", api.Claims, client.ObjectKeyFromObject(claim), api.Status, func(o client.Object) {
		written := o.(*corev1.PersistentVolumeClaim)
		written.Status.Phase = corev1.ClaimBound
		written.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]}
	}))
	w.Tell("volumes: claim %s has all it asks for", claim.Name)
}

// Stuck finds a claim on its way out that somebody keeps from going.
func (w *World) Stuck() *corev1.PersistentVolumeClaim {
	for _, claim := range w.Claims() {
		if slices.Contains(claim.Finalizers, stuck) {
			return claim
		}
	}
	return nil
}

// Unstick lets such a claim go.
func (w *World) Unstick(claim *corev1.PersistentVolumeClaim) {
	w.Must(w.Server.Modify("user", api.Claims, client.ObjectKeyFromObject(claim), api.Main, func(o client.Object) {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == stuck }))
	}))
	w.Tell("user: takes the finalizer off claim %s", claim.Name)
}
