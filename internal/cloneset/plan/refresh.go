// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
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
	if conditions := inplace.InService(m.Pod, p.now); conditions != nil {
		return step.SetConditions{Because: "no in-place update is under way", Target: step.On(m.Pod), Conditions: conditions}
	}
	if patch := p.labelling(m); patch.Labels != nil {
		return step.PatchPod{Because: "its labels do not say what it is", Target: step.On(m.Pod), Patch: patch}
	}
	return nil
}

// labelling is what the labels of a settled pod lack: the hash of its revision, and the lifecycle state
// Normal where another publisher has left it in the middle of a hook that does not exist any more.
func (p *pass) labelling(m Member) step.Patch {
	var patch step.Patch
	set := func(key, value string) {
		if patch.Labels == nil {
			patch.Labels = map[string]*string{}
		}
		patch.Labels[key] = ptr.To(value)
	}
	if hash := pod.RevisionHash(m.Pod); hash != "" && m.Pod.Labels[kruisev1alpha1.LabelPodTemplateHash] == "" {
		set(kruisev1alpha1.LabelPodTemplateHash, hash)
	}
	if state := pod.Lifecycle(m.Pod); state != kruisev1alpha1.LifecycleNormal && state != kruisev1alpha1.LifecyclePreparingDelete {
		set(kruisev1alpha1.LabelLifecycleState, string(kruisev1alpha1.LifecycleNormal))
		patch.Annotations = map[string]*string{kruisev1alpha1.AnnotationLifecycleTimestamp: ptr.To(p.now.UTC().Format(time.RFC3339))}
	}
	return patch
}

func (p *pass) refuse(m Member, why string) {
	p.plan.Refused = append(p.plan.Refused, "pod "+m.Pod.Name+": "+why)
}
