// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// UpdateOf is what brings a pod to the update revision, which it does not carry yet: the update in place, the
// deletion that makes room for its successor, or what its hooks ask for before either. The pod is kept when it
// can only be left as it is.
func (s *Set) UpdateOf(m Member) Verdict {
	from := pod.RevisionHash(m.Pod)
	if s.Policy == Recreate {
		return s.recreate(m, fmt.Sprintf("revision %s replaces %s", s.Update.Hash, from))
	}
	d := s.difference(from).Onto(s.strayed(m))
	if refusals := slices.Concat(d.Refusals, d.Refused(m.Pod)); len(refusals) > 0 {
		return s.fallBack(m, strings.Join(refusals, ", ")+" cannot change in place")
	}
	if m.Unreadable != nil {
		return s.fallBack(m, m.Unreadable.Error())
	}
	if why := s.Unresizable[m.Pod.UID]; why != "" && len(d.Resources) > 0 {
		return s.fallBack(m, why)
	}
	if d.Empty() && m.Progress.Finished {
		relabelled := inplace.Relabel(m.Pod, s.aim())
		relabelled.Because = step.Because(fmt.Sprintf("revisions %s and %s mean the same pod", from, s.Update.Hash))
		return Verdict{Step: relabelled}
	}
	undrainable := s.undrainable(m.Pod, d)
	if undrainable && s.Policy != InPlaceOnly {
		return s.recreate(m, gateless+", so it cannot leave service for an update in place")
	}
	if !s.undisturbed(m, d) {
		if held, waits := s.beforeUpdate(m); waits {
			return held
		}
	}
	begun, err := inplace.Begin(m.Pod, d, s.aim(), s.Grace, s.Now)
	if err != nil {
		return s.fallBack(m, err.Error())
	}
	begun.Because = step.Because(fmt.Sprintf("revision %s replaces %s: %s", s.Update.Hash, from, d))
	if s.Hooks.Configured() {
		entered := lifecycle.Enter(kruisev1alpha1.LifecycleUpdating, s.Now)
		maps.Copy(begun.Patch.Labels, entered.Labels)
		maps.Copy(begun.Patch.Annotations, entered.Annotations)
	}
	return s.begin(m, begun, undrainable)
}

// undisturbed tells whether the hook has nothing to do before an update: it is there for traffic, and the pod serves on.
func (s *Set) undisturbed(m Member, d inplace.Difference) bool {
	return s.Hooks.CloseGate && m.Progress.Finished && !d.Drains(m.Pod)
}

// gateless is said of pods that were made without the gate.
const gateless = "it has no readiness gate " + string(kruisev1alpha1.ConditionInPlaceUpdateReady)

// undrainable tells whether d would restart a container of a pod that cannot be taken out of service, although
// that is asked for.
func (s *Set) undrainable(p *corev1.Pod, d inplace.Difference) bool {
	return s.NeedsGate && !pod.HasGate(p, kruisev1alpha1.ConditionInPlaceUpdateReady) && d.Drains(p)
}

func (s *Set) begin(m Member, begun step.UpdateInPlace, undrainable bool) Verdict {
	v := Verdict{Step: begun}
	if undrainable {
		v.Warned = []string{about(m.Pod, gateless+", so it is updated without leaving service")}
	}
	return v
}

// fallBack is what happens to a pod that cannot be updated in place.
func (s *Set) fallBack(m Member, why string) Verdict {
	switch {
	case s.Policy != InPlaceOnly:
		return s.recreate(m, why)
	case m.Unreadable != nil:
		return Verdict{Kept: true} // Tend has said it
	}
	return Verdict{Kept: true, Refused: refused(m.Pod, why+", and "+s.PolicyField+" is InPlaceOnly")}
}

func (s *Set) recreate(m Member, why string) Verdict {
	if s.Loss != "" {
		why += "; " + s.Loss
	}
	return s.Delete(m.Pod, step.Recreate, why)
}

// difference is what stands between an older revision and the update revision.
func (s *Set) difference(fromHash string) inplace.Difference {
	if known, computed := s.differences[fromHash]; computed {
		return known
	}
	d := inplace.Difference{Refusals: []string{fmt.Sprintf("revision %q of the pod, which is not in the history any more,", fromHash)}}
	for _, r := range s.History {
		if r.Hash == fromHash && r.Err == nil {
			if d = inplace.Compare(r.Template, s.Update.Template); s.ResizeOff {
				d = d.WithoutResize()
			}
		}
	}
	if s.differences == nil {
		s.differences = map[string]inplace.Difference{}
	}
	s.differences[fromHash] = d
	return d
}
