// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/test/simulation/api"
)

const (
	// patience is how many things may happen before a calm world must have come to rest.
	patience = 4000
	// horizon is how far the clock is moved while waiting for that. It is beyond every deadline that a set can have here.
	horizon = 2 * time.Hour
	// quiet is how long the manager must leave pods and revisions alone for the world to be at rest although pods still crash. It is
	// longer than any deadline here.
	quiet = 15 * time.Minute
)

// settle lets things happen, without new mischief, until nothing happens by itself any more. Pods that crash for ever and
// deadlines that are far away do not count as something that happens: only what the manager does to pods and revisions counts.
func (s *simulation) settle() error {
	s.calm = true
	defer func() { s.calm = false }()
	start, quietSince, judged := s.clock.Now(), s.clock.Now(), len(s.server.Log())
	for range patience {
		if s.judge.err != nil {
			return s.judge.err
		}
		for _, w := range s.server.Log()[judged:] {
			if w.Actor == manager && w.Kind != api.CloneSets {
				quietSince = s.clock.Now()
			}
		}
		judged = len(s.server.Log())
		if s.next() {
			continue
		}
		at, some := s.nextAlarm()
		if !some || s.clock.Now().Sub(quietSince) > quiet {
			return nil
		}
		if at.Sub(start) > horizon {
			return fmt.Errorf("the world does not come to rest within %s: the manager still writes; %s", horizon, s.summary())
		}
		s.advance(max(at.Sub(s.clock.Now()), 0))
	}
	return fmt.Errorf("the world does not come to rest within %d steps; %s", patience, s.summary())
}

// ending stops the mischief, sometimes watches an unhealthy release come to a standstill, makes the last edit, and expects that
// the set becomes what was asked for.
func (s *simulation) ending() error {
	if s.random.IntN(3) == 0 && s.set() != nil {
		s.tell("-- the storm is over; whatever was asked for last must come to a standstill")
		if err := s.settle(); err != nil {
			return fmt.Errorf("coming to a standstill: %w", err)
		}
	}
	if s.set() != nil && (s.random.IntN(3) == 0 || s.about(Hooked) && s.random.IntN(2) == 0) {
		if err := s.overtaken(); err != nil {
			return err
		}
	}
	s.tell("-- the last edit")
	s.goodEnd()
	if err := s.settle(); err != nil {
		return fmt.Errorf("converging: %w", err)
	}
	if err := s.converged(); err != nil {
		return fmt.Errorf("after everything has settled: %w; %s", err, s.summary())
	}
	if err := s.undisturbed(); err != nil {
		return fmt.Errorf("after everything has settled: %w; %s", err, s.summary())
	}
	return nil
}

// converged compares the world with what the set asks for.
func (w *world) converged() error {
	set := w.set()
	s := w.judge.scene(api.Write{Kind: api.CloneSets}, set)
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	var old, all int
	for _, pod := range w.pods() {
		switch {
		case metav1.GetControllerOfNoCopy(pod) == nil:
			continue // released
		case !member(pod, set.UID):
			bad("pod %s does not match the selector and was not released", pod.Name)
		case pod.DeletionTimestamp != nil:
			bad("pod %s does not go away", pod.Name)
		case !active(pod):
			continue // finished pods stay, up to a number
		}
		if !active(pod) || !member(pod, set.UID) {
			continue
		}
		all++
		// A pod that the partition keeps may have been left in an update that its node cannot finish.
		if !s.old(pod) || stateOf(pod) != kruisev1alpha1.LifecycleUpdating {
			problems = append(problems, atRest(pod))
		}
		if s.old(pod) {
			old++
			continue
		}
		runs, wanted := running(pod), s.wants.visible()
		if s.Unavailable == 0 { // a resize whose patch was refused is only undone where a pod may be unavailable for it
			runs.CPU, runs.Memory = wanted.CPU, wanted.Memory
		}
		if runs != wanted {
			bad("pod %s carries the update revision and runs %q", pod.Name, running(pod))
		}
		if !available(pod, set.Spec.MinReadySeconds, w.clock.Now()) {
			bad("pod %s is not available", pod.Name)
		}
		if pod.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "" {
			bad("pod %s is still in a grace period", pod.Name)
		}
	}
	if all != s.Replicas {
		bad("%d active pods of %d", all, s.Replicas)
	}
	if old > s.Partition {
		bad("%d pods of old revisions, with partition %d", old, s.Partition)
	}
	problems = append(problems, w.statusConverged(s), w.claimsConverged(s), w.historyConverged(s))
	return errors.Join(problems...)
}

func (w *world) statusConverged(s *scene) error {
	status := &s.set.Status
	if status.ObservedGeneration != s.set.Generation {
		return fmt.Errorf("generation %d is observed, %d is there", status.ObservedGeneration, s.set.Generation)
	}
	if want, got := s.tally(w.pods()), told(status); want != got {
		return fmt.Errorf("the status tells %+v, the truth is %+v", got, want)
	}
	if r, exists := w.judge.release(status.UpdateRevision); !exists || r != s.wants {
		return fmt.Errorf("update revision %q does not hold the template", status.UpdateRevision)
	}
	if int(status.UpdatedReplicas) == s.Replicas && status.CurrentRevision != status.UpdateRevision {
		return fmt.Errorf("current revision %s, update revision %s, with %d of %d pods updated", status.CurrentRevision, status.UpdateRevision, status.UpdatedReplicas, s.Replicas)
	}
	return nil
}

func (w *world) historyConverged(s *scene) error {
	live := map[string]bool{s.set.Status.UpdateRevision: true, s.set.Status.CurrentRevision: true}
	for _, pod := range s.pods {
		if active(pod) {
			live[pod.Labels[kruisev1alpha1.LabelRevision]] = true
		}
	}
	idle := 0
	for _, o := range w.server.List(api.Revisions) {
		if !live[o.GetName()] {
			idle++
		}
	}
	if limit := int(ptr.Deref(s.set.Spec.RevisionHistoryLimit, 10)); idle > limit {
		return fmt.Errorf("%d revisions that nothing uses are kept, the limit is %d", idle, limit)
	}
	return nil
}

// undisturbed reconciles a settled world once more, also with a new process: the plan must be empty, and nothing may be written.
func (s *simulation) undisturbed() error {
	for _, fresh := range []bool{false, true} {
		if fresh {
			s.manager.start(nil)
		}
		before := len(s.server.Log())
		var planned *plan.Plan
		s.manager.planned = func(p plan.Plan) { planned = &p }
		if err := s.manager.reconcile(fault{}); err != nil {
			return err
		}
		switch {
		case planned == nil:
			return fmt.Errorf("a settled set is not looked at")
		case len(planned.Steps) > 0:
			return fmt.Errorf("a settled set gets a plan: %T of %s, because %s", planned.Steps[0], planned.Steps[0].Subject(), planned.Steps[0].Why())
		case len(s.server.Log()) > before:
			w := s.server.Log()[before]
			return fmt.Errorf("a settled set is written to: %s of %s %s", w.Verb, w.Kind, w.After.GetName())
		}
	}
	return nil
}
