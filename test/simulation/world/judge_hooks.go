// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// Born: a pod begins in the state that the hooks ask for.
func (s *Scene) Born(pod *corev1.Pod) error {
	hooks := s.Hooks
	first := s.Rules.First(pod)
	if state := StateOf(pod); state != first {
		return fmt.Errorf("pod is created in state %s, its hooks ask for %s", state, first)
	}
	if (Marking(hooks.PreDelete) || Marking(hooks.InPlaceUpdate)) && !HasMarkGate(pod) {
		return fmt.Errorf("pod is created without the gate by which its hooks mark it not ready")
	}
	return nil
}

// Marking tells whether a hook takes pods out of service.
func Marking(h *Hook) bool { return Configured(h) && h.MarkPodNotReady }

// HeldFromDeletion: what a hook holds is only brought into the state that its provider waits for.
func (s *Scene) HeldFromDeletion(pod *corev1.Pod) error {
	if Blocks(s.Hooks.PreDelete, pod) {
		return fmt.Errorf("pod is deleted that its preDelete hook holds in state %s", StateOf(pod))
	}
	return nil
}

// heldFromUpdate: a pod whose update has begun already goes on, also when its hook came later.
func (s *Scene) heldFromUpdate(pod *corev1.Pod) error {
	state, h := StateOf(pod), s.Hooks.InPlaceUpdate
	if s.ByGate { // also in the middle: who came back too early must let go again
		if Blocks(h, pod) {
			return fmt.Errorf("pod is updated in place while traffic is routed to it in state %s", state)
		}
		return nil
	}
	begun := state == kruisev1alpha1.LifecycleUpdating || pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "" ||
		strings.Contains(pod.Annotations[kruisev1alpha1.AnnotationInPlaceState], `"nextContainer`)
	if begun {
		return nil
	}
	if Blocks(h, pod) {
		return fmt.Errorf("pod is updated in place that its inPlaceUpdate hook holds in state %s", state)
	}
	if state == kruisev1alpha1.LifecycleUpdated && Configured(h) {
		return fmt.Errorf("pod is updated again before its inPlaceUpdate hook was put back")
	}
	return nil
}

// enters judges a step from one lifecycle state to another.
func (s *Scene) enters(before, after *corev1.Pod) error {
	was, is, hooks := StateOf(before), StateOf(after), s.Hooks
	if was == is {
		return nil
	}
	if after.Annotations[kruisev1alpha1.AnnotationLifecycleTimestamp] == "" {
		return fmt.Errorf("a pod enters state %s without its time", is)
	}
	if is != kruisev1alpha1.LifecycleNormal && !AnyConfigured(hooks) {
		return fmt.Errorf("a pod enters state %s while no hook is configured", is)
	}
	switch is {
	case kruisev1alpha1.LifecycleNormal:
		if was == kruisev1alpha1.LifecyclePreparingNormal && !Complete(hooks.PreNormal, before) {
			return fmt.Errorf("a pod becomes Normal before its preNormal hook has prepared it")
		}
		if was == kruisev1alpha1.LifecyclePreparingDelete && AnyConfigured(hooks) {
			return fmt.Errorf("a pod goes from %s to Normal without being prepared", was)
		}
		if was != kruisev1alpha1.LifecyclePreparingNormal && !Complete(hooks.InPlaceUpdate, before) {
			return fmt.Errorf("a pod becomes Normal before its inPlaceUpdate hook was put back")
		}
	case kruisev1alpha1.LifecyclePreparingUpdate:
		if s.Paused {
			return fmt.Errorf("a pod is prepared for its update while the set is paused")
		}
		if !Blocks(hooks.InPlaceUpdate, after) {
			return fmt.Errorf("a pod is prepared for its update though no hook holds it")
		}
		return s.marked(before, hooks.InPlaceUpdate, EntryUpdate)
	case kruisev1alpha1.LifecyclePreparingDelete:
		if err := s.marked(before, hooks.PreDelete, EntryDelete); err != nil {
			return err
		}
		return s.Rules.Spares(before)
	case kruisev1alpha1.LifecyclePreparingNormal:
		if was != kruisev1alpha1.LifecyclePreparingDelete || s.Rules.Chosen(before) || Marking(hooks.PreDelete) || Marking(hooks.InPlaceUpdate) {
			return fmt.Errorf("the deletion of a pod is called off that must go on, or had not begun")
		}
	case kruisev1alpha1.LifecycleUpdating, kruisev1alpha1.LifecycleUpdated:
	}
	return nil
}

// marked: a hook that takes pods out of service has done so before its provider is told to begin.
func (s *Scene) marked(pod *corev1.Pod, h *Hook, e Entry) error {
	if !Marking(h) || !HasMarkGate(pod) {
		return nil
	}
	c := Condition(pod, kruisev1alpha1.ConditionKruisePodReady)
	if c == nil || c.Status != corev1.ConditionFalse || !slices.Contains(Entries(pod), e) {
		return fmt.Errorf("the state of a pod changes while it is in service, and its hook takes it out first")
	}
	return nil
}

// marks judges what a write does to the condition that several programs share.
func (s *Scene) marks(before, after *corev1.Pod) error {
	was, is := Entries(before), Entries(after)
	c := Condition(after, kruisev1alpha1.ConditionKruisePodReady)
	if c == nil {
		return nil
	}
	if !HasMarkGate(after) && Condition(before, c.Type) == nil {
		return fmt.Errorf("a pod without the gate %s gets its condition", c.Type)
	}
	ours := func(e Entry) bool { return e == EntryDelete || e == EntryUpdate }
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
	if Holds(after, corev1.PodReady) {
		return fmt.Errorf("condition %s gets an entry but Ready stays True until the node notices", c.Type)
	}
	if s.Paused && slices.Contains(is, EntryUpdate) && !slices.Contains(was, EntryUpdate) {
		return fmt.Errorf("a pod is marked for its update while the set is paused")
	}
	return s.Rules.Takes(before, "marks")
}

// AtRest is what the hooks of a settled set must have come to.
func AtRest(pod *corev1.Pod) error {
	if state := StateOf(pod); state != kruisev1alpha1.LifecycleNormal {
		return fmt.Errorf("pod %s is in state %s", pod.Name, state)
	}
	if list := Entries(pod); len(list) > 0 {
		return fmt.Errorf("pod %s is out of service because of %v", pod.Name, list)
	}
	return nil
}
