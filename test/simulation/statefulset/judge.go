// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// scene is the moment before a write, for one version of the spec.
type scene struct {
	*world.Scene
	set *kruisev1beta1.StatefulSet
	numbers
}

func sceneOf(s *world.Scene) *scene {
	set := typed(s.Owner)
	return &scene{Scene: s, set: set, numbers: numbersOf(set)}
}

// First: a pod is normal from the start, unless a hook wants to prepare it.
func (s *scene) First(pod *corev1.Pod) kruisev1alpha1.LifecycleState {
	if !world.Complete(s.Hooks.PreNormal, pod) {
		return kruisev1alpha1.LifecyclePreparingNormal
	}
	return kruisev1alpha1.LifecycleNormal
}

// Chosen tells whether somebody asked for the deletion of the pod.
func (s *scene) Chosen(pod *corev1.Pod) bool {
	_, marked := pod.Labels[kruisev1alpha1.LabelSpecifiedDelete]
	return marked
}

// at returns the pod at a position, as the manager may fairly believe: nil when there is none, in truth and in its view.
func (s *scene) at(position int) *corev1.Pod {
	name := s.nameAt(position)
	for _, pod := range slices.Concat(s.Pods, s.Blind) {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

// serves tells whether a pod is available, or the manager may fairly believe so.
func (s *scene) serves(pod *corev1.Pod) bool {
	return pod != nil && (world.Available(pod, s.MinReadySeconds, s.Now) || s.BelievedAvailable(pod.UID) || s.blindTo(pod.UID))
}

// servedBefore: the pod served until the running pass took it out of service. A pass counts once, before it does anything.
func (s *scene) servedBefore(pod *corev1.Pod) bool {
	d := s.Judge.Ours[pod.UID]
	return d != nil && d.Disrupted > s.Judge.Began
}

// blindTo: the view shows the pod as available although others have taken it away.
func (s *scene) blindTo(uid types.UID) bool {
	return slices.ContainsFunc(s.Blind, func(p *corev1.Pod) bool { return p.UID == uid && s.BelievedAvailable(uid) })
}

// down counts the unavailable positions but for those of one pod.
func (s *scene) down(except string) int {
	n := 0
	for i := range s.Live {
		if name := s.nameAt(i); name != except && (!s.serves(s.at(i)) || s.growing(name)) {
			n++
		}
	}
	return n
}

// Creates: only wanted ordinals, each with its identity and its claims, of the revision that its position asks for, and in order.
func (s *scene) Creates(pod *corev1.Pod) error {
	position := s.position(pod.Name)
	switch {
	case position < 0:
		return fmt.Errorf("pod %s is created, the ordinals are %v", pod.Name, s.Live)
	case pod.Labels[kruisev1beta1.LabelPodName] != pod.Name || pod.Name != world.SetName+"-"+pod.Labels[kruisev1beta1.LabelPodIndex]:
		return fmt.Errorf("pod %s is created with labels %v", pod.Name, pod.Labels)
	case pod.Spec.Hostname != pod.Name || pod.Spec.Subdomain != "peers":
		return fmt.Errorf("pod %s is created as host %q of %q", pod.Name, pod.Spec.Hostname, pod.Spec.Subdomain)
	case rolling(s.set).PodUpdatePolicy != "" && rolling(s.set).PodUpdatePolicy != kruisev1beta1.RecreatePodUpdateStrategyType && !world.HasGate(pod):
		return fmt.Errorf("pod is created without the readiness gate")
	}
	if s.CatchingUp {
		return nil
	}
	if err := s.mountsClaims(pod); err != nil {
		return err
	}
	if err := s.revisionAt(position, pod); err != nil {
		return err
	}
	if s.Ordered {
		for i := range position {
			if !s.serves(s.at(i)) {
				return fmt.Errorf("pod %s is created before %s is available", pod.Name, s.nameAt(i))
			}
		}
		return nil
	}
	if s.Create < 0 {
		return nil
	}
	waiting := 0
	for i := range s.Live {
		if p := s.at(i); p != nil && !s.serves(p) && !s.servedBefore(p) && s.known(p) {
			waiting++
		}
	}
	if waiting >= s.Create {
		return fmt.Errorf("a pod is created while %d pods are not available, scaleStrategy allows %d", waiting, s.Create)
	}
	return nil
}

// revisionAt: positions below the partition get the current revision, the others the update revision. Where ordinals do not matter,
// the partition is how many keep the current one.
func (s *scene) revisionAt(position int, pod *corev1.Pod) error {
	current, known := s.Judge.Release(s.Current)
	if !known || current == s.Wants {
		return nil
	}
	updates := s.set.Spec.UpdateStrategy.Type != kruisev1beta1.OnDeleteStatefulSetStrategyType
	keeps := updates && position < s.Partition
	if updates && s.Unordered {
		keeps = s.olderBefore(pod) < s.Partition
	}
	release, _ := s.Judge.Release(pod.Labels[kruisev1alpha1.LabelRevision])
	switch {
	case keeps && release != current:
		return fmt.Errorf("pod %s at position %d is created with revision %q, the partition %d keeps %q", pod.Name, position, release, s.Partition, current)
	case !keeps && release != s.Wants:
		return fmt.Errorf("pod %s at position %d is created with revision %q instead of the update revision, the partition is %d", pod.Name, position, release, s.Partition)
	}
	return nil
}

// Deletes: what prepares for it was decided on before; all else needs a reason now.
func (s *scene) Deletes(pod *corev1.Pod) error {
	if world.StateOf(pod) == kruisev1alpha1.LifecyclePreparingDelete {
		return nil // it was decided when it entered this state
	}
	return s.Spares(pod)
}

// Spares: a pod goes because it is not wanted, because it was chosen, or because it is to be of another revision.
func (s *scene) Spares(pod *corev1.Pod) error {
	position := s.position(pod.Name)
	switch {
	case s.CatchingUp, !world.Active(pod): // what has finished is replaced whatever else is the case
		return nil
	case position < 0:
		return s.scalesIn(pod)
	}
	if err := s.Takes(pod, "deletes"); err != nil {
		return err
	}
	switch {
	case s.Chosen(pod):
		return nil
	case rolling(s.set).PodUpdatePolicy == kruisev1beta1.InPlaceOnlyPodUpdateStrategyType:
		return fmt.Errorf("pod %s is deleted for its update, which must be in place", pod.Name)
	}
	return s.mayUpdate(pod)
}

// scalesIn: ordered pods go one by one, the highest first, and only when all that stay are available.
func (s *scene) scalesIn(pod *corev1.Pod) error {
	if !s.Ordered {
		return nil
	}
	for i := range s.Live {
		if !s.serves(s.at(i)) {
			return fmt.Errorf("pod %s is scaled in while %s is not available", pod.Name, s.nameAt(i))
		}
	}
	own, _ := ordinalOf(pod.Name)
	for _, other := range s.Pods {
		n, _ := ordinalOf(other.Name)
		if s.position(other.Name) < 0 && n > own && s.known(other) {
			return fmt.Errorf("pod %s is scaled in before %s is gone", pod.Name, other.Name)
		}
	}
	return nil
}

// known: the manager could know that the pod is a member when it decided. What it adopts in a pass counts from the next one on.
func (s *scene) known(pod *corev1.Pod) bool {
	if d := s.Judge.Ours[pod.UID]; d != nil {
		return d.Adopted <= s.Judge.Began
	}
	seen, shown := s.Judge.View.Peek(api.Pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}).(*corev1.Pod)
	return shown && seen.UID == pod.UID && world.Member(seen, s.set.UID)
}

// Takes is the allowance: an available pod may go only while fewer positions are unavailable than may be. Where the pod or its volume is in
// the middle of a change of size, its position is unavailable although the pod serves on, and nothing more is taken.
func (s *scene) Takes(pod *corev1.Pod, how string) error {
	changing := midResize(pod) || s.growing(pod.Name) || s.seenGrowing(pod.Name)
	if s.CatchingUp || s.position(pod.Name) < 0 || !world.Available(pod, s.MinReadySeconds, s.Now) || changing {
		return nil
	}
	if n := s.down(pod.Name) + 1; n > s.Unavailable {
		return fmt.Errorf("%s available pod %s: %d positions would be unavailable, the limit is %d", how, pod.Name, n, s.Unavailable)
	}
	return nil
}

// midResize: a change of its size is not finished, so its position is unavailable although the pod serves on.
func midResize(pod *corev1.Pod) bool {
	if world.Holds(pod, corev1.PodResizePending) || world.Holds(pod, corev1.PodResizeInProgress) {
		return true
	}
	for i := range pod.Status.ContainerStatuses {
		st := &pod.Status.ContainerStatuses[i]
		for j := range pod.Spec.Containers {
			if c := &pod.Spec.Containers[j]; c.Name == st.Name && st.Resources != nil && !equality.Semantic.DeepEqual(st.Resources.Requests, c.Resources.Requests) {
				return true
			}
		}
	}
	return false
}

// Moves judges the switch of a pod to another revision in place.
func (s *scene) Moves(before, after *corev1.Pod) error {
	switch p := rolling(s.set).PodUpdatePolicy; {
	case p != kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType && p != kruisev1beta1.InPlaceOnlyPodUpdateStrategyType:
		return fmt.Errorf("a pod is updated in place, but the policy is %q", p)
	case s.Old(after):
		return fmt.Errorf("a pod moves to revision %q, which is not the wanted one", after.Labels[kruisev1alpha1.LabelRevision])
	case s.CatchingUp:
		return nil
	}
	return s.mayUpdate(before)
}

// mayUpdate: is it this pod's turn to leave its revision?
func (s *scene) mayUpdate(pod *corev1.Pod) error {
	prepared := world.StateOf(pod) == kruisev1alpha1.LifecyclePreparingUpdate // it was decided when it entered this state, and its hook lets it go
	switch {
	case s.Paused && !prepared:
		return fmt.Errorf("pod %s is updated while the set is paused", pod.Name)
	case s.set.Spec.UpdateStrategy.Type == kruisev1beta1.OnDeleteStatefulSetStrategyType:
		return fmt.Errorf("pod %s is updated, but the update type is OnDelete", pod.Name)
	case !s.Old(pod):
		if release, _ := s.Judge.Release(pod.Labels[kruisev1alpha1.LabelRevision]); release.CPU != "" {
			return nil // its node could not resize it
		}
		return fmt.Errorf("pod %s is of the update revision already and goes", pod.Name)
	}
	position := s.position(pod.Name)
	if !s.Unordered {
		if position < s.Partition {
			return fmt.Errorf("pod %s at position %d is updated, below partition %d", pod.Name, position, s.Partition)
		}
	} else if n := s.older(pod, prepared); n < s.Partition {
		return fmt.Errorf("pod %s is updated, and only %d pods would be left on older revisions, below partition %d", pod.Name, n, s.Partition)
	}
	if s.Ordered && !prepared {
		return s.inTurn(pod, position)
	}
	return nil
}

// inTurn: of ordered pods, a healthy one is updated when all are available and the higher ones are done; a broken one when nothing
// terminates and no higher one is broken on an older revision. Its own readiness, and that of others, is not waited for then. A pod that
// must be updated in place and cannot be is left as it is, and holds up no other. Broken is also who serves and waits for a size that
// its node does not have.
func (s *scene) inTurn(pod *corev1.Pod, position int) error {
	sound := func(p *corev1.Pod) bool { return world.InService(p) && !world.Holds(p, corev1.PodResizePending) }
	healthy := sound(pod)
	if healthy && s.down(pod.Name) > 0 {
		return fmt.Errorf("healthy pod %s is updated while others are not available", pod.Name)
	}
	if !healthy {
		for _, other := range s.Pods {
			if other.UID != pod.UID && other.DeletionTimestamp != nil && s.sees(other, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }) {
				return fmt.Errorf("broken pod %s is replaced while %s terminates", pod.Name, other.Name)
			}
		}
	}
	for i := position + 1; i < len(s.Live); i++ {
		other := s.at(i)
		behind := func(p *corev1.Pod) bool {
			return world.Active(p) && s.Old(p) && world.StateOf(p) == kruisev1alpha1.LifecycleNormal && (healthy || !sound(p))
		}
		if other != nil && behind(other) && s.sees(other, behind) && s.canChange(other) && !s.growing(other.Name) && !s.claimBehind(other.Name) {
			return fmt.Errorf("pod %s is updated before %s above it", pod.Name, other.Name)
		}
	}
	return nil
}

// canChange tells whether the update policy lets a pod become what the template says.
func (s *scene) canChange(pod *corev1.Pod) bool {
	from, known := s.Judge.Release(pod.Labels[kruisev1alpha1.LabelRevision])
	return rolling(s.set).PodUpdatePolicy != kruisev1beta1.InPlaceOnlyPodUpdateStrategyType || known && from.CanBecome(s.Wants)
}

// sees tells whether the manager's view of a pod has a property, too.
func (s *scene) sees(pod *corev1.Pod, has func(*corev1.Pod) bool) bool {
	seen, shown := s.Judge.View.Peek(api.Pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}).(*corev1.Pod)
	return shown && seen.UID == pod.UID && has(seen)
}
