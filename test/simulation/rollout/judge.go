// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// judge keeps a book of each workload that is held, from the history of the API alone, and compares each write of the rollout with it.
type judge struct {
	*world.World
	*world.Clerk
	kind *kind
	view *api.Cache
	// saw is the rollout as the running pass sees it; nil for none.
	saw   *rolloutv1alpha1.RolloutTrait
	books map[types.UID]*book
	// passed are the keys of webhooks that have passed, and inRange those of samples that were in range.
	passed, inRange map[string]bool
	approved        map[string]bool // what people have said to let pass
	// rough: pods are lost by other things than the rollout, so that what serves cannot be held against it.
	rough bool
}

func newJudge(w *world.World, k *kind) *judge {
	j := &judge{World: w, kind: k, books: map[types.UID]*book{}, passed: map[string]bool{}, inRange: map[string]bool{}, approved: map[string]bool{}}
	j.Clerk = world.NewClerk(w, j.write)
	return j
}

// Begin starts a pass of one of the controllers, which looks at view.
func (j *judge) Begin(view *api.Cache) {
	j.Look()
	j.view, j.saw = view, typed(view.Peek(api.RolloutTraits, world.TheSet))
	if j.saw != nil {
		j.approved[j.saw.Annotations[rolloutv1alpha1.AnnotationApprove]] = true
	}
}

func (j *judge) Read(client.Object) {}

// Reborn: what is decided about workloads is read live, so an old view of the rollout excuses nothing.
func (j *judge) Reborn() {}

// called and measured are told of the answers of webhooks and metrics.
func (j *judge) called(key string, passed bool)    { j.passed[key] = passed }
func (j *judge) measured(key string, inRange bool) { j.inRange[key] = inRange }

// write judges a write and enters it into the books.
func (j *judge) write(w api.Write) error {
	switch {
	case w.Kind == api.RolloutTraits && w.Actor == world.Actor:
		return j.traitWrite(w)
	case w.Kind == j.kind.stored && w.Subresource == api.Main && w.Verb == api.Update:
		if w.Actor == world.Actor {
			return j.workloadWrite(w)
		}
		j.byOthers(w)
	case w.Kind == j.kind.stored && w.Verb == api.Remove:
		delete(j.books, w.After.GetUID())
	case w.Kind == api.Pods && w.Verb == api.Mark && w.Actor == world.Actor && j.kind.stored != api.CloneSets:
		return j.podDeletion(w)
	case w.Kind == api.Pods && (w.Actor == "user" || w.Actor == "node"):
		j.misfortune(w)
	}
	return nil
}

// byOthers notes what a person or an autoscaler has changed in a workload that is held.
func (j *judge) byOthers(w api.Write) {
	b := j.books[w.After.GetUID()]
	if b == nil {
		return
	}
	was, is := workload.SpecOf(w.Before), workload.SpecOf(w.After)
	b.drift += is.Replicas - was.Replicas
	b.spared += max(is.Replicas-was.Replicas, was.Replicas-is.Replicas)
	if was.App != is.App {
		b.outside = true
	}
}

// misfortune notes that a pod has ended: the one that takes its place is on the newest template where nothing holds it back.
func (j *judge) misfortune(w api.Write) {
	before, is := w.Before.(*corev1.Pod)
	if !is || !world.Active(before) || w.Verb != api.Remove && world.Active(pod(w.After)) {
		return
	}
	j.rough = true
	for _, b := range j.books {
		b.spared++
	}
}

// workloadWrite judges what the rollout has changed in a workload.
func (j *judge) workloadWrite(w api.Write) error {
	was, is := workload.SpecOf(w.Before), workload.SpecOf(w.After)
	s := j.scene(w.After)
	if s.trait == nil {
		return errors.New("it is written to, and there is no rollout")
	}
	switch {
	case !was.Held && is.Held:
		return s.claimed(w.Before)
	case was.Held && !is.Held:
		defer delete(j.books, w.After.GetUID())
		return s.released(was)
	case was == is:
		return nil
	}
	return s.moved(was)
}

// claimed: the stored status names what is held, and has its finalizer; and no pod moves by it.
func (s *scene) claimed(before client.Object) error {
	st := &s.trait.Status
	if st.RollingState != rolloutv1alpha1.InitializingState {
		return fmt.Errorf("it is claimed in the state %q", stateOf(s.trait))
	}
	r := st.Running
	if r == nil || r.TargetRef.Name != s.workload.GetName() && (r.SourceRef == nil || r.SourceRef.Name != s.workload.GetName()) {
		return errors.New("it is claimed, and the stored status does not name it")
	}
	if len(workload.Traces(s.trait)) == 0 {
		return errors.New("it is claimed by a rollout without its finalizer")
	}
	if s.holdsStill() {
		return errors.New("it is claimed in a pause")
	}
	if err := s.prepared(rolloutv1alpha1.InitializeRolloutHook, 0); err != nil {
		return err
	}
	updated, _ := s.updated()
	told, _ := s.judge.scene(before).told() // what it said before its spec changed
	if r.Mode == rolloutv1alpha1.InPlaceMode && !s.kind.daemons() && s.allowed() > max(updated, told) {
		return fmt.Errorf("pods move by the claim: %d may be updated, and %d are", s.allowed(), updated)
	}
	from := workload.SpecOf(before).Replicas
	if s.kind.daemons() {
		from = int(before.(*appsv1.DaemonSet).Status.DesiredNumberScheduled)
	}
	s.books[s.workload.GetUID()] = &book{from: from, spared: max(0, updated-s.allowed()), plan: *s.trait.Spec.RolloutPlan.DeepCopy()}
	return nil
}

// released: only a rollout that ends lets go; one that has not succeeded takes back what it has allowed and no pod has used.
func (s *scene) released(was workload.Spec) error {
	if left := workload.Traces(s.workload); len(left) > 0 {
		return fmt.Errorf("it is released with %v", left)
	}
	switch s.trait.Status.RollingState {
	case rolloutv1alpha1.FinalisingState:
		if s.Partition && s.Kept > 0 && modeOf(s.trait) == rolloutv1alpha1.InPlaceMode {
			return fmt.Errorf("the rollout succeeds, and %d pods are kept", s.Kept)
		}
		return nil
	case rolloutv1alpha1.RolloutFailingState, rolloutv1alpha1.RolloutAbandoningState, rolloutv1alpha1.RolloutDeletingState:
	default:
		return fmt.Errorf("it is released in the state %q", stateOf(s.trait))
	}
	if was.Replicas != s.Replicas {
		return fmt.Errorf("it is released, and asked for %d pods instead of %d", s.Replicas, was.Replicas)
	}
	if s.trait.Status.Ending == rolloutv1alpha1.RevertEnding || modeOf(s.trait) != rolloutv1alpha1.InPlaceMode || s.kind.daemons() {
		return nil
	}
	updated, _ := s.updated()
	told, _ := s.told()
	if s.allowed() > max(updated, told) {
		return fmt.Errorf("it is released, and lets %d pods be updated when %d are", s.allowed(), updated)
	}
	return nil
}

// holdsStill tells whether the rollout, as the pass sees it, is paused.
func (j *judge) holdsStill() bool {
	return j.saw != nil && j.saw.Spec.RolloutPlan.Paused && j.saw.DeletionTimestamp == nil
}

// prepared: the webhooks of a type have passed in this step, or a person lets them.
func (s *scene) prepared(of rolloutv1alpha1.HookType, batch int) error {
	if s.saw == nil {
		return nil
	}
	for _, h := range s.saw.Spec.RolloutPlan.RolloutWebhooks {
		if h.Type != of {
			continue
		}
		place, step := "/initializing", "/initializing"
		switch of {
		case rolloutv1alpha1.PreBatchRolloutHook:
			place, step = fmt.Sprintf("/batchInitializing-%d", batch), fmt.Sprintf("/%d/batchInitializing", batch)
		case rolloutv1alpha1.PostBatchRolloutHook:
			place, step = fmt.Sprintf("/batchFinalizing-%d", batch), fmt.Sprintf("/%d/batchFinalizing", batch)
		case rolloutv1alpha1.InitializeRolloutHook, rolloutv1alpha1.FinalizeRolloutHook:
		}
		begin, end := fmt.Sprintf("%s/%d.", s.trait.UID, s.trait.Status.Run), place+"/"+string(of)+"/plan/"+h.Name
		if !s.passedSome(begin, end) && !s.approvedSome(s.trait, step) {
			return fmt.Errorf("webhook %s (%s) has not passed", h.Name, of)
		}
	}
	return nil
}

// approvedSome tells whether a person has let a step of this run pass.
func (j *judge) approvedSome(t *rolloutv1alpha1.RolloutTrait, step string) bool {
	for value := range j.approved {
		if strings.HasPrefix(value, fmt.Sprintf("%d.", t.Status.Run)) && strings.HasSuffix(value, step) {
			return true
		}
	}
	return false
}

func (j *judge) passedSome(begin, end string) bool {
	for key, passed := range j.passed {
		if passed && strings.HasPrefix(key, begin) && strings.HasSuffix(key, end) {
			return true
		}
	}
	return false
}

func pod(o client.Object) *corev1.Pod {
	p, _ := o.(*corev1.Pod)
	return p
}
