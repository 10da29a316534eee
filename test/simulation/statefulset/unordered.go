// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Where ordinals do not matter, the partition is how many pods keep the current revision. A manager counts them once in a pass, by what it
// sees; so does the judge.

// olderBefore counts the pods on older revisions, as the pass that creates a pod does. One that prepares for its update counts as updated.
func (s *scene) olderBefore(created *corev1.Pod) int {
	n := s.refused(created)
	for i := range s.Live {
		if p := s.counted(i); p != nil && s.Old(p) && world.StateOf(p) != kruisev1alpha1.LifecyclePreparingUpdate {
			n++
		}
	}
	return n
}

// refused counts the pods on older revisions that the running pass meant to create before this one, and could not: it decided on this one
// in the belief that they are there, and makes up for them in the next pass.
func (s *scene) refused(before *corev1.Pod) (n int) {
	for _, meant := range s.Judge.Meant {
		create, is := meant.(step.CreatePod)
		switch {
		case !is:
		case create.Pod.Name == before.Name:
			return n
		case s.Old(create.Pod) && s.counted(s.position(create.Pod.Name)) == nil:
			n++
		}
	}
	return n
}

// older counts the pods but for one that are not on the update revision. To take another pod, those that stay so are counted: none on its
// way out, and none that prepares for its update. A prepared one may go as long as the others are there.
func (s *scene) older(except *corev1.Pod, prepared bool) int {
	n := 0
	for i := range s.Live {
		if p := s.counted(i); s.nameAt(i) != except.Name && p != nil && s.Old(p) && (prepared || s.stays(p)) {
			n++
		}
	}
	return n
}

// stays: nothing that the manager could know takes the pod away or to another revision.
func (s *scene) stays(pod *corev1.Pod) bool {
	if s.sees(pod, func(p *corev1.Pod) bool { return !world.Active(p) }) || s.deletedNow(pod.UID) {
		return false
	}
	switch world.StateOf(pod) {
	case kruisev1alpha1.LifecyclePreparingUpdate:
		return false
	case kruisev1alpha1.LifecyclePreparingDelete:
		return !s.Chosen(pod) || !s.sees(pod, s.Chosen)
	}
	return true
}

// counted is the pod at a position as a pass counts it, once, before it does anything: what it adopts itself does not count yet, and what
// is gone still counts when the pass has removed it itself, or still sees it.
func (s *scene) counted(position int) *corev1.Pod {
	if pod := s.at(position); pod != nil {
		if s.known(pod) {
			return pod
		}
		return nil
	}
	seen := s.seen(s.nameAt(position))
	if seen == nil || !world.Member(seen, s.set.UID) {
		return nil
	}
	if d := s.Judge.Ours[seen.UID]; d == nil || !d.Removed || seen.DeletionTimestamp != nil || s.deletedNow(seen.UID) {
		return seen
	}
	return nil
}

// seen is the pod of a name in the manager's view; nil when there is none.
func (s *scene) seen(name string) *corev1.Pod {
	seen, _ := s.Judge.View.Peek(api.Pods, types.NamespacedName{Namespace: world.Namespace, Name: name}).(*corev1.Pod)
	return seen
}

// deletedNow tells whether the running pass has deleted the pod.
func (s *scene) deletedNow(uid types.UID) bool {
	log := s.Judge.Server.Log()
	for i := len(log) - 1; i >= 0 && log[i].Version > s.Judge.Began; i-- {
		if (log[i].Verb == api.Remove || log[i].Verb == api.Mark) && log[i].After.GetUID() == uid {
			return true
		}
	}
	return false
}
