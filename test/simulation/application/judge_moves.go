// SPDX-License-Identifier: Apache-2.0

package application

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// run is what is noted of one run of a rollout: where it was to go when it was first seen, and by how much others have changed that.
type run struct{ size, drift int }

func (j *judge) runOf(r *oamv1beta1.AppRollout) *run {
	key := fmt.Sprintf("%s/%d", r.UID, r.Status.Run)
	if j.runs[key] == nil {
		j.runs[key] = &run{size: int(r.Status.RolloutTargetSize)}
	}
	return j.runs[key]
}

func isRolling(r *oamv1beta1.AppRollout) bool {
	return r.Status.RollingState == rolloutv1alpha1.RollingInBatchesState
}

// goesBack tells whether a rollout may undo what it has done.
func goesBack(r *oamv1beta1.AppRollout) bool {
	return r.Status.RollingState == rolloutv1alpha1.RolloutFailingState || r.Status.RollingState == rolloutv1alpha1.RolloutDeletingState
}

// workloadWrite judges what the manager has done to a workload.
func (j *judge) workloadWrite(w api.Write) error {
	is := runnerOf(w.After)
	switch w.Verb {
	case api.Create:
		return j.made(is)
	case api.Remove, api.Mark:
		return j.takenAway(is)
	case api.Update:
		if w.Subresource == api.Main {
			return j.changed(runnerOf(w.Before), is)
		}
	}
	return nil
}

// made: a new workload that is to be rolled out has no pods yet, and it is the application's.
func (j *judge) made(is runner) error {
	if is.controller != oamv1beta1.ApplicationKind {
		return fmt.Errorf("it is made with the controller %q", is.controller)
	}
	if j.rolls() && is.Replicas > 0 {
		return fmt.Errorf("it is made with %d pods at once", is.Replicas)
	}
	return nil
}

// rolls tells whether the pass sees an application that goes in batches.
func (j *judge) rolls() bool {
	return j.saw != nil && (j.saw.Spec.RolloutPlan != nil || j.saw.IsRolloutTemplate())
}

// takenAway: a workload goes when others of its component have all their pods, or when nobody wants the component any more, as far as
// the pass can see.
func (j *judge) takenAway(is runner) error {
	app := j.application()
	if app == nil || app.DeletionTimestamp != nil || j.rough || is.Replicas == 0 {
		return nil
	}
	if saw := j.saw; saw != nil && (saw.DeletionTimestamp != nil || !hasComponent(saw, is.component)) {
		return nil
	}
	for _, other := range of(j.World, is.component) {
		if other.object.GetUID() != is.object.GetUID() && other.Replicas > 0 && other.available >= other.Replicas {
			return nil
		}
	}
	return fmt.Errorf("it is taken away with %d pods, and no other one of component %s has all of its pods", is.Replicas, is.component)
}

func hasComponent(a *oamv1beta1.Application, name string) bool {
	for i := range a.Spec.Components {
		if a.Spec.Components[i].Name == name {
			return true
		}
	}
	return false
}

// changed judges a change of what is there.
func (j *judge) changed(was, is runner) error {
	if is.Replicas != was.Replicas {
		delete(j.sizedBy, is.object.GetUID())
	}
	if app := j.application(); app != nil && owns(was.object, app.UID) && !owns(is.object, app.UID) {
		return errors.New("the application is not among its owners any more")
	}
	if is.isInPlace() && j.rolls() {
		if err := j.updated(was, is); err != nil {
			return err
		}
	}
	if was.Replicas == is.Replicas || !j.rolls() {
		return nil
	}
	r := j.holder(is.object)
	switch {
	case r == nil:
		return fmt.Errorf("it is asked for %d pods after %d, and nobody holds it", is.Replicas, was.Replicas)
	case r.Status.Running == nil:
		return fmt.Errorf("it is asked for %d pods after %d by a rollout that has not begun", is.Replicas, was.Replicas)
	case goesBack(r):
		return nil // it goes back: package test/simulation/rollout judges how
	case r.Status.Running.Mode == rolloutv1alpha1.ScaleMode:
		return j.scaled(r, was, is)
	case r.Status.Running.Mode == rolloutv1alpha1.TwoObjectsMode:
		return j.tookTurns(r, was, is)
	}
	return fmt.Errorf("it is asked for %d pods after %d by a rollout in place", is.Replicas, was.Replicas)
}

// updated: a new template moves no pod, and later no more pods may have it than the batch allows. Of one that comes back, the pods that
// have not left it count, and those on one that is older still: nobody tells them apart.
func (j *judge) updated(was, is runner) error {
	on := j.on(is)
	if !equality.Semantic.DeepEqual(templateOf(was.object), templateOf(is.object)) {
		if r := j.holder(is.object); r != nil && goesBack(r) {
			on = max(is.Replicas, len(j.PodsOf(was.object))) - j.on(was)
		}
		if is.allowed() > on {
			return fmt.Errorf("it gets a new template, and %d pods may have it at once; %d have", is.allowed(), on)
		}
		return nil
	}
	if is.allowed() <= was.allowed() || is.Replicas != was.Replicas || is.allowed() <= max(on, was.updated) {
		return nil
	}
	r := j.holder(is.object)
	if r == nil {
		r = j.holder(was.object) // it lets go
	}
	switch {
	case r == nil:
		return fmt.Errorf("%d pods may be updated after %d, and nobody holds it", is.allowed(), was.allowed())
	case r.Status.RollingState == rolloutv1alpha1.FinalisingState, goesBack(r):
		return nil
	}
	all := j.batches(r)
	goalOf := func(batch int) int { return all.goal(is.Replicas, batch) }
	batch := j.reached(r, func(batch int) bool {
		serving := was.updatedAvailable
		for _, pod := range j.PodsOf(is.object) {
			if world.Running(pod).App == is.App && world.Available(pod, 0, j.Clock.Now()) {
				serving++
			}
		}
		return serving-min(was.updatedAvailable, serving-was.updatedAvailable) >= goalOf(batch)
	})
	if goal := goalOf(batch); is.allowed() > goal {
		return fmt.Errorf("%d pods may be updated, and the goal of batch %d of %d is %d", is.allowed(), batch+1, len(all), goal)
	}
	return nil
}

// on is how many pods have the template of a workload in place.
func (j *judge) on(is runner) int {
	n := 0
	for _, pod := range j.PodsOf(is.object) {
		if world.Running(pod).App == is.App {
			n++
		}
	}
	return n
}

func templateOf(o client.Object) any {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return o.Spec.Template
	case *kruisev1alpha1.CloneSet:
		return o.Spec.Template
	}
	return nil
}

// reached is the batch that may be under way: one look goes on to the next when all that this one waits for is there. What was there when
// this one was done may be gone since.
func (j *judge) reached(r *oamv1beta1.AppRollout, isDone func(batch int) bool) int {
	batch, last := int(r.Status.CurrentBatch), len(j.batches(r))-1
	partition := last
	if saw := j.plans[r.UID]; saw != nil && saw.Spec.RolloutPlan.BatchPartition != nil {
		partition = int(*saw.Spec.RolloutPlan.BatchPartition)
	}
	state := r.Status.BatchRollingState
	verified := isRolling(r) && (state == rolloutv1alpha1.BatchFinalizingState || state == rolloutv1alpha1.BatchReadyState)
	for batch < min(last, partition) && (verified || isDone(batch)) {
		batch++
		verified = false
	}
	return batch
}

// scaled: never further than the goal of the batch.
func (j *judge) scaled(r *oamv1beta1.AppRollout, was, is runner) error {
	from, to := int(r.Status.RolloutOriginalSize), int(ptr.Deref(r.Status.Running.TargetSize, int32(was.Replicas)))
	all := j.batches(r)
	total, sign := to-from, 1
	if total < 0 {
		total, sign = -total, -1
	}
	batch := j.reached(r, func(batch int) bool {
		goal := all.goal(total, batch)
		if sign > 0 {
			return was.available >= from+goal
		}
		return len(j.PodsOf(was.object)) <= from-goal
	})
	goal := all.goal(total, batch)
	if moved := sign * (is.Replicas - from); moved > goal && moved > sign*(was.Replicas-from) {
		return fmt.Errorf("it is asked for %d pods after %d: from %d to %d, the goal of batch %d of %d is %d", is.Replicas, was.Replicas, from, to, batch+1, len(all), goal)
	}
	return nil
}

// tookTurns: the target grows first, as far as its batch says, and the source gives no more than that.
func (j *judge) tookTurns(r *oamv1beta1.AppRollout, was, is runner) error {
	running := r.Status.Running
	target, source := j.named(running.TargetRef.Name), runner{}
	if running.SourceRef != nil {
		source = j.named(running.SourceRef.Name)
	}
	if target.object == nil || source.object == nil {
		return errors.New("one of the two is not there")
	}
	noted, all := j.runOf(r), j.batches(r)
	sizes := [2]int{noted.size + noted.drift, int(r.Status.RolloutTargetSize)}
	least, most := min(sizes[0], sizes[1]), max(sizes[0], sizes[1])
	batch := j.reached(r, func(batch int) bool {
		goal := all.goal(least, batch)
		return target.available >= goal && len(j.PodsOf(source.object)) <= max(most-goal, 0)+j.surge(source)
	})
	name := is.object.GetName()
	switch goal := all.goal(most, batch); {
	case name == running.TargetRef.Name && is.Replicas > max(goal, was.Replicas):
		return fmt.Errorf("the target is asked for %d pods, and the goal of batch %d of %d for %d pods is %d", is.Replicas, batch+1, len(all), most, goal)
	case name == running.SourceRef.Name && is.Replicas < min(least-goal, was.Replicas):
		return fmt.Errorf("the source is left %d pods, and the goal of batch %d of %d for %d pods is %d", is.Replicas, batch+1, len(all), least, goal)
	case name == running.SourceRef.Name && is.Replicas < was.Replicas && !j.rough && !j.givesFirst(r) && is.Replicas+target.available < least:
		return fmt.Errorf("the source is left %d pods, and %d of the target serve: %d are wanted", is.Replicas, target.available, least)
	}
	return nil
}

// surge is how many pods a Deployment may have beyond those that it is asked for, for as long as it is in the middle of an update of its
// own: by default a quarter.
func (j *judge) surge(is runner) int {
	if j.on(is) == len(j.PodsOf(is.object)) {
		return 0
	}
	return (is.Replicas + 3) / 4
}

// givesFirst tells whether the pass sees a plan by which the source shrinks before the target grows.
func (j *judge) givesFirst(r *oamv1beta1.AppRollout) bool {
	saw := j.plans[r.UID]
	return saw != nil && saw.Spec.RolloutPlan.RolloutStrategy == rolloutv1alpha1.DecreaseFirst
}

// named is the Deployment of a name; empty for none.
func (j *judge) named(name string) runner {
	o := j.Server.Get(api.Deployments, types.NamespacedName{Namespace: world.Namespace, Name: name})
	if o == nil {
		return runner{}
	}
	return runnerOf(o)
}
