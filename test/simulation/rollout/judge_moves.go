// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// moved judges a change of numbers in a workload that is held before and after.
func (s *scene) moved(was workload.Spec) error {
	if s.book == nil {
		return errors.New("it is written to, and nobody holds it")
	}
	if was.App != s.App {
		return s.broughtBack(was)
	}
	switch s.trait.Status.RollingState {
	case rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.InitializingState: // one look can go from the claim to the first batch
	default:
		return s.movedBack(was)
	}
	if s.holdsStill() {
		return fmt.Errorf("it moves in a pause: replicas %d -> %d, %d -> %d kept", was.Replicas, s.Replicas, was.Kept, s.Kept)
	}
	if unpaused := s.Spec; was.Paused && !s.Paused { // what holds back the pods instead has been written before
		unpaused.Paused = true
		if unpaused == was {
			return nil
		}
	}
	s.batch = s.reached()
	if err := s.prepared(rolloutv1alpha1.PreBatchRolloutHook, s.batch); err != nil {
		return err
	}
	switch modeOf(s.trait) {
	case rolloutv1alpha1.InPlaceMode:
		return s.movedInPlace(was)
	case rolloutv1alpha1.ScaleMode:
		return s.scaled(was)
	case rolloutv1alpha1.TwoObjectsMode:
		return s.tookTurns(was)
	}
	return fmt.Errorf("it moves, and the mode is %q", modeOf(s.trait))
}

// movedInPlace: never more than the goal of the batch, and never fewer than are there.
func (s *scene) movedInPlace(was workload.Spec) error {
	if was.Replicas != s.Replicas {
		return fmt.Errorf("its size changes from %d to %d", was.Replicas, s.Replicas)
	}
	updated, _ := s.updated()
	told, _ := s.told()
	goal := s.inPlace(s.seenPlan(), s.batch)
	if s.allowed() > max(goal, updated, told) {
		return fmt.Errorf("%d pods may be updated, and the goal of batch %d is %d", s.allowed(), s.batch+1, goal)
	}
	if s.allowed() < min(updated, told) && s.Kept > was.Kept && !s.book.outside {
		return fmt.Errorf("the goal shrinks: %d pods may be updated, and %d are", s.allowed(), updated)
	}
	s.book.outside = false
	return nil
}

// reached is the batch that may be under way: one look goes on to the next when all that this one waits for is there.
func (s *scene) reached() int {
	plan, batch := s.seenPlan(), int(s.trait.Status.CurrentBatch)
	state := s.trait.Status.BatchRollingState
	verified := s.trait.Status.RollingState == rolloutv1alpha1.RollingInBatchesState &&
		(state == rolloutv1alpha1.BatchFinalizingState || state == rolloutv1alpha1.BatchReadyState)
	for ; !isLast(plan, batch); batch++ {
		if p := plan.BatchPartition; p != nil && batch >= int(*p) || !verified && s.batchDone(s.trait, plan, batch) != nil {
			break
		}
		if s.prepared(rolloutv1alpha1.PostBatchRolloutHook, batch) != nil || s.prepared(rolloutv1alpha1.PreBatchRolloutHook, batch+1) != nil {
			break
		}
		verified = false
	}
	return batch
}

func (s *scene) seenPlan() *rolloutv1alpha1.RolloutPlan {
	if s.saw != nil {
		return &s.saw.Spec.RolloutPlan
	}
	return &s.trait.Spec.RolloutPlan
}

// scaled: never further than the goal of the batch, unless others went there.
func (s *scene) scaled(was workload.Spec) error {
	goal := s.scale(s.seenPlan(), s.batch)
	if s.done(s.Replicas) > max(goal, s.done(was.Replicas)) {
		return fmt.Errorf("it is asked for %d pods: %d are done, and the goal of batch %d is %d", s.Replicas, s.done(s.Replicas), s.batch+1, goal)
	}
	if s.done(s.Replicas) < min(goal, s.done(was.Replicas)) {
		return fmt.Errorf("the goal shrinks: it is asked for %d pods after %d", s.Replicas, was.Replicas)
	}
	return nil
}

// tookTurns: the one that gives waits for the one that takes.
func (s *scene) tookTurns(was workload.Spec) error {
	target, other := s.counterpart()
	if other == nil || other.book == nil {
		return errors.New("one of the two is not held")
	}
	goal, total := s.pair(s.seenPlan(), s.batch, other)
	switch {
	case target && s.Replicas > max(goal, was.Replicas):
		return fmt.Errorf("the target is asked for %d pods, and the goal of batch %d of %d pods is %d", s.Replicas, s.batch+1, total, goal)
	case target && s.Replicas < min(goal, was.Replicas):
		return fmt.Errorf("the goal shrinks: the target is asked for %d pods after %d", s.Replicas, was.Replicas)
	case !target && s.Replicas < min(total-goal, was.Replicas):
		return fmt.Errorf("the source is left %d pods, and the goal of batch %d of %d pods is %d", s.Replicas, s.batch+1, total, goal)
	}
	return s.serves(was, other, total)
}

// serves: with IncreaseFirst no pod is taken before another one serves in its place. A batch may leave some unavailable.
func (s *scene) serves(was workload.Spec, other *scene, total int) error {
	plan := s.seenPlan()
	if plan.RolloutStrategy == rolloutv1alpha1.DecreaseFirst || s.Replicas >= was.Replicas {
		return nil
	}
	tolerated := toleratedIn(plan, s.batch, total)
	if serving := s.Replicas + int(other.fields().Status.Available); serving < total-tolerated {
		return fmt.Errorf("it is left %d pods, so that %d serve of %d, and %d may be unavailable", s.Replicas, serving, total, tolerated)
	}
	return nil
}

// broughtBack: a template from before comes back only where that was asked for, and moves no pod.
func (s *scene) broughtBack(was workload.Spec) error {
	st := &s.trait.Status
	if st.Ending != rolloutv1alpha1.RevertEnding || st.RollingState != rolloutv1alpha1.RolloutFailingState && st.RollingState != rolloutv1alpha1.RolloutDeletingState {
		return fmt.Errorf("its template changes to that of %s in the state %q", s.App, stateOf(s.trait))
	}
	stay := max(0, s.Replicas-len(s.pods)) // those that are missing do not move
	for _, pod := range s.pods {
		if world.Running(pod).App != was.App { // on the template from before, or on one that is older still
			stay++
		}
	}
	if !s.kind.daemons() && s.allowed() > stay {
		return fmt.Errorf("its template comes back, and %d pods may have it when %d do", s.allowed(), stay)
	}
	return nil
}

// movedBack: outside of batches, numbers move only where a rollout is reverted, batch by batch.
func (s *scene) movedBack(was workload.Spec) error {
	st := &s.trait.Status
	reverts := st.RollingState == rolloutv1alpha1.RolloutFailingState || st.RollingState == rolloutv1alpha1.RolloutDeletingState
	if !reverts || st.Ending != rolloutv1alpha1.RevertEnding {
		return fmt.Errorf("it moves in the state %q: replicas %d -> %d, %d -> %d kept", stateOf(s.trait), was.Replicas, s.Replicas, was.Kept, s.Kept)
	}
	batch := s.reverted(was)
	switch modeOf(s.trait) {
	case rolloutv1alpha1.InPlaceMode:
		updated, _ := s.updated()
		told, _ := s.told()
		if back := s.total() - s.inPlace(&s.book.plan, batch-1); s.allowed() > max(back, updated, told) {
			return fmt.Errorf("%d pods may go back, and %d may until batch %d is reverted", s.allowed(), back, batch+1)
		}
	case rolloutv1alpha1.TwoObjectsMode:
		if _, other := s.counterpart(); other != nil && other.book != nil {
			_, total := s.pair(&s.book.plan, 0, other)
			return s.serves(was, other, total)
		}
	case rolloutv1alpha1.ScaleMode:
		if goal := s.scale(&s.book.plan, batch-1); s.done(s.Replicas) < goal {
			return fmt.Errorf("it goes back to %d pods, which leaves %d done, and batch %d began with %d", s.Replicas, s.done(s.Replicas), batch+1, goal)
		}
	}
	return nil
}

// reverted is the batch that may be reverted now: one look goes on to the one before when all that this one waits for is there.
func (s *scene) reverted(was workload.Spec) int {
	batch := int(s.trait.Status.CurrentBatch)
	for ; batch > 0; batch-- {
		switch modeOf(s.trait) {
		case rolloutv1alpha1.InPlaceMode:
			_, serving := s.updated()
			_, told := s.told()
			if max(serving, told) < s.total()-s.inPlace(&s.book.plan, batch-1) {
				return batch
			}
		case rolloutv1alpha1.ScaleMode:
			status := s.fields().Status
			if goal := s.scale(&s.book.plan, batch-1); s.done(was.Replicas) > goal || int(min(status.Pods, status.Ready)) != was.Replicas {
				return batch
			}
		case rolloutv1alpha1.TwoObjectsMode:
			return batch
		}
	}
	return batch
}

// podDeletion: of a DaemonSet the rollout deletes old pods itself, and of a StatefulSet those that are stuck.
func (j *judge) podDeletion(w api.Write) error {
	owner := metav1.GetControllerOfNoCopy(w.After)
	if owner == nil || j.kind.stored != api.DaemonSets && j.kind.stored != api.BuiltInStatefulSets {
		return nil // the controllers of the other kinds delete their own
	}
	workload := j.Server.Get(j.kind.stored, keyOf(w, owner.Name))
	if workload == nil || workload.GetUID() != owner.UID {
		return errors.New("a pod is deleted that belongs to nobody")
	}
	s := j.scene(workload)
	switch {
	case s.book == nil || !s.Held:
		return errors.New("a pod is deleted of a workload that is not held")
	case s.trait == nil:
		return errors.New("a pod is deleted, and there is no rollout")
	case j.holdsStill() && s.trait.Status.RollingState == rolloutv1alpha1.RollingInBatchesState:
		return errors.New("a pod is deleted in a pause")
	case s.trait.Status.RollingState == rolloutv1alpha1.RolloutFailingState, s.trait.Status.RollingState == rolloutv1alpha1.RolloutDeletingState:
		return s.movedBack(s.Spec)
	}
	s.batch = s.reached()
	return s.movedInPlace(s.Spec)
}

func keyOf(w api.Write, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.After.GetNamespace(), Name: name}
}
