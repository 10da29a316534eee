// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// born: a pod begins in the state that the hooks ask for.
func (s *scene) born(pod *corev1.Pod) error {
	hooks := hooksOf(s.set)
	first := kruisev1alpha1.LifecycleNormal
	if anyConfigured(hooks) {
		first = kruisev1alpha1.LifecyclePreparingNormal
	}
	if state := stateOf(pod); state != first {
		return fmt.Errorf("pod is created in state %s, its hooks ask for %s", state, first)
	}
	if (marking(hooks.PreDelete) || marking(hooks.InPlaceUpdate)) && !hasMarkGate(pod) {
		return fmt.Errorf("pod is created without the gate by which its hooks mark it not ready")
	}
	return nil
}

func marking(h *hook) bool { return configured(h) && h.MarkPodNotReady }

// heldFromDeletion: what a hook holds is only brought into the state that its provider waits for.
func (s *scene) heldFromDeletion(pod *corev1.Pod) error {
	if blocks(hooksOf(s.set).PreDelete, pod) {
		return fmt.Errorf("pod is deleted that its preDelete hook holds in state %s", stateOf(pod))
	}
	return nil
}

// heldFromUpdate: a pod whose update has begun already goes on, also when its hook came later.
func (s *scene) heldFromUpdate(pod *corev1.Pod) error {
	state, h := stateOf(pod), hooksOf(s.set).InPlaceUpdate
	begun := state == kruisev1alpha1.LifecycleUpdating || pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "" ||
		strings.Contains(pod.Annotations[kruisev1alpha1.AnnotationInPlaceState], `"nextContainer`)
	if begun {
		return nil
	}
	if blocks(h, pod) {
		return fmt.Errorf("pod is updated in place that its inPlaceUpdate hook holds in state %s", state)
	}
	if state == kruisev1alpha1.LifecycleUpdated && configured(h) {
		return fmt.Errorf("pod is updated again before its inPlaceUpdate hook was put back")
	}
	return nil
}

// enters judges a step from one lifecycle state to another.
func (s *scene) enters(before, after *corev1.Pod) error {
	was, is, hooks := stateOf(before), stateOf(after), hooksOf(s.set)
	if was == is {
		return nil
	}
	if after.Annotations[kruisev1alpha1.AnnotationLifecycleTimestamp] == "" {
		return fmt.Errorf("a pod enters state %s without its time", is)
	}
	if is != kruisev1alpha1.LifecycleNormal && !anyConfigured(hooks) {
		return fmt.Errorf("a pod enters state %s while no hook is configured", is)
	}
	switch is {
	case kruisev1alpha1.LifecycleNormal:
		if was == kruisev1alpha1.LifecyclePreparingNormal && !complete(hooks.PreNormal, before) {
			return fmt.Errorf("a pod becomes Normal before its preNormal hook has prepared it")
		}
		if was == kruisev1alpha1.LifecyclePreparingDelete && anyConfigured(hooks) {
			return fmt.Errorf("a pod goes from %s to Normal without being prepared", was)
		}
		if was != kruisev1alpha1.LifecyclePreparingNormal && !complete(hooks.InPlaceUpdate, before) {
			return fmt.Errorf("a pod becomes Normal before its inPlaceUpdate hook was put back")
		}
	case kruisev1alpha1.LifecyclePreparingUpdate:
		if s.set.Spec.UpdateStrategy.Paused {
			return fmt.Errorf("a pod is prepared for its update while the set is paused")
		}
		if !blocks(hooks.InPlaceUpdate, after) {
			return fmt.Errorf("a pod is prepared for its update though no hook holds it")
		}
		return s.marked(before, hooks.InPlaceUpdate, entryUpdate)
	case kruisev1alpha1.LifecyclePreparingDelete:
		if err := s.marked(before, hooks.PreDelete, entryDelete); err != nil {
			return err
		}
		return s.spares(before)
	case kruisev1alpha1.LifecyclePreparingNormal:
		if was != kruisev1alpha1.LifecyclePreparingDelete || chosen(before, s.set) || marking(hooks.PreDelete) || marking(hooks.InPlaceUpdate) {
			return fmt.Errorf("the deletion of a pod is called off that must go on, or had not begun")
		}
	case kruisev1alpha1.LifecycleUpdating, kruisev1alpha1.LifecycleUpdated:
	}
	return nil
}

// marked: a hook that takes pods out of service has done so before its provider is told to begin.
func (s *scene) marked(pod *corev1.Pod, h *hook, e entry) error {
	if !marking(h) || !hasMarkGate(pod) {
		return nil
	}
	c := condition(pod, kruisev1alpha1.ConditionKruisePodReady)
	if c == nil || c.Status != corev1.ConditionFalse || !slices.Contains(entries(pod), e) {
		return fmt.Errorf("the state of a pod changes while it is in service, and its hook takes it out first")
	}
	return nil
}

// marks judges what a write does to the condition that several programs share.
func (s *scene) marks(before, after *corev1.Pod) error {
	was, is := entries(before), entries(after)
	c := condition(after, kruisev1alpha1.ConditionKruisePodReady)
	if c == nil {
		return nil
	}
	if !hasMarkGate(after) && condition(before, c.Type) == nil {
		return fmt.Errorf("a pod without the gate %s gets its condition", c.Type)
	}
	ours := func(e entry) bool { return e == entryDelete || e == entryUpdate }
	for _, e := range was {
		if !ours(e) && !slices.Contains(is, e) {
			return fmt.Errorf("an entry of another program is lost from condition %s: %v", c.Type, e)
		}
	}
	for _, e := range is {
		if !ours(e) && !slices.Contains(was, e) {
			return fmt.Errorf("an entry of another program comes into condition %s: %v", c.Type, e)
		}
	}
	if (len(is) > 0) != (c.Status == corev1.ConditionFalse) {
		return fmt.Errorf("condition %s is %s with entries %v", c.Type, c.Status, is)
	}
	if len(is) <= len(was) {
		return nil
	}
	if holds(after, corev1.PodReady) {
		return fmt.Errorf("condition %s gets an entry but Ready stays True until the node notices", c.Type)
	}
	if s.set.Spec.UpdateStrategy.Paused && slices.Contains(is, entryUpdate) && !slices.Contains(was, entryUpdate) {
		return fmt.Errorf("a pod is marked for its update while the set is paused")
	}
	return s.takes(before, "marks")
}

// atRest is what the hooks of a settled set must have come to.
func atRest(pod *corev1.Pod) error {
	if state := stateOf(pod); state != kruisev1alpha1.LifecycleNormal {
		return fmt.Errorf("pod %s is in state %s", pod.Name, state)
	}
	if list := entries(pod); len(list) > 0 {
		return fmt.Errorf("pod %s is out of service because of %v", pod.Name, list)
	}
	return nil
}
