// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

// newSet is a set as a client that sets no defaults sends it.
func newSet(replicas int32, r Release) *kruisev1alpha1.CloneSet {
	return &kruisev1alpha1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: setName},
		Spec: kruisev1alpha1.CloneSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{labelApp: setName}},
			Template: r.Template(),
		},
	}
}

func number(n int) *intstr.IntOrString { return ptr.To(intstr.FromInt32(int32(n))) }

func percent(n int) *intstr.IntOrString { return ptr.To(intstr.FromString(strconv.Itoa(n) + "%")) }

// create stores the set.
func (w *world) create(set *kruisev1alpha1.CloneSet) {
	admit(set)
	w.must(w.server.Create("user", set))
	w.tell("user: creates the set: %s", describeSpec(set))
}

// edit changes the spec of the set, as a user does.
func (w *world) edit(change func(*kruisev1alpha1.CloneSet)) {
	set := w.set().DeepCopy()
	change(set)
	admit(set)
	stored, err := w.server.Update("user", api.Main, set)
	w.must(stored, err)
	w.tell("user: now wants %s", describeSpec(stored.(*kruisev1alpha1.CloneSet)))
}

// admit makes a spec pass the rules of the schema, by giving way where two fields contradict each other.
func admit(set *kruisev1alpha1.CloneSet) {
	u := &set.Spec.UpdateStrategy
	if u.Type == kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType {
		u.MaxSurge = nil
	}
	if isZero(u.MaxUnavailable) && (u.MaxSurge == nil || isZero(u.MaxSurge)) {
		u.MaxUnavailable = number(1)
	}
	if d := set.Spec.ProgressDeadlineSeconds; d != nil && *d <= set.Spec.MinReadySeconds {
		set.Spec.ProgressDeadlineSeconds = ptr.To(set.Spec.MinReadySeconds + 1)
	}
}

func isZero(v *intstr.IntOrString) bool {
	return v != nil && (v.Type == intstr.Int && v.IntVal == 0 || v.Type == intstr.String && v.StrVal == "0%")
}

func describeSpec(set *kruisev1alpha1.CloneSet) string {
	n, u := numbersOf(set), &set.Spec.UpdateStrategy
	text := fmt.Sprintf("%q replicas=%d partition=%d surge=%d unavailable=%d", wanted(set), n.Replicas, n.Partition, n.Surge, n.Unavailable)
	if u.Type != "" {
		text += " " + string(u.Type)
	}
	if u.Paused {
		text += " paused"
	}
	for _, extra := range []struct {
		name  string
		value int32
	}{{"minReady", set.Spec.MinReadySeconds}, {"grace", grace(set)}, {"history", ptr.Deref(set.Spec.RevisionHistoryLimit, 0)}, {"deadline", ptr.Deref(set.Spec.ProgressDeadlineSeconds, 0)}} {
		if extra.value != 0 {
			text += fmt.Sprintf(" %s=%d", extra.name, extra.value)
		}
	}
	for _, t := range set.Spec.VolumeClaimTemplates {
		text += " claim=" + t.Name
	}
	if set.Spec.ScaleStrategy.DisablePVCReuse {
		text += " disablePVCReuse"
	}
	if u.PriorityStrategy != nil {
		text += " by-priority"
	}
	if u.ScatterStrategy != nil {
		text += " scattered"
	}
	if c := set.Spec.ScaleStrategy.MaxUnavailable; c != nil {
		text += " scaleUnavailable=" + c.String()
	}
	if names := set.Spec.ScaleStrategy.PodsToDelete; len(names) > 0 {
		text += fmt.Sprintf(" podsToDelete=%v", names)
	}
	return text + describeHooks(hooksOf(set))
}

func grace(set *kruisev1alpha1.CloneSet) int32 {
	if s := set.Spec.UpdateStrategy.InPlaceUpdateStrategy; s != nil {
		return s.GracePeriodSeconds
	}
	return 0
}

// randomEdit is one thing that a user may do to the spec at any time.
func (s *simulation) randomEdit(set *kruisev1alpha1.CloneSet) {
	spec, u, r := &set.Spec, &set.Spec.UpdateStrategy, s.random
	oneOf := func(values ...*intstr.IntOrString) *intstr.IntOrString { return values[r.IntN(len(values))] }
	switch r.IntN(28) {
	case 0, 1, 2, 3, 4:
		s.newTemplate(set)
	case 5:
		s.badTemplate(set)
	case 6, 7:
		s.rollBack(set)
	case 8, 9:
		spec.Replicas = ptr.To(int32(r.IntN(7)))
	case 10, 11:
		u.Partition = oneOf(nil, number(0), number(r.IntN(7)), number(r.IntN(7)), percent(25*r.IntN(5)), percent(r.IntN(101)))
	case 12, 13:
		u.MaxUnavailable = oneOf(nil, number(0), number(1), number(2), number(3), percent(r.IntN(101)), percent(25))
	case 14, 15:
		u.MaxSurge = oneOf(nil, number(0), number(1), number(2), percent(r.IntN(101)))
	case 16:
		u.Paused = !u.Paused
	case 17:
		u.Type = updateTypes[r.IntN(len(updateTypes))]
	case 18:
		spec.MinReadySeconds = int32([]int{0, 3, 10}[r.IntN(3)])
	case 19:
		u.InPlaceUpdateStrategy = []*kruisev1alpha1.InPlaceUpdateStrategy{nil, {}, {GracePeriodSeconds: 2}, {GracePeriodSeconds: 10}}[r.IntN(4)]
	case 20:
		spec.ScaleStrategy.MaxUnavailable = oneOf(nil, number(1), number(2), percent(50))
	case 21:
		spec.RevisionHistoryLimit = ptr.To(int32(r.IntN(4)))
		spec.ProgressDeadlineSeconds = []*int32{nil, ptr.To[int32](30), ptr.To[int32](600)}[r.IntN(3)]
	case 22:
		u.PriorityStrategy = s.priority()
	case 23:
		u.ScatterStrategy = []kruisev1alpha1.UpdateScatterStrategy{nil, {{Key: labelTrack, Value: "v2"}}}[r.IntN(2)]
	case 25:
		spec.Lifecycle = s.randomLifecycle()
	case 26:
		if spec.Lifecycle != nil { // in the middle of a hooked life, hooks change more often
			spec.Lifecycle = s.randomLifecycle()
		}
	case 27:
		if spec.Lifecycle != nil {
			next := wanted(set)
			next.Held = s.randomHeld()
			s.roll(set, next)
		}
	case 24:
		spec.ScaleStrategy.PodsToDelete = []string{"web-nobody"}
		for _, pod := range s.pods() {
			if r.IntN(3) == 0 {
				spec.ScaleStrategy.PodsToDelete = append(spec.ScaleStrategy.PodsToDelete, pod.Name)
			}
		}
	}
}

func (s *simulation) priority() *kruisev1alpha1.UpdatePriorityStrategy {
	switch s.random.IntN(3) {
	case 0:
		return &kruisev1alpha1.UpdatePriorityStrategy{OrderPriority: []kruisev1alpha1.UpdatePriorityOrderTerm{{OrderedKey: labelTrack}}}
	case 1:
		return &kruisev1alpha1.UpdatePriorityStrategy{WeightPriority: []kruisev1alpha1.UpdatePriorityWeightTerm{
			{Weight: 10, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{labelTrack: "v2"}}},
		}}
	}
	return nil
}

// In place comes more often, since it has more to go wrong.
var updateTypes = []kruisev1alpha1.CloneSetUpdateStrategyType{
	"", kruisev1alpha1.ReCreateCloneSetUpdateStrategyType, kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType,
	kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType, kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType,
	kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType, kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType,
}

// newTemplate changes one thing of the template.
func (s *simulation) newTemplate(set *kruisev1alpha1.CloneSet) {
	r := wanted(set)
	next := fmt.Sprintf("v%d", len(s.releases)+1)
	switch s.random.IntN(14) {
	case 10, 11:
		s.newSize(&r)
	case 12:
		s.newSize(&r)
		r.App, r.Label = next, next
	case 13:
		if r.Sidecar != "" {
			r.App, r.Sidecar = next, next
		} else {
			r.Reads = !r.Reads
		}
	case 0:
		r.Env = next
	case 1, 2:
		r.Label = next
	case 3:
		if r.Sidecar != "" {
			r.Sidecar = next
		} else {
			r.App = next
		}
	case 4:
		r.App, r.Label = next, next
	case 5:
		r.App = next + fmt.Sprintf("-slow-%ds", 1+s.random.IntN(20))
	default:
		r.App = next
	}
	s.roll(set, r)
}

// newSize changes what the main container requests.
func (s *simulation) newSize(r *Release) {
	switch {
	case r.CPU == "":
		r.CPU, r.Memory = "100m", "64Mi"
	case s.random.IntN(3) == 0:
		r.Memory = []string{"64Mi", "128Mi", "256Mi"}[s.random.IntN(3)]
	default:
		r.CPU = []string{"100m", "200m", "300m"}[s.random.IntN(3)]
	}
}

func (s *simulation) badTemplate(set *kruisev1alpha1.CloneSet) {
	r := wanted(set)
	if r.CPU != "" && s.random.IntN(3) == 0 {
		r.CPU = tooMuch
		s.roll(set, r)
		return
	}
	r.App = fmt.Sprintf("v%d-%s", len(s.releases)+1, []string{"broken", "crash", "missing"}[s.random.IntN(3)])
	s.roll(set, r)
}

func (s *simulation) rollBack(set *kruisev1alpha1.CloneSet) {
	set.Spec.Template = s.releases[s.random.IntN(len(s.releases))].Template()
}

func (s *simulation) roll(set *kruisev1alpha1.CloneSet, r Release) {
	s.releases = append(s.releases, r)
	set.Spec.Template = r.Template()
}

// disturbPod is one thing that a user or a node may do to a pod at any time.
func (s *simulation) disturbPod(pod *corev1.Pod) {
	s.misfortunes--
	key := client.ObjectKeyFromObject(pod)
	switch n := s.random.IntN(10); {
	case n < 3:
		if err := s.server.Delete("user", api.Pods, key, nil, nil); err != nil {
			panic(fmt.Sprintf("the user's deletion failed: %v", err))
		}
		s.tell("user: deletes %s", pod.Name)
	case n < 6:
		if !active(pod) {
			return
		}
		s.must(s.server.Modify("node", api.Pods, key, api.Status, func(o client.Object) {
			o.(*corev1.Pod).Status.Phase = corev1.PodFailed
			o.(*corev1.Pod).Status.Reason = "Evicted"
		}))
		s.kubelet[pod.UID].late = nil // the eviction is the kubelet's own doing
		s.tell("node: evicts %s", pod.Name)
	case n < 8:
		s.label(pod, kruisev1alpha1.LabelSpecifiedDelete, "true")
		s.tell("user: chooses %s for deletion", pod.Name)
	case n < 9:
		s.must(s.server.Modify("user", api.Pods, key, api.Main, func(o client.Object) {
			o.SetAnnotations(merged(o.GetAnnotations(), kruisev1alpha1.AnnotationPodDeletionCost, strconv.Itoa(s.random.IntN(100))))
		}))
		s.tell("user: sets a deletion cost on %s", pod.Name)
	default:
		s.label(pod, labelApp, "taken-out")
		s.tell("user: takes %s out of the set by its label", pod.Name)
	}
	s.notice()
}

func (s *simulation) label(pod *corev1.Pod, key, value string) {
	s.must(s.server.Modify("user", api.Pods, client.ObjectKeyFromObject(pod), api.Main, func(o client.Object) {
		o.SetLabels(merged(o.GetLabels(), key, value))
	}))
}

func merged(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
