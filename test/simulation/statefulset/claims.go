// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// podOf is the name of the pod that a claim is for.
func podOf(claim string) string {
	_, pod, _ := strings.Cut(claim, "-")
	return pod
}

// template is the claim template of a claim; nil when there is none any more.
func (s *scene) template(claim string) *corev1.PersistentVolumeClaim {
	name, _, _ := strings.Cut(claim, "-")
	for i := range s.set.Spec.VolumeClaimTemplates {
		if t := &s.set.Spec.VolumeClaimTemplates[i]; t.Name == name {
			return t
		}
	}
	return nil
}

// claimsOf are the stored claims of a pod that have a template and stay.
func (s *scene) claimsOf(pod string) (claims []*corev1.PersistentVolumeClaim) {
	for i := range s.set.Spec.VolumeClaimTemplates {
		key := types.NamespacedName{Namespace: world.Namespace, Name: s.set.Spec.VolumeClaimTemplates[i].Name + "-" + pod}
		if claim, is := s.Judge.Server.Get(api.Claims, key).(*corev1.PersistentVolumeClaim); is && claim.DeletionTimestamp == nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

// growing tells whether a volume of the pod has not the size yet that its claim asks for.
func (s *scene) growing(pod string) bool {
	return resizes(s.set) && slices.ContainsFunc(s.claimsOf(pod), short)
}

// short tells whether the volume of a claim is smaller than the claim asks for.
func short(c *corev1.PersistentVolumeClaim) bool {
	return c.Status.Phase == corev1.ClaimBound && c.Spec.Resources.Requests.Storage().Cmp(*c.Status.Capacity.Storage()) > 0
}

// seenGrowing is as growing, in the manager's view. Its claims do not change with the pod, so a write to the pod can be made before the
// manager sees that its volume has the size.
func (s *scene) seenGrowing(pod string) bool {
	return resizes(s.set) && slices.ContainsFunc(s.set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool {
		seen, is := s.Judge.View.Peek(api.Claims, types.NamespacedName{Namespace: world.Namespace, Name: t.Name + "-" + pod}).(*corev1.PersistentVolumeClaim)
		return is && seen.DeletionTimestamp == nil && short(seen)
	})
}

// claimBehind tells whether a claim of the pod is smaller than its template asks for.
func (s *scene) claimBehind(pod string) bool {
	return resizes(s.set) && slices.ContainsFunc(s.claimsOf(pod), func(c *corev1.PersistentVolumeClaim) bool {
		return c.Spec.Resources.Requests.Storage().Cmp(*s.template(c.Name).Spec.Resources.Requests.Storage()) < 0
	})
}

func (s *scene) policy() (scaled, deleted bool) {
	p := s.set.Spec.PersistentVolumeClaimRetentionPolicy
	if p == nil {
		return false, false
	}
	return p.WhenScaled == kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType, p.WhenDeleted == kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType
}

// Claim judges what the manager does to claims. What is collected cannot be brought back, so an old view is no excuse.
func (s *scene) Claim(w api.Write) error {
	claim := w.After.(*corev1.PersistentVolumeClaim)
	pod := podOf(claim.Name)
	switch w.Verb {
	case api.Mark, api.Remove:
		return fmt.Errorf("the manager deletes a claim; only who owns it may take it along")
	case api.Create:
		if t := s.template(claim.Name); t == nil || claim.Labels[world.LabelApp] != world.SetName || claim.Labels["tier"] != t.Name {
			return fmt.Errorf("claim %s is created with labels %v, and no such template", claim.Name, claim.Labels)
		}
	default:
		before := w.Before.(*corev1.PersistentVolumeClaim)
		if change := claim.Spec.Resources.Requests.Storage().Cmp(*before.Spec.Resources.Requests.Storage()); change != 0 {
			return s.resizesClaim(before, claim, change)
		}
	}
	return s.owners(claim, pod)
}

// owners: a claim goes with the set when that is asked for, and with its pod when that is not wanted any more; otherwise with nobody.
func (s *scene) owners(claim *corev1.PersistentVolumeClaim, pod string) error {
	scaled, deleted := s.policy()
	live := s.position(pod) >= 0
	for _, o := range claim.OwnerReferences {
		switch {
		case o.UID == s.set.UID && !deleted:
			return fmt.Errorf("claim %s is to go with the set, which retains claims", claim.Name)
		case o.Kind == "Pod" && live:
			return fmt.Errorf("claim %s of a live ordinal is to go with its pod", claim.Name)
		case o.Kind == "Pod" && !scaled:
			return fmt.Errorf("claim %s is to go with its pod, and the set retains claims when it is scaled in", claim.Name)
		}
	}
	owned := slices.ContainsFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == s.set.UID })
	if deleted && (live || !scaled) && !owned {
		return fmt.Errorf("claim %s is not to go with the set, which asks for that", claim.Name)
	}
	return nil
}

func (s *scene) resizesClaim(before, claim *corev1.PersistentVolumeClaim, change int) error {
	pod := podOf(claim.Name)
	t := s.template(claim.Name)
	switch {
	case !resizes(s.set):
		return fmt.Errorf("claim %s is resized, and the set leaves claims as they are", claim.Name)
	case change < 0:
		return fmt.Errorf("claim %s shrinks", claim.Name)
	case t == nil || claim.Spec.Resources.Requests.Storage().Cmp(*t.Spec.Resources.Requests.Storage()) != 0:
		return fmt.Errorf("claim %s gets a size that is not its template's", claim.Name)
	case claim.Annotations[kruisev1beta1.AnnotationOwnedByStatefulSet] != world.SetName:
		return fmt.Errorf("claim %s is resized without saying by whom", claim.Name)
	case s.Paused || s.set.Spec.UpdateStrategy.Type == kruisev1beta1.OnDeleteStatefulSetStrategyType:
		return fmt.Errorf("claim %s is resized while nothing is updated", claim.Name)
	case !s.Unordered && s.position(pod) < s.Partition:
		return fmt.Errorf("claim %s of position %d is resized, below partition %d", claim.Name, s.position(pod), s.Partition)
	}
	if s.CatchingUp {
		return nil
	}
	another := slices.ContainsFunc(s.claimsOf(pod), func(c *corev1.PersistentVolumeClaim) bool { return c.Name != claim.Name && short(c) })
	free := short(before) || another || s.seenGrowing(pod) || !s.seenServing(s.position(pod)) // the position is unavailable already
	if n := s.down(pod) + 1; n > s.Unavailable && !free {
		return fmt.Errorf("claim %s is resized: %d positions would be unavailable, the limit is %d", claim.Name, n, s.Unavailable)
	}
	return nil
}

// seenServing tells whether the pod at a position serves and is not in the middle of a change, in truth and in the manager's view.
func (s *scene) seenServing(position int) bool {
	serving := func(p *corev1.Pod) bool { return world.Available(p, s.MinReadySeconds, s.Now) && !midResize(p) }
	pod := s.at(position)
	return pod != nil && serving(pod) && s.sees(pod, serving)
}

// mountsClaims: a pod is created with all its claims, which are there, not on their way out, and not about to be collected.
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
		seen, is := s.Judge.View.Peek(api.Claims, key), s.Judge.Server.Get(api.Claims, key)
		switch {
		case seen == nil && is == nil:
			return fmt.Errorf("pod is created before its claim %s", name)
		case seen == nil || is != nil && is.GetUID() != seen.GetUID():
		case seen.GetDeletionTimestamp() != nil:
			return fmt.Errorf("pod is created on claim %s, which is on its way out", name)
		case is != nil && slices.ContainsFunc(is.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.Kind == "Pod" }):
			return fmt.Errorf("pod is created on claim %s, which goes with a former pod", name)
		}
	}
	return nil
}
