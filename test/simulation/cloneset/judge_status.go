// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// tally is the part of a status that pods decide.
type tally struct {
	Replicas, Ready, Available, Updated, UpdatedReady, UpdatedAvailable, ExpectedUpdated int32
}

func told(s *kruisev1alpha1.CloneSetStatus) tally {
	return tally{s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas, s.ExpectedUpdatedReplicas}
}

// tally counts pods as the status must tell them.
func (s *scene) tally(pods []*corev1.Pod) tally {
	t := tally{ExpectedUpdated: int32(s.Replicas - s.Partition)}
	for _, pod := range pods {
		if !world.Active(pod) || !world.Member(pod, s.set.UID) {
			continue
		}
		isReady, isAvailable := world.Ready(pod), world.Available(pod, s.set.Spec.MinReadySeconds, s.Now)
		count := func(n *int32, yes bool) {
			if yes {
				*n++
			}
		}
		updated := !s.Old(pod)
		count(&t.Replicas, true)
		count(&t.Ready, isReady)
		count(&t.Available, isAvailable)
		count(&t.Updated, updated)
		count(&t.UpdatedReady, updated && isReady)
		count(&t.UpdatedAvailable, updated && isAvailable)
	}
	return t
}

// setWrite: a status says what was observed, for the generation that was observed.
func (s *scene) setWrite(w api.Write) error {
	before, after := w.Before.(*kruisev1alpha1.CloneSet), w.After.(*kruisev1alpha1.CloneSet)
	if w.Subresource != api.Status {
		return nil
	}
	if after.Status.ObservedGeneration != s.set.Generation {
		return fmt.Errorf("observed generation %d is reported, %d was seen", after.Status.ObservedGeneration, s.set.Generation)
	}
	if r, exists := s.Judge.Release(after.Status.UpdateRevision); exists && r != s.Wants {
		return fmt.Errorf("update revision %q is not the one of the template that was seen", after.Status.UpdateRevision)
	}
	var seen []*corev1.Pod
	for _, o := range s.Judge.View.All(api.Pods) {
		pod := o.(*corev1.Pod)
		seen = append(seen, pod)
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.UID == s.set.UID && !world.Member(pod, s.set.UID) {
			return nil // about to be released: counted or not, both are true
		}
	}
	if s.recordedTwice(s.Wants) {
		return nil // which of the two a pod carries makes no difference to anybody
	}
	if diff := cmp.Diff(s.tally(seen), told(&after.Status)); diff != "" {
		return fmt.Errorf("the status is not what was observed (-observed +reported):\n%s", diff)
	}
	was, is := before.Status.CurrentRevision, after.Status.CurrentRevision
	if _, exists := s.Judge.Release(was); was == is || was == "" || !exists {
		return nil
	}
	if t := told(&after.Status); is != after.Status.UpdateRevision || t.Updated != t.Replicas || t.Replicas != int32(s.Replicas) {
		return fmt.Errorf("current revision moves from %s to %s with %+v", was, is, t)
	}
	return nil
}

// recordedTwice: a manager with an old view can record a template again, when the name under which it did so before was taken
// then and is free now.
func (s *scene) recordedTwice(r world.Release) bool {
	found := 0
	for _, o := range s.Judge.Server.List(api.Revisions) {
		if held, known := s.Judge.Release(o.GetName()); known && held == r {
			found++
		}
	}
	return found > 1
}
