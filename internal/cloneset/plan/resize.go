// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// repairResizes is for pods that carry the update revision already and do not get its resources. Where the
// node cannot give them, only a new pod helps. Where the resize was made but the update was called off before
// the patch that belongs to it, the pod is resized back. It returns false when there is nothing to do.
//
// A pod that serves is given up only while fewer than limit pods are unavailable.
func (p *pass) repairResizes(limit int) (some bool) {
	if p.world.Set.Spec.UpdateStrategy.Type == kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType {
		return false
	}
	down := 0
	for _, m := range p.plan.Members {
		if !m.Available {
			down++
		}
	}
	for _, m := range p.plan.Members {
		if !m.Updated || m.preparingDelete() {
			continue
		}
		next, refused := p.repairOf(m)
		if next == nil || refused {
			continue
		}
		if m.Available {
			if down >= limit {
				p.hold("the pods that are not available use up the allowance")
				continue
			}
			down++
		}
		p.pods[m.Pod.UID], some = next, true
	}
	return some
}

func (p *pass) repairOf(m Member) (next step.Step, refused bool) {
	if m.Progress.Infeasible != "" {
		return p.fallBack(m, m.Progress.Infeasible)
	}
	strayed := p.strayed(m)
	if !m.Progress.Finished || strayed.Empty() {
		return nil, false
	}
	if why := p.world.Unresizable[m.Pod.UID]; why != "" {
		return p.fallBack(m, why)
	}
	if refusals := strayed.Refused(m.Pod); len(refusals) > 0 {
		return nil, true // somebody else has made it a pod that nobody can resize
	}
	begun, err := inplace.Begin(m.Pod, strayed, p.aim(), p.grace(), p.now)
	if err != nil {
		return p.fallBack(m, err.Error())
	}
	begun.Because = "it has the resources of another revision"
	return begun, false
}

// strayed is what it takes to give a pod the resources of its own revision when it has those of another one:
// that resize was made, and the patch that goes with it was not.
func (p *pass) strayed(m Member) inplace.Difference {
	hash := pod.RevisionHash(m.Pod)
	known, computed := p.sizes[hash]
	if !computed {
		known = p.sizesOf(hash)
		p.sizes[hash] = known
	}
	if len(known.others) == 0 || p.world.ResizeOff {
		return inplace.Difference{}
	}
	return inplace.Strayed(m.Pod, known.own, known.others)
}

// sizes are a template and the others that differ from it in resources, mostly none.
type sizes struct {
	own    *corev1.PodTemplateSpec
	others []*corev1.PodTemplateSpec
}

func (p *pass) sizesOf(hash string) (found sizes) {
	listed := slices.Concat(p.world.Revisions, p.world.Orphans)
	at := slices.IndexFunc(listed, func(r revision.Revision) bool { return r.Hash == hash && r.Err == nil })
	if at < 0 {
		return found
	}
	found.own = listed[at].Template
	for _, r := range listed {
		if r.Err == nil && r.Hash != hash && !inplace.SameSize(found.own, r.Template) {
			found.others = append(found.others, r.Template)
		}
	}
	return found
}
