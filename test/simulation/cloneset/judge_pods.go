// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Creates: never above replicas + surge, never more of a side than its share and the surge, and only what a revision records.
func (s *scene) Creates(pod *corev1.Pod) error {
	if !world.HasGate(pod) {
		return fmt.Errorf("pod is created without the readiness gate")
	}
	if s.CatchingUp {
		return nil
	}
	if err := s.mountsClaims(pod); err != nil {
		return err
	}
	var all, old int
	for _, p := range append([]*corev1.Pod{pod}, s.Pods...) {
		if !world.Active(p) {
			continue
		}
		all++
		if s.Old(p) && world.StateOf(p) != kruisev1alpha1.LifecyclePreparingUpdate { // it counts as what it will be
			old++
		}
	}
	if all > s.Replicas+s.Surge {
		return fmt.Errorf("%d active pods, above replicas %d + surge %d", all, s.Replicas, s.Surge)
	}
	if all > s.Replicas && !s.surgeHasAPurpose() {
		return fmt.Errorf("%d active pods of %d, and no pod waits for an update or was chosen for deletion", all, s.Replicas)
	}
	current, known := s.Judge.Release(s.set.Status.CurrentRevision)
	if !known || current == s.Wants {
		return nil // no release is under way: there is only one side
	}
	if !s.Old(pod) && all-old > s.Replicas-s.Partition+s.Surge {
		return fmt.Errorf("%d pods of the update revision, with replicas %d, partition %d, surge %d", all-old, s.Replicas, s.Partition, s.Surge)
	}
	if s.Old(pod) && old > s.Partition+s.Surge {
		return fmt.Errorf("%d pods of old revisions, with partition %d, surge %d", old, s.Partition, s.Surge)
	}
	return nil
}

// surgeHasAPurpose: there is something to update or to replace, in truth or in the manager's view.
func (s *scene) surgeHasAPurpose() bool {
	pods := s.Pods
	for _, o := range s.Judge.View.All(api.Pods) {
		pods = append(pods, o.(*corev1.Pod))
	}
	for _, p := range pods {
		if world.Active(p) && (s.Old(p) || chosen(p, s.set)) {
			return true
		}
	}
	return false
}

// Deletes: within the allowance when the pod is available, and within the partition when it is old.
func (s *scene) Deletes(pod *corev1.Pod) error {
	if world.StateOf(pod) == kruisev1alpha1.LifecyclePreparingDelete {
		return nil // it was decided when it entered this state
	}
	if err := s.Takes(pod, "deletes"); err != nil {
		return err
	}
	return s.Spares(pod)
}

// Spares: as many pods stay as must, when this one goes. Those that are prepared for their deletion go anyway.
func (s *scene) Spares(pod *corev1.Pod) error {
	if s.CatchingUp {
		return nil
	}
	c, picked := s.Counts(), chosen(pod, s.set) || s.stranded(pod)
	for _, other := range s.Pods {
		if world.Active(other) && other.UID != pod.UID && world.StateOf(other) == kruisev1alpha1.LifecyclePreparingDelete {
			c.Active--
			if s.Old(other) {
				c.Old--
			}
		}
	}
	// In scaling, a pod that prepares for its update counts as updated already.
	old := s.Old(pod) && world.StateOf(pod) != kruisev1alpha1.LifecyclePreparingUpdate
	if old && !picked && c.Old-1 < s.Partition {
		return fmt.Errorf("%d pods of old revisions would remain, below partition %d", c.Old-1, s.Partition)
	}
	if s.updatesByDeletion() || picked {
		return nil
	}
	if c.Active-1 < s.Replicas {
		return fmt.Errorf("%d pods would remain of %d, and this set is not updated by deletion now", c.Active-1, s.Replicas)
	}
	return nil
}

func (s *scene) updatesByDeletion() bool {
	u := &s.set.Spec.UpdateStrategy
	switch u.Type {
	case kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType, kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType:
		return false
	}
	return !u.Paused
}

// Takes is the allowance: an available pod may go only when enough others stay.
func (s *scene) Takes(pod *corev1.Pod, how string) error {
	if s.CatchingUp || !world.Available(pod, s.MinReadySeconds, s.Now) {
		return nil
	}
	if left := s.Counts().Available - 1; left < s.Replicas-s.Unavailable {
		return fmt.Errorf("%s available pod %s: %d would be available, with replicas %d and max unavailable %d", how, pod.Name, left, s.Replicas, s.Unavailable)
	}
	return nil
}

// Moves judges the switch of a pod to another revision.
func (s *scene) Moves(before, after *corev1.Pod) error {
	switch u := &s.set.Spec.UpdateStrategy; {
	case u.Paused:
		return fmt.Errorf("a pod moves to another revision while the set is paused")
	case u.Type != kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType && u.Type != kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType:
		return fmt.Errorf("a pod is updated in place, but the update type is %q", u.Type)
	case s.Old(after):
		return fmt.Errorf("a pod moves to revision %q, which is not the wanted one", after.Labels[kruisev1alpha1.LabelRevision])
	}
	if c := s.Counts(); !s.CatchingUp && s.Old(before) && c.Old-1 < s.Partition {
		return fmt.Errorf("%d pods of old revisions would remain, below partition %d", c.Old-1, s.Partition)
	}
	return nil
}

// Chosen tells whether somebody asked for the deletion of the pod.
func (s *scene) Chosen(pod *corev1.Pod) bool { return chosen(pod, s.set) }
