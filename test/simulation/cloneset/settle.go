// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Converged compares the world with what the set asks for.
func (s *simulation) Converged() error {
	set := s.set()
	m := s.moment()
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	var old, all, stuck int
	for _, pod := range s.Pods() {
		switch {
		case metav1.GetControllerOfNoCopy(pod) == nil:
			continue // released
		case !world.Member(pod, set.UID):
			bad("pod %s does not match the selector and was not released", pod.Name)
		case pod.DeletionTimestamp != nil:
			bad("pod %s does not go away", pod.Name)
		case !world.Active(pod):
			continue // finished pods stay, up to a number
		}
		if !world.Active(pod) || !world.Member(pod, set.UID) {
			continue
		}
		all++
		// A pod that the partition keeps may have been left in an update that its node cannot finish.
		if !m.Old(pod) || world.StateOf(pod) != kruisev1alpha1.LifecycleUpdating {
			problems = append(problems, world.AtRest(pod))
		} else {
			stuck++
		}
		if m.Old(pod) {
			old++
			continue
		}
		runs, wants := world.Running(pod), m.Wants.Visible()
		if m.Unavailable == 0 { // a resize whose patch was refused is only undone where a pod may be unavailable for it
			runs.CPU, runs.Memory = wants.CPU, wants.Memory
		}
		if runs != wants {
			bad("pod %s carries the update revision and runs %q", pod.Name, world.Running(pod))
		}
		if !world.Available(pod, set.Spec.MinReadySeconds, s.Clock.Now()) {
			bad("pod %s is not available", pod.Name)
		}
		if pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "" {
			bad("pod %s is still in a grace period", pod.Name)
		}
	}
	// Such pods are kept and not available. While they are more than may be unavailable, no other pod goes in their place.
	if all < m.Replicas || all > m.Replicas+max(0, stuck-m.Unavailable) {
		bad("%d active pods of %d", all, m.Replicas)
	}
	if old > m.Partition {
		bad("%d pods of old revisions, with partition %d", old, m.Partition)
	}
	problems = append(problems, s.statusConverged(m), s.claimsConverged(m), s.historyConverged(m))
	return errors.Join(problems...)
}

// moment is the world when nothing is written.
func (s *simulation) moment() *scene {
	set := s.set()
	return &scene{Scene: s.Scene(), set: set, numbers: numbersOf(set)}
}

func (s *simulation) statusConverged(m *scene) error {
	status := &m.set.Status
	if status.ObservedGeneration != m.set.Generation {
		return fmt.Errorf("generation %d is observed, %d is there", status.ObservedGeneration, m.set.Generation)
	}
	if want, got := m.tally(s.Pods()), told(status); want != got {
		return fmt.Errorf("the status tells %+v, the truth is %+v", got, want)
	}
	if r, exists := s.Judge.Release(status.UpdateRevision); !exists || r != m.Wants {
		return fmt.Errorf("update revision %q does not hold the template", status.UpdateRevision)
	}
	if int(status.UpdatedReplicas) == m.Replicas && status.CurrentRevision != status.UpdateRevision {
		return fmt.Errorf("current revision %s, update revision %s, with %d of %d pods updated", status.CurrentRevision, status.UpdateRevision, status.UpdatedReplicas, m.Replicas)
	}
	return nil
}

func (s *simulation) historyConverged(m *scene) error {
	live := map[string]bool{m.set.Status.UpdateRevision: true, m.set.Status.CurrentRevision: true}
	for _, pod := range m.Pods {
		if world.Active(pod) {
			live[pod.Labels[kruisev1alpha1.LabelRevision]] = true
		}
	}
	idle := 0
	for _, o := range s.Server.List(api.Revisions) {
		if !live[o.GetName()] {
			idle++
		}
	}
	if limit := int(ptr.Deref(m.set.Spec.RevisionHistoryLimit, 10)); idle > limit {
		return fmt.Errorf("%d revisions that nothing uses are kept, the limit is %d", idle, limit)
	}
	return nil
}
