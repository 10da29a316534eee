// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

// creates: never above replicas + surge, never more of a side than its share and the surge, and only what a revision records.
func (s *scene) creates(pod *corev1.Pod) error {
	release, exists := s.judge.release(pod.Labels[kruisev1alpha1.LabelRevision])
	switch {
	case !exists:
		return fmt.Errorf("pod carries revision %q, which does not exist", pod.Labels[kruisev1alpha1.LabelRevision])
	case release.visible() != running(pod):
		return fmt.Errorf("pod runs %q but its revision is %q", running(pod), release)
	case !hasGate(pod):
		return fmt.Errorf("pod is created without the readiness gate")
	case !member(pod, s.set.UID):
		return fmt.Errorf("pod is created that is not a member of its set")
	}
	if err := s.born(pod); err != nil {
		return err
	}
	if s.catchingUp {
		return nil
	}
	if err := s.mountsClaims(pod); err != nil {
		return err
	}
	var all, old int
	for _, p := range append([]*corev1.Pod{pod}, s.pods...) {
		if !active(p) {
			continue
		}
		all++
		if s.old(p) && stateOf(p) != kruisev1alpha1.LifecyclePreparingUpdate { // it counts as what it will be
			old++
		}
	}
	if all > s.Replicas+s.Surge {
		return fmt.Errorf("%d active pods, above replicas %d + surge %d", all, s.Replicas, s.Surge)
	}
	if all > s.Replicas && !s.surgeHasAPurpose() {
		return fmt.Errorf("%d active pods of %d, and no pod waits for an update or was chosen for deletion", all, s.Replicas)
	}
	current, known := s.judge.release(s.set.Status.CurrentRevision)
	if !known || current == s.wants {
		return nil // no release is under way: there is only one side
	}
	if !s.old(pod) && all-old > s.Replicas-s.Partition+s.Surge {
		return fmt.Errorf("%d pods of the update revision, with replicas %d, partition %d, surge %d", all-old, s.Replicas, s.Partition, s.Surge)
	}
	if s.old(pod) && old > s.Partition+s.Surge {
		return fmt.Errorf("%d pods of old revisions, with partition %d, surge %d", old, s.Partition, s.Surge)
	}
	return nil
}

// surgeHasAPurpose: there is something to update or to replace, in truth or in the manager's view.
func (s *scene) surgeHasAPurpose() bool {
	pods := s.pods
	for _, o := range s.judge.view.All(api.Pods) {
		pods = append(pods, o.(*corev1.Pod))
	}
	for _, p := range pods {
		if active(p) && (s.old(p) || chosen(p, s.set)) {
			return true
		}
	}
	return false
}

// deletes: within the allowance when the pod is available, and within the partition when it is old.
func (s *scene) deletes(pod *corev1.Pod) error {
	if !member(pod, s.set.UID) {
		return fmt.Errorf("pod is deleted that is not a member of the set")
	}
	if !active(pod) {
		return nil
	}
	if err := s.heldFromDeletion(pod); err != nil {
		return err
	}
	if stateOf(pod) == kruisev1alpha1.LifecyclePreparingDelete {
		return nil // it was decided when it entered this state
	}
	if err := s.takes(pod, "deletes"); err != nil {
		return err
	}
	return s.spares(pod)
}

// spares: as many pods stay as must, when this one goes. Those that are prepared for their deletion go anyway.
func (s *scene) spares(pod *corev1.Pod) error {
	if s.catchingUp {
		return nil
	}
	c, picked := s.counts(), chosen(pod, s.set)
	for _, other := range s.pods {
		if active(other) && other.UID != pod.UID && stateOf(other) == kruisev1alpha1.LifecyclePreparingDelete {
			c.active--
			if s.old(other) {
				c.old--
			}
		}
	}
	// In scaling, a pod that prepares for its update counts as updated already.
	old := s.old(pod) && stateOf(pod) != kruisev1alpha1.LifecyclePreparingUpdate
	if old && !picked && c.old-1 < s.Partition {
		return fmt.Errorf("%d pods of old revisions would remain, below partition %d", c.old-1, s.Partition)
	}
	if s.updatesByDeletion() || picked {
		return nil
	}
	if c.active-1 < s.Replicas {
		return fmt.Errorf("%d pods would remain of %d, and this set is not updated by deletion now", c.active-1, s.Replicas)
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

// takes is the allowance: an available pod may go only when enough others stay.
func (s *scene) takes(pod *corev1.Pod, how string) error {
	if s.catchingUp || !available(pod, s.set.Spec.MinReadySeconds, s.now) {
		return nil
	}
	if left := s.counts().available - 1; left < s.Replicas-s.Unavailable {
		return fmt.Errorf("%s available pod %s: %d would be available, with replicas %d and max unavailable %d", how, pod.Name, left, s.Replicas, s.Unavailable)
	}
	return nil
}

// patches judges writes of labels, annotations and spec.
func (s *scene) patches(before, after *corev1.Pod) error {
	if len(after.OwnerReferences) < len(before.OwnerReferences) {
		if before.Labels[labelApp] == setName {
			return fmt.Errorf("a pod is released that matches the selector")
		}
		return nil
	}
	if err := s.enters(before, after); err != nil {
		return err
	}
	if imagesDiffer(before, after) {
		if err := s.heldFromUpdate(before); err != nil {
			return err
		}
		gate := condition(before, kruisev1alpha1.ConditionInPlaceUpdateReady)
		if hasGate(before) && (gate == nil || gate.Status != corev1.ConditionFalse) {
			return fmt.Errorf("images change from %q to %q while the pod is in service: its gate was not closed before", running(before), running(after))
		}
		if err := s.takes(before, "changes images of"); err != nil {
			return err
		}
		if err := ordered(before, after); err != nil {
			return err
		}
	}
	if !available(after, s.set.Spec.MinReadySeconds, s.now) {
		if err := s.takes(before, "patches"); err != nil {
			return err
		}
	}
	if before.Labels[kruisev1alpha1.LabelRevision] == after.Labels[kruisev1alpha1.LabelRevision] {
		return nil
	}
	return s.moves(before, after)
}

// moves judges the switch of a pod to another revision.
func (s *scene) moves(before, after *corev1.Pod) error {
	switch u := &s.set.Spec.UpdateStrategy; {
	case u.Paused:
		return fmt.Errorf("a pod moves to another revision while the set is paused")
	case u.Type != kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType && u.Type != kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType:
		return fmt.Errorf("a pod is updated in place, but the update type is %q", u.Type)
	case s.old(after):
		return fmt.Errorf("a pod moves to revision %q, which is not the wanted one", after.Labels[kruisev1alpha1.LabelRevision])
	}
	if c := s.counts(); !s.catchingUp && s.old(before) && c.old-1 < s.Partition {
		return fmt.Errorf("%d pods of old revisions would remain, below partition %d", c.old-1, s.Partition)
	}
	return nil
}

// setsStatus judges the conditions that the manager writes.
func (s *scene) setsStatus(before, after *corev1.Pod) error {
	was, is := condition(before, kruisev1alpha1.ConditionInPlaceUpdateReady), condition(after, kruisev1alpha1.ConditionInPlaceUpdateReady)
	if err := s.marks(before, after); err != nil {
		return err
	}
	switch {
	case is == nil && hasMarkGate(after):
		return nil // the other gate's condition alone
	case is == nil:
		return fmt.Errorf("a status write without the gate's condition")
	case is.Status == corev1.ConditionFalse:
		if s.set.Spec.UpdateStrategy.Paused && available(before, s.set.Spec.MinReadySeconds, s.now) {
			return fmt.Errorf("an available pod is drained while the set is paused")
		}
		if was == nil || was.Status != corev1.ConditionFalse {
			if err := s.heldFromUpdate(before); err != nil {
				return err
			}
		}
		if holds(after, corev1.ContainersReady) && holds(after, corev1.PodReady) {
			return fmt.Errorf("the gate is closed but Ready stays True until the node notices")
		}
		return s.takes(before, "drains")
	case was != nil && was.Status == corev1.ConditionFalse && is.Status == corev1.ConditionTrue:
		return s.returns(after)
	}
	return nil
}

// returns: a pod goes back into service when its containers run what the spec says and what its label promises.
func (s *scene) returns(pod *corev1.Pod) error {
	if pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "" {
		return fmt.Errorf("the gate opens in the middle of a grace period")
	}
	for i := range pod.Spec.Containers {
		if !runsImage(pod, &pod.Spec.Containers[i]) && !untouched(pod) {
			return fmt.Errorf("the gate opens before container %s runs %s", pod.Spec.Containers[i].Name, pod.Spec.Containers[i].Image)
		}
	}
	if r, exists := s.judge.release(pod.Labels[kruisev1alpha1.LabelRevision]); exists && r.visible().withoutSize() != running(pod).withoutSize() {
		return fmt.Errorf("the gate opens on a pod that runs %q under revision %q", running(pod), r)
	}
	return nil
}

// resizes: memory restarts the container, so the pod must be out of service; CPU does not.
func (s *scene) resizes(before, after *corev1.Pod) error {
	if running(before).Memory == running(after).Memory {
		return nil
	}
	if gate := condition(before, kruisev1alpha1.ConditionInPlaceUpdateReady); hasGate(before) && (gate == nil || gate.Status != corev1.ConditionFalse) {
		return fmt.Errorf("memory changes, which restarts the container, while the pod is in service: its gate was not closed before")
	}
	return s.takes(before, "resizes")
}

// ordered: where containers have an order, the second one changes after the first one, and only when that is ready again.
func ordered(before, after *corev1.Pod) error {
	was, is := running(before), running(after)
	if !is.Ordered || was.Sidecar == is.Sidecar {
		return nil
	}
	if was.App != is.App {
		return fmt.Errorf("both containers change at once, although they have an order")
	}
	begins := before.Labels[kruisev1alpha1.LabelRevision] != after.Labels[kruisev1alpha1.LabelRevision]
	if held := before.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != ""; begins || held {
		return nil // this is the first batch, so the first container is not part of the update
	}
	if !runsImage(before, &before.Spec.Containers[0]) || !before.Status.ContainerStatuses[0].Ready {
		return fmt.Errorf("the second container changes before the first one is ready")
	}
	return nil
}

func runsImage(pod *corev1.Pod, c *corev1.Container) bool {
	for i := range pod.Status.ContainerStatuses {
		if st := &pod.Status.ContainerStatuses[i]; st.Name == c.Name {
			return st.Image == c.Image
		}
	}
	return false
}

// untouched: the pod was drained before its first start, and not changed. Whatever starts is what its spec has always said.
func untouched(pod *corev1.Pod) bool { return pod.Generation == 1 }

func imagesDiffer(a, b *corev1.Pod) bool {
	for i := range a.Spec.Containers {
		if a.Spec.Containers[i].Image != b.Spec.Containers[i].Image {
			return true
		}
	}
	return false
}
