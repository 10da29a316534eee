// SPDX-License-Identifier: Apache-2.0

package member

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// beforeUpdate is what the hook of in-place updates asks for before a pod may be changed. It returns false
// when the pod may be changed now.
//
// A pod in the middle of an update goes on without its hook: it is out of service already, and a newer
// version must not wait behind a broken one.
func (s *Set) beforeUpdate(m Member) (held Verdict, waits bool) {
	hook := s.Hooks.InPlaceUpdate
	switch state := pod.Lifecycle(m.Pod); {
	case state == kruisev1alpha1.LifecycleUpdating && !s.returned(m.Pod):
		return Verdict{}, false
	case state == kruisev1alpha1.LifecycleUpdating:
		return Verdict{Held: s.heldBefore("update")}, true
	case state == kruisev1alpha1.LifecyclePreparingUpdate:
		if !lifecycle.Blocks(hook, m.Pod) {
			return Verdict{}, false
		}
		return Verdict{Held: s.heldBefore("update")}, true
	case state == kruisev1alpha1.LifecycleUpdated && lifecycle.Configured(hook) && !s.Hooks.CloseGate:
		again, unmarked := s.prepareUpdate(m, "a newer revision came before the hook was put back")
		lifecycle.PutBack(hook, m.Pod, &again.Patch)
		return Verdict{Step: again, Refused: unmarked}, true
	case lifecycle.Blocks(hook, m.Pod):
		prepared, unmarked := s.prepareUpdate(m, s.comesFirst())
		return Verdict{Step: prepared, Refused: unmarked}, true
	}
	return Verdict{}, false
}

// returned tells whether a handler came back to a pod in the middle of its update: whoever put it there had seen the pod
// as it was before, and will take it away again.
func (s *Set) returned(p *corev1.Pod) bool {
	return s.Hooks.CloseGate && lifecycle.Blocks(s.Hooks.InPlaceUpdate, p)
}

// heldBefore says what holds pods before something is done to them.
func (s *Set) heldBefore(what string) string {
	if s.Hooks.CloseGate {
		return "components that route traffic have to let go of pods before their " + what
	}
	return "the inPlaceUpdate hook holds pods"
}

func (s *Set) comesFirst() step.Because {
	if s.Hooks.CloseGate {
		return "traffic has to leave it before the update"
	}
	return "its inPlaceUpdate hook comes before the update"
}

func (s *Set) prepareUpdate(m Member, why step.Because) (prepared step.PatchPod, unmarked []string) {
	conditions, unmarked := s.marked(m.Pod, s.Hooks.InPlaceUpdate, lifecycle.BeforeUpdate)
	return step.PatchPod{
		Because: why, Target: step.On(m.Pod), Conditions: conditions,
		Patch: lifecycle.Enter(kruisev1alpha1.LifecyclePreparingUpdate, s.Now),
	}, unmarked
}

// CallOff lets a pod go back that prepares for an update which is not asked for any more. Nothing for every
// other pod.
func (s *Set) CallOff(m Member) Verdict {
	if !m.PreparingUpdate() {
		return Verdict{}
	}
	state := s.Hooks.Settled(m.Pod)
	conditions, err := lifecycle.Unmark(m.Pod, state, s.Now)
	if err != nil {
		return Verdict{Refused: refused(m.Pod, err.Error())}
	}
	if s.Hooks.CloseGate {
		conditions = append(inplace.InService(m.Pod, s.Now), conditions...)
	}
	return Verdict{Step: step.PatchPod{
		Because: "its update was called off before it began", Target: step.On(m.Pod),
		Conditions: conditions, Patch: lifecycle.Enter(state, s.Now),
	}}
}

// Delete deletes a pod, or prepares its deletion when its preDelete hook holds it. There is always a step. A
// pod that prepares for its deletion already and is still held is not to be asked for: it would be patched again.
func (s *Set) Delete(doomed *corev1.Pod, cause step.DeleteCause, why string) Verdict {
	if !s.HoldsDeletion(doomed) {
		return Verdict{Step: step.DeletePod{Because: step.Because(why), Target: step.On(doomed), Cause: cause}}
	}
	conditions, unmarked := s.marked(doomed, s.Hooks.PreDelete, lifecycle.BeforeDelete)
	first := "; its preDelete hook comes first"
	if s.Hooks.CloseGate {
		first = "; traffic has to leave it first"
	}
	prepared := step.PatchPod{
		Because: step.Because(why + first), Target: step.On(doomed), Conditions: conditions,
		Patch: lifecycle.Enter(kruisev1alpha1.LifecyclePreparingDelete, s.Now),
	}
	if cause == step.Recreate && s.ChoosesRecreated {
		prepared.Patch.Labels[kruisev1alpha1.LabelSpecifiedDelete] = ptr.To("true")
	}
	return Verdict{Step: prepared, Refused: unmarked}
}

// HoldsDeletion tells whether the preDelete hook holds the pod.
func (s *Set) HoldsDeletion(p *corev1.Pod) bool { return lifecycle.Blocks(s.Hooks.PreDelete, p) }

// Revoke calls the deletion of a pod off that its hook still prepares. Nothing when hooks take pods out of
// service: this one may have been let down already, so it goes.
func (s *Set) Revoke(p *corev1.Pod) Verdict {
	if s.Hooks.MarksNotReady() {
		return Verdict{}
	}
	state := kruisev1alpha1.LifecycleNormal
	if s.Hooks.Configured() {
		state = kruisev1alpha1.LifecyclePreparingNormal
	}
	revoked := step.PatchPod{
		Because: "it is wanted again before its deletion began", Target: step.On(p), Patch: lifecycle.Enter(state, s.Now),
	}
	if s.Hooks.CloseGate {
		revoked.Conditions = inplace.InService(p, s.Now)
	}
	return Verdict{Step: revoked}
}

// marked are the conditions that take a pod out of service while a hook works on it, where that is asked for. A pod whose condition
// cannot be read stays in service, and people are told.
func (s *Set) marked(held *corev1.Pod, hook *kruisev1alpha1.LifecycleHook, why lifecycle.Reason) (conditions []corev1.PodCondition, unmarked []string) {
	if s.Hooks.CloseGate {
		return inplace.OutOfService(held, s.Now), nil
	}
	conditions, err := lifecycle.MarkNotReady(held, hook, why, s.Now)
	if err != nil {
		unmarked = []string{err.Error()}
	}
	return conditions, unmarked
}
