// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// creates: what every new pod must be, and then what its kind demands.
func (s *Scene) creates(pod *corev1.Pod) error {
	release, exists := s.Judge.Release(pod.Labels[kruisev1alpha1.LabelRevision])
	switch {
	case !exists:
		return fmt.Errorf("pod carries revision %q, which does not exist", pod.Labels[kruisev1alpha1.LabelRevision])
	case release.Visible() != Running(pod):
		return fmt.Errorf("pod runs %q but its revision is %q", Running(pod), release)
	case !Member(pod, s.Owner.GetUID()):
		return fmt.Errorf("pod is created that is not a member of its set")
	}
	if err := s.Born(pod); err != nil {
		return err
	}
	return s.Rules.Creates(pod)
}

// deletes: only members, only what no hook holds, and then what its kind demands.
func (s *Scene) deletes(pod *corev1.Pod) error {
	if !Member(pod, s.Owner.GetUID()) {
		return fmt.Errorf("pod is deleted that is not a member of the set")
	}
	if !Active(pod) {
		return nil
	}
	if err := s.HeldFromDeletion(pod); err != nil {
		return err
	}
	return s.Rules.Deletes(pod)
}

// patches judges writes of labels, annotations and spec.
func (s *Scene) patches(before, after *corev1.Pod) error {
	if len(after.OwnerReferences) < len(before.OwnerReferences) {
		if before.Labels[LabelApp] == SetName {
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
		if err := s.restarts(before); err != nil {
			return fmt.Errorf("images change from %q to %q: %w", Running(before), Running(after), err)
		}
		if err := s.Rules.Takes(before, "changes images of"); err != nil {
			return err
		}
		if err := ordered(before, after); err != nil {
			return err
		}
	}
	if !Available(after, s.MinReadySeconds, s.Now) {
		if err := s.Rules.Takes(before, "patches"); err != nil {
			return err
		}
	}
	if before.Labels[kruisev1alpha1.LabelRevision] == after.Labels[kruisev1alpha1.LabelRevision] {
		return nil
	}
	return s.Rules.Moves(before, after)
}

// setsStatus judges the conditions that the manager writes.
func (s *Scene) setsStatus(before, after *corev1.Pod) error {
	was, is := Condition(before, kruisev1alpha1.ConditionInPlaceUpdateReady), Condition(after, kruisev1alpha1.ConditionInPlaceUpdateReady)
	if err := s.marks(before, after); err != nil {
		return err
	}
	switch {
	case is == nil && HasMarkGate(after):
		return nil // the other gate's condition alone
	case is == nil:
		return fmt.Errorf("a status write without the gate's condition")
	case is.Status == corev1.ConditionFalse:
		if s.ByGate { // this is how it begins, for a deletion, too
			break
		}
		if s.Paused && Available(before, s.MinReadySeconds, s.Now) {
			return fmt.Errorf("an available pod is drained while the set is paused")
		}
		if was == nil || was.Status != corev1.ConditionFalse {
			if err := s.heldFromUpdate(before); err != nil {
				return err
			}
		}
		return s.closes(before, after)
	case was != nil && was.Status == corev1.ConditionFalse && is.Status == corev1.ConditionTrue:
		return s.returns(after)
	}
	if is.Status == corev1.ConditionFalse {
		return s.closes(before, after)
	}
	return nil
}

// closes: a pod leaves service at once, and only when it may.
func (s *Scene) closes(before, after *corev1.Pod) error {
	if Holds(after, corev1.ContainersReady) && Holds(after, corev1.PodReady) {
		return fmt.Errorf("the gate is closed but Ready stays True until the node notices")
	}
	return s.Rules.Takes(before, "drains")
}

// returns: a pod goes back into service when its containers run what the spec says and what its label promises.
func (s *Scene) returns(pod *corev1.Pod) error {
	if pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "" {
		return fmt.Errorf("the gate opens in the middle of a grace period")
	}
	for i := range pod.Spec.Containers {
		if !runsImage(pod, &pod.Spec.Containers[i]) && !untouched(pod) {
			return fmt.Errorf("the gate opens before container %s runs %s", pod.Spec.Containers[i].Name, pod.Spec.Containers[i].Image)
		}
	}
	if r, exists := s.Judge.Release(pod.Labels[kruisev1alpha1.LabelRevision]); exists && r.Visible().WithoutSize() != Running(pod).WithoutSize() {
		return fmt.Errorf("the gate opens on a pod that runs %q under revision %q", Running(pod), r)
	}
	return nil
}

// resizes: memory restarts the container, so the pod must be out of service; CPU does not.
func (s *Scene) resizes(before, after *corev1.Pod) error {
	if Running(before).Memory == Running(after).Memory {
		return nil
	}
	if err := s.restarts(before); err != nil {
		return fmt.Errorf("memory changes, which restarts the container: %w", err)
	}
	return s.Rules.Takes(before, "resizes")
}

// ordered: where containers have an order, the second one changes after the first one, and only when that is ready again.
func ordered(before, after *corev1.Pod) error {
	was, is := Running(before), Running(after)
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

func imagesDiffer(a, b *corev1.Pod) bool {
	for i := range a.Spec.Containers {
		if a.Spec.Containers[i].Image != b.Spec.Containers[i].Image {
			return true
		}
	}
	return false
}

// untouched: the pod was drained before its first start, and not changed. Whatever starts is what its spec has always said.
func untouched(pod *corev1.Pod) bool { return pod.Generation == 1 }
