// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// tally is the part of a status that pods decide.
type tally struct {
	Replicas, Ready, Available, Updated, UpdatedReady, UpdatedAvailable int32
}

func told(s *kruisev1beta1.StatefulSetStatus) tally {
	return tally{s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas}
}

// Set judges a write of the set: only its status, which says what was observed, for the generation that was observed.
func (s *scene) Set(w api.Write) error {
	if w.Subresource != api.Status {
		return fmt.Errorf("the manager changes the spec")
	}
	before, after := typed(w.Before), typed(w.After)
	if after.Status.ObservedGeneration != s.set.Generation {
		return fmt.Errorf("observed generation %d is reported, %d was seen", after.Status.ObservedGeneration, s.set.Generation)
	}
	if r, exists := s.Judge.Release(after.Status.UpdateRevision); exists && r != s.Wants {
		return fmt.Errorf("update revision %q is not the one of the template that was seen", after.Status.UpdateRevision)
	}
	was, is := before.Status.CurrentRevision, after.Status.CurrentRevision
	if _, exists := s.Judge.Release(was); was == is || was == "" || !exists {
		return nil
	}
	if t := told(&after.Status); is != after.Status.UpdateRevision || int(t.Updated) != s.Replicas || t.Replicas != t.Updated || t.Ready != t.Updated {
		return fmt.Errorf("current revision moves from %s to %s with %+v", was, is, t)
	}
	return nil
}

// Converged compares the world with what the set asks for. A scaling in that waits for a person gets one first.
func (s *simulation) Converged() error {
	if err := s.helpOut(); err != nil {
		return err
	}
	m := sceneOf(s.Scene())
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	older, truth := 0, tally{}
	for _, pod := range s.Pods() {
		position := m.position(pod.Name)
		switch {
		case metav1.GetControllerOfNoCopy(pod) == nil:
			bad("pod %s is nobody's and has the name of a member", pod.Name)
			continue
		case !world.Member(pod, m.set.UID):
			bad("pod %s does not match the selector and was not released", pod.Name)
		case !world.Active(pod):
			bad("pod %s does not go away", pod.Name)
		case position < 0:
			bad("pod %s is not wanted, the ordinals are %v", pod.Name, m.Live)
		}
		updated, available := !m.Old(pod), world.Available(pod, m.MinReadySeconds, s.Clock.Now())
		truth.add(updated, available)
		if !updated {
			older++
		}
		if !updated && !m.Unordered && position >= m.Partition {
			bad("pod %s at position %d is of an older revision, with partition %d", pod.Name, position, m.Partition)
		}
		if !available {
			bad("pod %s is not available", pod.Name)
		}
		if updated && world.Running(pod) != m.Wants.Visible() {
			bad("pod %s carries the update revision and runs %q", pod.Name, world.Running(pod))
		}
		if pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "" {
			bad("pod %s is still in a grace period", pod.Name)
		}
		problems = append(problems, world.AtRest(pod), s.claimsConverged(m, pod))
	}
	for i := range m.Live {
		if m.at(i) == nil {
			bad("pod %s is missing", m.nameAt(i))
		}
	}
	if older > m.Partition {
		bad("%d pods of older revisions, with partition %d", older, m.Partition)
	}
	if len(problems) == 0 || errors.Join(problems...) == nil {
		problems = append(problems, s.statusConverged(m, truth))
	}
	return errors.Join(problems...)
}

func (t *tally) add(updated, available bool) {
	count := func(n *int32, yes bool) {
		if yes {
			*n++
		}
	}
	count(&t.Replicas, true)
	count(&t.Ready, available)
	count(&t.Available, available)
	count(&t.Updated, updated)
	count(&t.UpdatedReady, updated && available)
	count(&t.UpdatedAvailable, updated && available)
}

// claimsConverged: a pod has what it mounts, of the size and with the owners that the set asks for.
func (s *simulation) claimsConverged(m *scene, pod *corev1.Pod) error {
	if !s.HasVolumes(pod) && !s.deletedByPeople(pod) {
		return fmt.Errorf("pod %s lacks a claim", pod.Name)
	}
	for _, claim := range m.claimsOf(pod.Name) {
		if err := m.owners(claim, pod.Name); err != nil {
			return err
		}
	}
	if !m.Unordered && m.position(pod.Name) >= m.Partition && m.claimBehind(pod.Name) {
		return fmt.Errorf("a claim of pod %s is smaller than its template", pod.Name)
	}
	if m.growing(pod.Name) {
		return fmt.Errorf("a claim of pod %s has not the size that it asks for", pod.Name)
	}
	return nil
}

// deletedByPeople tells whether somebody has deleted a claim of a pod. A pod that runs already does not get it again.
func (s *simulation) deletedByPeople(pod *corev1.Pod) bool {
	return slices.ContainsFunc(s.Server.History(api.Claims), func(w api.Write) bool {
		return w.Actor == "user" && w.Verb == api.Mark && slices.Contains(world.Mounts(pod), w.After.GetName())
	})
}

func (s *simulation) statusConverged(m *scene, truth tally) error {
	status := &m.set.Status
	if status.ObservedGeneration != m.set.Generation {
		return fmt.Errorf("generation %d is observed, %d is there", status.ObservedGeneration, m.set.Generation)
	}
	if diff := cmp.Diff(truth, told(status)); diff != "" {
		return fmt.Errorf("the status is not the truth (-truth +status):\n%s", diff)
	}
	if r, exists := s.Judge.Release(status.UpdateRevision); !exists || r != m.Wants {
		return fmt.Errorf("update revision %q does not hold the template", status.UpdateRevision)
	}
	if int(status.UpdatedReplicas) == m.Replicas && status.CurrentRevision != status.UpdateRevision {
		return fmt.Errorf("current revision %s, update revision %s, with all %d pods updated", status.CurrentRevision, status.UpdateRevision, m.Replicas)
	}
	live := map[string]bool{status.UpdateRevision: true, status.CurrentRevision: true}
	for _, pod := range m.Pods {
		live[pod.Labels[kruisev1alpha1.LabelRevision]] = true
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
