// SPDX-License-Identifier: Apache-2.0

package member

import (
	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// Tend brings a pod's own affairs one step further, whatever the update strategy says: the end of its grace
// period, its next batch of containers, its gate, its labels and its lifecycle state.
func (s *Set) Tend(m Member) Verdict {
	switch {
	case m.Unreadable != nil:
		return Verdict{Refused: refused(m.Pod, m.Unreadable.Error())}
	case m.Progress.Serving && m.Progress.DrainIn == 0 && !m.Progress.GraceCut:
		return Verdict{Step: step.SetConditions{
			Because: "it is reported ready again in its grace period, which begins anew", Target: step.On(m.Pod), Conditions: inplace.OutOfService(m.Pod, s.Now),
		}}
	case s.returned(m.Pod) && (m.Progress.NextBatch || m.Progress.Holding && m.Progress.GraceLeft == 0):
		return Verdict{Held: s.heldBefore("update")}
	case m.Progress.Holding && m.Progress.GraceLeft == 0:
		resumed, err := inplace.Resume(m.Pod, s.Now)
		if err != nil {
			return Verdict{Refused: refused(m.Pod, err.Error())}
		}
		resumed.Because = "its grace period is over"
		if resumed.CutsGrace = m.Progress.GraceCut; resumed.CutsGrace {
			resumed.Because = "it is reported ready again and again in its grace period, and waits for that no longer"
		}
		return Verdict{Step: resumed}
	case m.Progress.NextBatch:
		next, err := inplace.Advance(m.Pod, s.Now)
		if err != nil {
			return Verdict{Refused: refused(m.Pod, err.Error())}
		}
		next.Because = "the containers that go first are ready"
		return Verdict{Step: next}
	case !m.Progress.Finished:
		return Verdict{} // the node has the next word
	}
	return s.settle(m)
}

// settle is for a pod that no in-place update is under way on.
func (s *Set) settle(m Member) (v Verdict) {
	state := s.settledState(m)
	conditions, err := lifecycle.Unmark(m.Pod, state, s.Now)
	if err != nil {
		v.Refused = refused(m.Pod, err.Error())
	}
	conditions = append(s.gate(m, state), conditions...)
	patch := s.labelling(m, state)
	switch {
	case patch.Labels != nil:
		v.Step = step.PatchPod{Because: "its labels do not say what it is", Target: step.On(m.Pod), Conditions: conditions, Patch: patch}
	case len(conditions) > 0:
		v.Step = step.SetConditions{Because: "no in-place update is under way", Target: step.On(m.Pod), Conditions: conditions}
	}
	return v
}

// gate are the conditions of the gate in a state: a pod that a hook holds may have to stay out of service.
func (s *Set) gate(m Member, state kruisev1alpha1.LifecycleState) []corev1.PodCondition {
	held := state == kruisev1alpha1.LifecyclePreparingUpdate || state == kruisev1alpha1.LifecyclePreparingDelete
	if s.Hooks.CloseGate && held {
		return inplace.CloseGate(m.Pod, s.Now)
	}
	return s.inService(m)
}

// inService are the conditions that put a pod into service. Before its node has greeted a new pod, nothing can be in
// service there, and a write of ours would only collide with the greeting.
func (s *Set) inService(m Member) []corev1.PodCondition {
	if m.Pod.Status.StartTime == nil && m.Pod.Status.Phase != corev1.PodRunning {
		return nil
	}
	return inplace.InService(m.Pod, s.Now)
}

// settledState is the lifecycle state that a pod shall have which no in-place update is under way on. A pod
// that prepares for its update or its deletion stays where it is: the plan says how it goes on.
func (s *Set) settledState(m Member) kruisev1alpha1.LifecycleState {
	switch {
	case m.PreparingDelete():
		return kruisev1alpha1.LifecyclePreparingDelete
	case m.PreparingUpdate() && !m.Updated && lifecycle.Configured(s.Hooks.InPlaceUpdate):
		return kruisev1alpha1.LifecyclePreparingUpdate
	}
	return s.Hooks.Settled(m.Pod)
}

// labelling is what the labels of a settled pod lack: the hash of its revision, and its lifecycle state.
func (s *Set) labelling(m Member, state kruisev1alpha1.LifecycleState) step.Patch {
	var patch step.Patch
	if state != pod.Lifecycle(m.Pod) {
		patch = lifecycle.Enter(state, s.Now)
	}
	if hash := pod.RevisionHash(m.Pod); s.RepeatsHash && hash != "" && m.Pod.Labels[kruisev1alpha1.LabelPodTemplateHash] == "" {
		if patch.Labels == nil {
			patch.Labels = map[string]*string{}
		}
		patch.Labels[kruisev1alpha1.LabelPodTemplateHash] = &hash
	}
	return patch
}
