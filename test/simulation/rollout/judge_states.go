// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// traitWrite judges what the rollout says of itself, and that it is there as long as it holds something.
func (j *judge) traitWrite(w api.Write) error {
	before, after := typed(w.Before), typed(w.After)
	if len(workload.Traces(before)) > 0 && (len(workload.Traces(after)) == 0 || w.Verb == api.Remove) {
		if o := j.heldBy(after.UID); o != nil {
			return fmt.Errorf("the finalizer goes, and %s is held", o.GetName())
		}
	}
	if w.Subresource != api.Status || w.Verb == api.Remove {
		return nil
	}
	was, is := &before.Status, &after.Status
	if is.RollingState.IsFinal() && !was.RollingState.IsFinal() {
		if o := j.heldBy(after.UID); o != nil {
			return fmt.Errorf("it has ended, and %s is held", o.GetName())
		}
	}
	if is.Run == was.Run && is.RollingState == rolloutv1alpha1.RollingInBatchesState && is.CurrentBatch < was.CurrentBatch {
		return fmt.Errorf("it goes from batch %d to %d", was.CurrentBatch+1, is.CurrentBatch+1)
	}
	if err := j.numbers(after); err != nil {
		return err
	}
	if was.BatchRollingState == rolloutv1alpha1.BatchVerifyingState && was.RollingState == rolloutv1alpha1.RollingInBatchesState && j.left(was, is) {
		return j.batchEnds(before)
	}
	return nil
}

// left: a batch is done.
func (j *judge) left(was, is *rolloutv1alpha1.RolloutStatus) bool {
	switch is.RollingState {
	case rolloutv1alpha1.FinalisingState, rolloutv1alpha1.RolloutSucceedState:
		return true
	case rolloutv1alpha1.RollingInBatchesState:
		return is.CurrentBatch > was.CurrentBatch || is.BatchRollingState == rolloutv1alpha1.BatchFinalizingState || is.BatchRollingState == rolloutv1alpha1.BatchReadyState
	default:
		return false
	}
}

// heldBy is a workload that a rollout holds; nil for none.
func (j *judge) heldBy(uid types.UID) client.Object {
	for _, o := range j.Server.List(j.kind.stored) {
		for _, ref := range o.GetOwnerReferences() {
			if ref.UID == uid {
				return o
			}
		}
	}
	return nil
}

// target is the workload that a rollout drives, as it is stored; nil for none.
func (j *judge) target(t *rolloutv1alpha1.RolloutTrait) *scene {
	if t.Status.Running == nil {
		return nil
	}
	o := j.Server.Get(j.kind.stored, types.NamespacedName{Namespace: world.Namespace, Name: t.Status.Running.TargetRef.Name})
	if o == nil {
		return nil
	}
	return j.scene(o)
}

// numbers: no more pods are updated than may be, and what is not updated is never said to be. Where pods are counted one by one, that is the truth of the moment; where a status
// is believed, what that says.
func (j *judge) numbers(t *rolloutv1alpha1.RolloutTrait) error {
	s := j.target(t)
	if s == nil || t.Status.RollingState != rolloutv1alpha1.RollingInBatchesState || modeOf(t) != rolloutv1alpha1.InPlaceMode {
		return nil
	}
	updated, serving := s.updated()
	spreads := j.kind.stored == api.CafeDeployments // it gives its cells their pods and their shares in writes of their own, which its own judge looks at
	if b := s.book; b != nil && !b.outside && !j.kind.daemons() && !spreads && updated > s.allowed()+b.spared {
		return fmt.Errorf("%d pods are updated, and %d may be", updated, s.allowed())
	}
	if !j.kind.positions() && !j.kind.daemons() {
		toldUpdated, toldServing := s.told()
		updated, serving = max(updated, toldUpdated), max(serving, toldServing)
	}
	if s.book != nil && s.book.outside {
		return nil
	}
	if said := int(t.Status.UpgradedReplicas); said > updated {
		return fmt.Errorf("it says that %d pods are updated, and %d are", said, updated)
	}
	if said := int(t.Status.UpgradedReadyReplicas); said > serving {
		return fmt.Errorf("it says that %d updated pods are available, and %d are", said, serving)
	}
	return nil
}

// batchEnds: its pods are available, its metrics were in range, and nothing is paused.
func (j *judge) batchEnds(before *rolloutv1alpha1.RolloutTrait) error {
	batch := int(before.Status.CurrentBatch)
	if j.holdsStill() {
		return fmt.Errorf("batch %d ends in a pause", batch+1)
	}
	s := j.target(before)
	if s == nil || s.book == nil {
		return fmt.Errorf("batch %d ends, and its workload is not held", batch+1)
	}
	if err := s.batchDone(before, s.seenPlan(), batch); err != nil {
		return fmt.Errorf("batch %d ends: %w", batch+1, err)
	}
	return nil
}

// batchDone says what a batch has to wait for; nil for nothing.
func (s *scene) batchDone(t *rolloutv1alpha1.RolloutTrait, plan *rolloutv1alpha1.RolloutPlan, batch int) error {
	if err := s.measuredWell(t, batch); err != nil {
		return err
	}
	switch modeOf(t) {
	case rolloutv1alpha1.InPlaceMode:
		_, serving := s.updated()
		_, told := s.told()
		if need := s.inPlace(plan, batch) - toleratedIn(plan, batch, s.total()); max(serving, told) < need {
			return fmt.Errorf("%d updated pods are available, and it needs %d", serving, need)
		}
	case rolloutv1alpha1.ScaleMode:
		return s.scaleDone(t, plan, batch)
	case rolloutv1alpha1.TwoObjectsMode:
		isTarget, other := s.counterpart()
		if other == nil || other.book == nil {
			return errors.New("one of the two is not held")
		}
		target, source := s, other
		if !isTarget {
			target, source = other, s
		}
		goal, total := s.pair(plan, batch, other)
		if n := int(target.fields().Status.Available); n < goal-toleratedIn(plan, batch, total) {
			return fmt.Errorf("the target has %d available pods, and it needs %d", n, goal)
		}
		if n := int(source.fields().Status.Pods); n > total-goal {
			return fmt.Errorf("the source has %d pods, and it leaves %d", n, total-goal)
		}
	}
	return nil
}

func (s *scene) scaleDone(t *rolloutv1alpha1.RolloutTrait, plan *rolloutv1alpha1.RolloutPlan, batch int) error {
	to := int(valueOf(t.Status.Running.TargetSize))
	goal, status := s.scale(plan, batch), s.fields().Status
	if to >= s.book.from {
		if need := s.book.from + goal - toleratedIn(plan, batch, s.done(to)); int(status.Ready) < need {
			return fmt.Errorf("%d pods are ready, and it needs %d", status.Ready, need)
		}
		return nil
	}
	if leaves := s.book.from - goal; int(status.Pods) > leaves {
		return fmt.Errorf("there are %d pods, and it leaves %d", status.Pods, leaves)
	}
	return nil
}

// measuredWell: each metric of the plan was in range in this batch, or a person lets it pass.
func (j *judge) measuredWell(t *rolloutv1alpha1.RolloutTrait, batch int) error {
	if j.saw == nil || j.approvedSome(t, fmt.Sprintf("/%d/batchVerifying", batch)) {
		return nil
	}
	for _, m := range j.saw.Spec.RolloutPlan.CanaryMetric {
		begin, found := fmt.Sprintf("/%d/%s/", batch, m.Name), false
		run := fmt.Sprintf("%s/%d.", t.UID, t.Status.Run) // a batch that has ended is not measured again when a later step is taken up again
		for key, good := range j.inRange {
			found = found || good && strings.HasPrefix(key, run) && strings.Contains(key, begin)
		}
		if !found {
			return fmt.Errorf("metric %s was not in range", m.Name)
		}
	}
	return nil
}

// clean looks at every object there is: no rollout that has ended has left anything on it.
func clean(w *world.World) error {
	var errs []error
	for _, stored := range api.Kinds() {
		for _, o := range w.Server.List(stored) {
			if left := workload.Traces(o); len(left) > 0 {
				errs = append(errs, fmt.Errorf("%s %s has %s", stored, o.GetName(), strings.Join(left, ", ")))
			}
		}
	}
	return errors.Join(errs...)
}
