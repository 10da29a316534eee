// SPDX-License-Identifier: Apache-2.0

package member

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// Repair is for a pod that carries the update revision already and does not get its resources. Where the node
// cannot give them, only a new pod helps. Where the resize was made but the update was called off before the
// patch that belongs to it, the pod is resized back. Nothing when there is nothing to repair.
func (s *Set) Repair(m Member) Verdict {
	if m.Progress.Infeasible != "" {
		return s.fallBack(m, m.Progress.Infeasible)
	}
	strayed := s.strayed(m)
	if !m.Progress.Finished || strayed.Empty() {
		return Verdict{}
	}
	if why := s.Unresizable[m.Pod.UID]; why != "" {
		return s.fallBack(m, why)
	}
	if refusals := strayed.Refused(m.Pod); len(refusals) > 0 {
		return Verdict{Kept: true} // somebody else has made it a pod that nobody can resize
	}
	undrainable := s.undrainable(m.Pod, strayed)
	if undrainable && s.Policy != InPlaceOnly {
		return s.recreate(m, gateless+", so it cannot leave service to get its resources back")
	}
	begun, err := inplace.Begin(m.Pod, strayed, s.aim(), s.Grace, s.Now)
	if err != nil {
		return s.fallBack(m, err.Error())
	}
	begun.Because = "it has the resources of another revision"
	return s.begin(m, begun, undrainable)
}

// strayed is what it takes to give a pod the resources of its own revision when it has those of another one:
// that resize was made, and the patch that goes with it was not.
func (s *Set) strayed(m Member) inplace.Difference {
	hash := pod.RevisionHash(m.Pod)
	known, computed := s.sizes[hash]
	if !computed {
		known = s.sizesOf(hash)
		if s.sizes == nil {
			s.sizes = map[string]sizes{}
		}
		s.sizes[hash] = known
	}
	if len(known.others) == 0 || s.ResizeOff {
		return inplace.Difference{}
	}
	return inplace.Strayed(m.Pod, known.own, known.others)
}

// sizes are a template and the others that differ from it in resources, mostly none.
type sizes struct {
	own    *corev1.PodTemplateSpec
	others []*corev1.PodTemplateSpec
}

func (s *Set) sizesOf(hash string) (found sizes) {
	at := slices.IndexFunc(s.History, func(r revision.Revision) bool { return r.Hash == hash && r.Err == nil })
	if at < 0 {
		return found
	}
	found.own = s.History[at].Template
	for _, r := range s.History {
		if r.Err == nil && r.Hash != hash && !inplace.SameSize(found.own, r.Template) {
			found.others = append(found.others, r.Template)
		}
	}
	return found
}
