// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/world"
)

// Summary tells the members of the set in the notation of the contract, by their ordinals: `0cA 1uu@U` are an available pod of the
// current revision and one of the update revision that is not ready because it is being updated; x: of another revision; r: ready but
// not available yet; T: terminating; F: finished; *: chosen; @G: in a grace period; @PN, @PU, @PD: preparing to become normal, for its
// update, for its deletion; @UD: updated, and its hook is not back yet; (…): the ordinal is not wanted.
func (s *scene) Summary() string {
	pods := slices.Clone(s.Pods)
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		x, _ := ordinalOf(a.Name)
		y, _ := ordinalOf(b.Name)
		return cmp.Compare(x, y)
	})
	var parts []string
	for _, pod := range pods {
		digits := strings.TrimPrefix(pod.Name, world.SetName+"-")
		text := digits + s.Notation(pod)
		if s.position(pod.Name) < 0 {
			text = "(" + text + ")"
		}
		parts = append(parts, text)
	}
	if parts == nil {
		return "no pods"
	}
	return strings.Join(parts, " ")
}

// Notation is one pod of the summary, without its ordinal.
func (s *scene) Notation(pod *corev1.Pod) string {
	text := "x"
	if current, known := s.Judge.Release(s.Current); !s.Old(pod) {
		text = "u"
	} else if r, is := s.Judge.Release(pod.Labels[kruisev1alpha1.LabelRevision]); is && known && r == current {
		text = "c"
	}
	switch {
	case pod.DeletionTimestamp != nil:
		text += "T"
	case !world.Active(pod):
		text += "F"
	case world.Available(pod, s.MinReadySeconds, s.Now):
		text += "A"
	case world.Ready(pod):
		text += "r"
	default:
		text += "u"
	}
	if s.Chosen(pod) {
		text += "*"
	}
	g := gate(pod)
	switch {
	case !world.Active(pod):
	case pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "":
		text += "@G"
	case letters[world.StateOf(pod)] != "":
		text += letters[world.StateOf(pod)]
	case g != nil && g.Status == corev1.ConditionFalse:
		text += "@U"
	}
	return text
}

// An update that is under way is told by its gate.
var letters = map[kruisev1alpha1.LifecycleState]string{
	kruisev1alpha1.LifecyclePreparingNormal: "@PN", kruisev1alpha1.LifecyclePreparingUpdate: "@PU",
	kruisev1alpha1.LifecyclePreparingDelete: "@PD", kruisev1alpha1.LifecycleUpdated: "@UD",
}
