// SPDX-License-Identifier: Apache-2.0

package plan

import (
	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// release gives up pods whose labels no longer match the selector.
func (p *pass) release() {
	for _, candidate := range p.world.Pods {
		if pod.IsTerminating(candidate) || p.selects(candidate) {
			continue
		}
		p.pods[candidate.UID] = step.ReleasePod{
			Because: "its labels no longer match the selector", Target: step.On(candidate), Owner: p.world.Set.UID,
		}
	}
}

// refresh brings each pod's own affairs one step further, whatever the update strategy says.
func (p *pass) refresh() {
	for _, m := range p.plan.Members {
		if s := p.refreshOne(m); s != nil {
			p.pods[m.Pod.UID] = s
		}
	}
}

func (p *pass) refreshOne(m Member) step.Step {
	switch {
	case m.Unreadable != nil:
		p.refuse(m, m.Unreadable.Error())
		return nil
	case m.Progress.Holding && m.Progress.GraceLeft == 0:
		resumed, err := inplace.Resume(m.Pod, p.now)
		if err != nil {
			p.refuse(m, err.Error())
			return nil
		}
		resumed.Because = "its grace period is over"
		return resumed
	case m.Progress.NextBatch:
		next, err := inplace.Advance(m.Pod, p.now)
		if err != nil {
			p.refuse(m, err.Error())
			return nil
		}
		next.Because = "the containers that go first are ready"
		return next
	case !m.Progress.Finished:
		return nil // the node has the next word
	}
	state := p.settledState(m)
	conditions, err := lifecycle.Unmark(m.Pod, state, p.now)
	if err != nil {
		p.refuse(m, err.Error())
	}
	conditions = append(p.inService(m), conditions...)
	patch := p.labelling(m, state)
	switch {
	case patch.Labels != nil:
		return step.PatchPod{Because: "its labels do not say what it is", Target: step.On(m.Pod), Conditions: conditions, Patch: patch}
	case len(conditions) > 0:
		return step.SetConditions{Because: "no in-place update is under way", Target: step.On(m.Pod), Conditions: conditions}
	}
	return nil
}

// inService are the conditions that put a pod into service. Before its node has greeted a new pod, nothing can be in
// service there, and a write of ours would only collide with the greeting.
func (p *pass) inService(m Member) []corev1.PodCondition {
	if m.Pod.Status.StartTime == nil && m.Pod.Status.Phase != corev1.PodRunning {
		return nil
	}
	return inplace.InService(m.Pod, p.now)
}

// settledState is the lifecycle state that a pod shall have which no in-place update is under way on. A pod
// that prepares for its update or its deletion stays where it is: other policies say how it goes on.
func (p *pass) settledState(m Member) kruisev1alpha1.LifecycleState {
	switch {
	case m.preparingDelete():
		return kruisev1alpha1.LifecyclePreparingDelete
	case m.preparingUpdate() && !m.Updated && lifecycle.Configured(p.hooks.InPlaceUpdate):
		return kruisev1alpha1.LifecyclePreparingUpdate
	}
	return p.hooks.Settled(m.Pod)
}

// labelling is what the labels of a settled pod lack: the hash of its revision, and its lifecycle state.
func (p *pass) labelling(m Member, state kruisev1alpha1.LifecycleState) step.Patch {
	var patch step.Patch
	if state != pod.Lifecycle(m.Pod) {
		patch = lifecycle.Enter(state, p.now)
	}
	if hash := pod.RevisionHash(m.Pod); hash != "" && m.Pod.Labels[kruisev1alpha1.LabelPodTemplateHash] == "" {
		if patch.Labels == nil {
			patch.Labels = map[string]*string{}
		}
		patch.Labels[kruisev1alpha1.LabelPodTemplateHash] = &hash
	}
	return patch
}

func (p *pass) refuse(m Member, why string) {
	p.plan.Refused = append(p.plan.Refused, "pod "+m.Pod.Name+": "+why)
}
