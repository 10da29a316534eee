// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// goOn lets pods go on whose hooks hold them no longer. It comes before everything that waits: what such a pod waits for
// is nothing but this. Being paused does not stop it, because only the end of what was begun brings the pod back into
// service.
func (p *pass) goOn() (end bool) {
	for _, m := range p.members {
		switch {
		case pod.IsTerminating(m.Pod):
		case m.PreparingDelete():
			end = p.finishDeletion(m)
		case m.PreparingUpdate() && !m.Updated && pod.IsActive(m.Pod):
			end = p.beginPrepared(m)
		}
		if end && p.ordered {
			return true
		}
	}
	return end
}

// finishDeletion deletes a pod that was prepared for it, or lets it stay where the reason is gone. It returns true when
// the pod is deleted.
func (p *pass) finishDeletion(m *Member) bool {
	cause, why := p.doom(m)
	if why == "" {
		if p.take(m, p.asked.Revoke(m.Pod)) {
			return false
		}
		why = "it was taken out of service for its deletion"
	}
	if m.condemned() {
		p.own(m.Pod.Name, m)
	}
	if p.asked.HoldsDeletion(m.Pod) {
		p.hold(fmt.Sprintf("pod %s waits: the preDelete hook holds its deletion", m.Pod.Name))
		return false
	}
	return p.take(m, p.asked.Delete(m.Pod, cause, why+", and its preDelete hook holds it no longer"))
}

// doom says why a pod that prepares for its deletion has to go; empty when the reason is gone.
func (p *pass) doom(m *Member) (cause step.DeleteCause, why string) {
	switch {
	case m.condemned():
		return step.ScaleIn, notLive(m)
	case m.Chosen:
		return step.Chosen, "it was chosen for deletion"
	case pod.IsFinished(m.Pod):
		return step.CleanUp, "it has finished"
	case m.Eligible && !m.Updated:
		return step.Recreate, fmt.Sprintf("revision %s replaces %s", p.asked.Update.Hash, pod.RevisionHash(m.Pod))
	case updates(p.world.Set) && recreates(p.asked.Repair(m.Member).Step):
		return step.Recreate, "its node cannot give it the resources of its revision"
	}
	return step.Recreate, ""
}

// beginPrepared updates a pod that was prepared for it, or calls the update off where the pod is no longer to be updated.
// It returns true when the pod is changed.
func (p *pass) beginPrepared(m *Member) bool {
	if !m.Eligible {
		p.take(m, p.asked.CallOff(m.Member))
		return false
	}
	if lifecycle.Blocks(p.asked.Hooks.InPlaceUpdate, m.Pod) && !p.updating() {
		p.hold(fmt.Sprintf("pod %s waits: the inPlaceUpdate hook holds its update", m.Pod.Name))
		return false
	}
	if m.waits {
		p.hold(fmt.Sprintf("pod %s waits: pods are missing, and the partition of %d counts only those that are there", m.Pod.Name, p.plan.Limits.Partition))
		return false
	}
	return p.bring(m)
}

// remove deletes a pod for a reason, or prepares its deletion. A pod that prepares for it already has had its turn.
func (p *pass) remove(m *Member, cause step.DeleteCause, why string) {
	if !m.PreparingDelete() {
		p.take(m, p.asked.Delete(m.Pod, cause, why))
	}
}

// recreates tells whether a step is about the deletion of a pod.
func recreates(s step.Step) bool {
	switch s.(type) {
	case step.DeletePod, step.PatchPod:
		return true
	default:
		return false
	}
}
