// SPDX-License-Identifier: Apache-2.0

package plan

import (
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// beforeUpdate is what the hook of in-place updates asks for before a pod may be changed. It returns false
// when the pod may be changed now. The step is nil while the hook works on the pod.
//
// A pod in the middle of an update goes on without its hook: it is out of service already, and a newer
// version must not wait behind a broken one.
func (p *pass) beforeUpdate(m Member) (held step.Step, waits bool) {
	hook := p.hooks.InPlaceUpdate
	switch state := pod.Lifecycle(m.Pod); {
	case state == kruisev1alpha1.LifecycleUpdating:
		return nil, false
	case state == kruisev1alpha1.LifecyclePreparingUpdate:
		if !lifecycle.Blocks(hook, m.Pod) {
			return nil, false
		}
		p.hold("the inPlaceUpdate hook holds pods")
		return nil, true
	case state == kruisev1alpha1.LifecycleUpdated && lifecycle.Configured(hook):
		again := p.prepareUpdate(m, "a newer revision came before the hook was put back")
		lifecycle.PutBack(hook, m.Pod, &again.Patch)
		return again, true
	case lifecycle.Blocks(hook, m.Pod):
		return p.prepareUpdate(m, "its inPlaceUpdate hook comes before the update"), true
	}
	return nil, false
}

func (p *pass) prepareUpdate(m Member, why step.Because) step.PatchPod {
	return step.PatchPod{
		Because: why, Target: step.On(m.Pod),
		Conditions: p.marked(m.Pod, p.hooks.InPlaceUpdate, lifecycle.BeforeUpdate),
		Patch:      lifecycle.Enter(kruisev1alpha1.LifecyclePreparingUpdate, p.now),
	}
}

// callOff lets pods go back that prepare for an update which is not asked for any more.
func (p *pass) callOff(candidates []Member) {
	for _, m := range candidates {
		if !m.preparingUpdate() {
			continue
		}
		state := p.hooks.Settled(m.Pod)
		conditions, err := lifecycle.Unmark(m.Pod, state, p.now)
		if err != nil {
			p.refuse(m, err.Error())
			continue
		}
		p.pods[m.Pod.UID] = step.PatchPod{
			Because: "its update was called off before it began", Target: step.On(m.Pod),
			Conditions: conditions, Patch: lifecycle.Enter(state, p.now),
		}
	}
}
