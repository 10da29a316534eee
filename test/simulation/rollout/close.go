// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// Overtake begins a rollout, or gives the workload another template.
func (s *tale) Overtake() {
	if s.workload(first) != nil && !s.of.pair() {
		s.newTemplate()
	}
}

// LastEdit mends all that was broken, and sees to it that what is under way can end.
func (s *tale) LastEdit() {
	s.closing, s.full, s.of.stopped, s.errors = true, false, false, 0
	t := s.trait()
	if t == nil || t.Status.RollingState.IsFinal() {
		return
	}
	s.edit(func(t *rolloutv1alpha1.RolloutTrait) {
		p := &t.Spec.RolloutPlan
		p.Paused, p.BatchPartition, p.RevertOnDelete, p.FailurePolicy, p.ProgressDeadlineSeconds = false, nil, false, rolloutv1alpha1.FailOnFailure, nil
	})
	if t.DeletionTimestamp != nil {
		return
	}
	switch rolls := t.Status.RollingState == rolloutv1alpha1.RollingInBatchesState; {
	case rolls && s.Random.IntN(2) == 0:
	case rolls && s.Random.IntN(2) == 0:
		s.say(rolloutv1alpha1.AnnotationAbort)
	default:
		s.Remove(api.RolloutTraits, world.SetName)
	}
}

// close begins the last rollout when the one before has ended, and has left nothing behind.
func (s *tale) close(add func(weight int, do func())) {
	switch t := s.trait(); {
	case t == nil:
		add(10, func() {
			if err := clean(s.World); err != nil {
				s.Bench.Accuse(err)
			}
			s.last = true
			s.newRollout()
		})
	case t.DeletionTimestamp != nil:
	case t.Status.RollingState.IsFinal() || t.Status.WaitingFor == rolloutv1alpha1.WaitingForWorkload: // of a workload that is gone, it would wait for ever
		add(10, func() { s.Remove(api.RolloutTraits, world.SetName) })
	}
}

// Converged compares the world with what the last rollout was asked for.
func (s *tale) Converged() error {
	t := s.trait()
	if !s.last || t == nil {
		return fmt.Errorf("the last rollout has not begun: it is %s", stateOf(t))
	}
	if err := clean(s.World); err != nil {
		return err
	}
	if t.Status.RollingState != rolloutv1alpha1.RolloutSucceedState {
		return fmt.Errorf("the last rollout is %s: %s", stateOf(t), t.Status.Message)
	}
	target := s.workload(t.Spec.TargetRef.Name)
	if t.Status.Running.Mode == "" { // there was nothing to do, and nothing is touched: a set that was paused before it had pods stays so
		if pods := s.TallyOf(s.PodsOf(target)); pods.All[workload.SpecOf(target).App] != pods.Pods && !workload.SpecOf(target).Paused {
			return fmt.Errorf("there was nothing to do, and %s has %s", target.GetName(), pods)
		}
		return nil
	}
	if err := s.reached(target); err != nil {
		return err
	}
	if len(t.Spec.SourceRef) == 0 {
		return nil
	}
	source := s.workload(t.Spec.SourceRef[0].Name)
	if pods := s.PodsOf(source); len(pods) > 0 || workload.SpecOf(source).Replicas > 0 {
		return fmt.Errorf("the source is asked for %d pods, and has %d", workload.SpecOf(source).Replicas, len(pods))
	}
	return nil
}

// reached: all pods are on the template of the workload, and available.
func (s *tale) reached(target client.Object) error {
	is := workload.SpecOf(target)
	want, pods := is.Replicas, s.TallyOf(s.PodsOf(target))
	if s.of.daemons() {
		want = len(s.Server.List(api.Nodes))
	}
	switch {
	case pods.Pods != want || pods.Serving != want || pods.All[is.App] != want:
		return fmt.Errorf("%s has %s, and should have %d of %s", target.GetName(), pods, want, is.App)
	case is.Kept > 0 || is.Paused:
		return fmt.Errorf("%s keeps %d pods, paused: %t", target.GetName(), is.Kept, is.Paused)
	}
	return nil
}
