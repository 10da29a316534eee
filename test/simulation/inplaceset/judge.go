// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// scene is the moment before a write, for one version of the spec.
type scene struct {
	*world.Scene
	set *cafev1alpha1.InPlaceSet
	numbers
}

// First: a pod to which nobody routes yet is not in service.
func (s *scene) First(*corev1.Pod) kruisev1alpha1.LifecycleState {
	if world.AnyConfigured(s.Hooks) {
		return kruisev1alpha1.LifecyclePreparingNormal
	}
	return kruisev1alpha1.LifecycleNormal
}

// Creates: never above replicas, and never more of a side than its share.
func (s *scene) Creates(pod *corev1.Pod) error {
	if !world.HasGate(pod) {
		return fmt.Errorf("pod is created without the readiness gate")
	}
	if s.CatchingUp {
		return nil
	}
	var all, old int
	for _, p := range append([]*corev1.Pod{pod}, s.Pods...) {
		if !world.Active(p) {
			continue
		}
		all++
		if s.Old(p) && world.StateOf(p) != kruisev1alpha1.LifecyclePreparingUpdate { // it counts as what it will be
			old++
		}
	}
	if all > s.Replicas {
		return fmt.Errorf("%d active pods, above replicas %d", all, s.Replicas)
	}
	current, known := s.Judge.Release(s.set.Status.CurrentRevision)
	if !known || current == s.Wants {
		return nil // no release is under way: there is only one side
	}
	if !s.Old(pod) && all-old > s.Replicas-s.Partition {
		return fmt.Errorf("%d pods of the update revision, with replicas %d, partition %d", all-old, s.Replicas, s.Partition)
	}
	if s.Old(pod) && old > s.Partition {
		return fmt.Errorf("%d pods of old revisions, with partition %d", old, s.Partition)
	}
	return nil
}

// Deletes: within the allowance when the pod is available, and within the partition when it is old.
func (s *scene) Deletes(pod *corev1.Pod) error {
	if world.StateOf(pod) == kruisev1alpha1.LifecyclePreparingDelete {
		return nil // it was decided when it entered this state
	}
	if err := s.Takes(pod, "deletes"); err != nil {
		return err
	}
	return s.Spares(pod)
}

// Spares: as many pods stay as must, when this one goes. Those that are prepared for their deletion go anyway.
func (s *scene) Spares(pod *corev1.Pod) error {
	if s.CatchingUp {
		return nil
	}
	c, picked := s.Counts(), chosen(pod)
	for _, other := range s.Pods {
		if world.Active(other) && other.UID != pod.UID && world.StateOf(other) == kruisev1alpha1.LifecyclePreparingDelete {
			c.Active--
			if s.Old(other) {
				c.Old--
			}
		}
	}
	// In scaling, a pod that prepares for its update counts as updated already.
	old := s.Old(pod) && world.StateOf(pod) != kruisev1alpha1.LifecyclePreparingUpdate
	if old && !picked && c.Old-1 < s.Partition {
		return fmt.Errorf("%d pods of old revisions would remain, below partition %d", c.Old-1, s.Partition)
	}
	if picked || s.Old(pod) && !s.Paused {
		return nil // it makes room for its successor
	}
	if c.Active-1 < s.Replicas {
		return fmt.Errorf("%d pods would remain of %d, and this one need not make room for another", c.Active-1, s.Replicas)
	}
	return nil
}

// Takes is the allowance: an available pod may go only when enough others stay.
func (s *scene) Takes(pod *corev1.Pod, how string) error {
	if s.CatchingUp || !world.Available(pod, s.MinReadySeconds, s.Now) {
		return nil
	}
	if left := s.Counts().Available - 1; left < s.Replicas-s.Unavailable {
		return fmt.Errorf("%s available pod %s: %d would be available, with replicas %d and max unavailable %d", how, pod.Name, left, s.Replicas, s.Unavailable)
	}
	return nil
}

// Moves judges the switch of a pod to another revision.
func (s *scene) Moves(before, after *corev1.Pod) error {
	switch {
	case s.Paused:
		return fmt.Errorf("a pod moves to another revision while the set is paused")
	case s.Old(after):
		return fmt.Errorf("a pod moves to revision %q, which is not the wanted one", after.Labels[kruisev1alpha1.LabelRevision])
	}
	if c := s.Counts(); !s.CatchingUp && s.Old(before) && c.Old-1 < s.Partition {
		return fmt.Errorf("%d pods of old revisions would remain, below partition %d", c.Old-1, s.Partition)
	}
	return nil
}

// Chosen tells whether somebody asked for the deletion of the pod.
func (s *scene) Chosen(pod *corev1.Pod) bool { return chosen(pod) }

// Claim: pods of this kind have no claims of the set.
func (s *scene) Claim(w api.Write) error {
	return fmt.Errorf("claim %s is written", w.After.GetName())
}

// tally is the part of a status that pods decide.
type tally struct{ Replicas, Ready, Available, Updated, UpdatedReady, UpdatedAvailable int32 }

func told(s *cafev1alpha1.InPlaceSetStatus) tally {
	return tally{s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas}
}

// tally counts pods as the status must tell them.
func (s *scene) tally(pods []*corev1.Pod) tally {
	var t tally
	for _, pod := range pods {
		if !world.Active(pod) || !world.Member(pod, s.set.UID) {
			continue
		}
		isReady, isAvailable := world.Ready(pod), world.Available(pod, s.set.Spec.MinReadySeconds, s.Now)
		count := func(n *int32, yes bool) {
			if yes {
				*n++
			}
		}
		updated := !s.Old(pod)
		count(&t.Replicas, true)
		count(&t.Ready, isReady)
		count(&t.Available, isAvailable)
		count(&t.Updated, updated)
		count(&t.UpdatedReady, updated && isReady)
		count(&t.UpdatedAvailable, updated && isAvailable)
	}
	return t
}

// Set judges a write of the set: a status says what was observed, for the generation that was observed, and who waits for whom.
func (s *scene) Set(w api.Write) error {
	if w.Subresource != api.Status {
		return fmt.Errorf("the set itself is written")
	}
	status := &typed(w.After).Status
	if status.ObservedGeneration != s.set.Generation {
		return fmt.Errorf("observed generation %d is reported, %d was seen", status.ObservedGeneration, s.set.Generation)
	}
	if r, exists := s.Judge.Release(status.UpdateRevision); exists && r != s.Wants {
		return fmt.Errorf("update revision %q is not the one of the template that was seen", status.UpdateRevision)
	}
	var seen []*corev1.Pod
	for _, o := range s.Judge.View.All(api.Pods) {
		pod := o.(*corev1.Pod)
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || owner.UID != s.set.UID {
			continue
		}
		if !world.Member(pod, s.set.UID) {
			return nil // about to be released: counted or not, both are true
		}
		seen = append(seen, pod)
	}
	if s.recordedTwice() {
		return nil // which of the two a pod carries makes no difference to anybody
	}
	if diff := cmp.Diff(s.tally(seen), told(status)); diff != "" {
		return fmt.Errorf("the status is not what was observed (-observed +reported):\n%s", diff)
	}
	return s.waits(seen, status)
}

// waits: each component that a pod waits for before its update or deletion has its name in the condition.
func (s *scene) waits(seen []*corev1.Pod, status *cafev1alpha1.InPlaceSetStatus) error {
	message := ""
	for _, c := range status.Conditions {
		if c.Type == cafev1alpha1.ConditionWaitingForTraffic && c.Status == corev1.ConditionTrue {
			message = c.Message
		}
	}
	for _, pod := range seen {
		state := world.StateOf(pod)
		out := state == kruisev1alpha1.LifecyclePreparingUpdate || state == kruisev1alpha1.LifecyclePreparingDelete
		if !world.Active(pod) || !out {
			continue
		}
		for _, component := range declared(s.set) {
			if slices.Contains(routed(pod), component) && !strings.Contains(message, component) {
				return fmt.Errorf("pod %s waits for %s, and no condition says it: %q", pod.Name, component, message)
			}
		}
	}
	return nil
}

// recordedTwice: a manager with an old view can record a template again, when the name under which it did so before was taken
// then and is free now.
func (s *scene) recordedTwice() bool {
	found := 0
	for _, o := range s.Judge.Server.List(api.Revisions) {
		if held, known := s.Judge.Release(o.GetName()); known && held == s.Wants {
			found++
		}
	}
	return found > 1
}

// Summary tells the members of the set: `3oA 1nu@PU` are three old available pods and a new one that waits for traffic to leave it. A: available;
// r: ready; u: neither; *: chosen; @G: in a grace period; @U: its gate is closed; @T: terminating; @F: finished; @PN, @PU, @PD, @UD: preparing to
// become normal, for its update, for its deletion, and updated, but not taken on yet. Behind the pods stand the components that route to them.
func (s *scene) Summary() string {
	number := map[string]int{}
	var order []string
	for _, side := range []string{"o", "n"} {
		for _, pod := range s.Pods {
			n := s.Notation(pod)
			if !strings.HasPrefix(n, side) {
				continue
			}
			if number[n]++; number[n] == 1 {
				order = append(order, n)
			}
		}
	}
	if len(order) == 0 {
		return "no pods"
	}
	for i, n := range order {
		order[i] = fmt.Sprintf("%d%s", number[n], n)
	}
	return strings.Join(order, " ")
}

// Notation is one pod of the summary.
func (s *scene) Notation(pod *corev1.Pod) string {
	text := "n"
	if s.Old(pod) {
		text = "o"
	}
	switch {
	case world.Available(pod, s.set.Spec.MinReadySeconds, s.Now):
		text += "A"
	case world.Active(pod) && world.Ready(pod):
		text += "r"
	default:
		text += "u"
	}
	if chosen(pod) {
		text += "*"
	}
	gate := world.Condition(pod, kruisev1alpha1.ConditionInPlaceUpdateReady)
	switch {
	case pod.DeletionTimestamp != nil:
		text += "@T"
	case !world.Active(pod):
		text += "@F"
	case pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "":
		text += "@G"
	case letters[world.StateOf(pod)] != "":
		text += letters[world.StateOf(pod)]
	case gate != nil && gate.Status == corev1.ConditionFalse:
		text += "@U"
	}
	if on := routed(pod); len(on) > 0 {
		text += "+" + strings.Join(on, "+")
	}
	return text
}

// An update that is under way is told by its gate.
var letters = map[kruisev1alpha1.LifecycleState]string{
	kruisev1alpha1.LifecyclePreparingNormal: "@PN", kruisev1alpha1.LifecyclePreparingUpdate: "@PU",
	kruisev1alpha1.LifecyclePreparingDelete: "@PD", kruisev1alpha1.LifecycleUpdated: "@UD",
}
