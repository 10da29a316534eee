// SPDX-License-Identifier: Apache-2.0

package application

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// judge compares each write of the manager with what applications and plans allow, in the true state of the world.
type judge struct {
	*world.World
	*world.Clerk
	// saw is the application as the running pass sees it, and plans are the AppRollouts; nil for none.
	saw   *oamv1beta1.Application
	plans map[types.UID]*oamv1beta1.AppRollout
	view  *api.Cache
	// rough: pods are lost by other things than releases, so that what serves cannot be held against those.
	rough bool
	// runs is what is noted of each run of a rollout.
	runs map[string]*run
	// histories are the revisions of each application that there ever were.
	histories map[types.UID]*history
	// sizedBy is who has last changed the number of pods of a workload.
	sizedBy map[types.UID]string
}

func newJudge(w *world.World) *judge {
	j := &judge{World: w, runs: map[string]*run{}, histories: map[types.UID]*history{}, sizedBy: map[types.UID]string{}}
	j.Clerk = world.NewClerk(w, j.write)
	return j
}

// Begin starts a pass of one of the controllers, which looks at view.
func (j *judge) Begin(view *api.Cache) {
	j.Look()
	j.view = view
	j.saw, j.plans = typed(view.Peek(api.Applications, world.TheSet)), map[types.UID]*oamv1beta1.AppRollout{}
	for _, o := range view.All(api.AppRollouts) {
		j.plans[o.GetUID()] = o.(*oamv1beta1.AppRollout)
	}
}

func (j *judge) Read(client.Object) {}

// Reborn: what is decided about workloads is read live, so an old view of applications and rollouts excuses nothing.
func (j *judge) Reborn() {}

// write judges a write, and notes what the next ones are judged by.
func (j *judge) write(w api.Write) error {
	if w.Actor != world.Actor {
		j.byOthers(w)
		return nil
	}
	if err := oneController(w.After); err != nil && w.Verb != api.Remove {
		return err
	}
	switch o := w.After.(type) {
	case *oamv1beta1.ApplicationRevision:
		return j.revisionWrite(w, o)
	case *appsv1.ControllerRevision:
		if w.Verb == api.Remove && o.Labels[oamv1beta1.LabelAppName] != "" && controllerOf(o) == oamv1beta1.ApplicationKind {
			return j.componentForgotten(o)
		}
	case *oamv1beta1.AppRollout:
		return j.rolloutWrite(w, o)
	default:
		if isWorkload(o) && o.GetLabels()[oamv1beta1.LabelAppName] != "" {
			return j.workloadWrite(w)
		}
	}
	return nil
}

// byOthers notes what people, nodes and autoscalers have done.
func (j *judge) byOthers(w api.Write) {
	switch {
	case isWorkload(w.After) && w.Verb == api.Update && w.Subresource == api.Main:
		was, is := runnerOf(w.Before), runnerOf(w.After)
		if was.Replicas == is.Replicas {
			return
		}
		j.sizedBy[w.After.GetUID()] = w.Actor
		if r := j.holder(w.After); r != nil {
			j.runOf(r).drift += is.Replicas - was.Replicas
		}
	case isWorkload(w.After) && (w.Verb == api.Remove || w.Verb == api.Mark):
		j.rough = true
	case w.Kind == api.Pods && (w.Actor == "user" || w.Actor == "node"):
		before, is := w.Before.(*corev1.Pod)
		after, _ := w.After.(*corev1.Pod)
		if is && world.Active(before) && (w.Verb == api.Remove || !world.Active(after)) {
			j.rough = true
		}
	}
}

// oneController: an object has one controller at most.
func oneController(o client.Object) error {
	controllers := 0
	for _, ref := range o.GetOwnerReferences() {
		if ptr.Deref(ref.Controller, false) {
			controllers++
		}
	}
	if controllers > 1 {
		return fmt.Errorf("it has %d controllers", controllers)
	}
	return nil
}

// application is the one that there is; nil for none.
func (j *judge) application() *oamv1beta1.Application { return typed(j.Set()) }

// holder is the AppRollout that holds a workload; nil for none.
func (j *judge) holder(o client.Object) *oamv1beta1.AppRollout {
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind != oamv1beta1.AppRolloutKind {
			continue
		}
		for _, stored := range j.Server.List(api.AppRollouts) {
			if stored.GetUID() == ref.UID {
				return stored.(*oamv1beta1.AppRollout)
			}
		}
	}
	return nil
}

// rolloutWrite: what ends holds nothing any more, and everything is the application's again.
func (j *judge) rolloutWrite(w api.Write, r *oamv1beta1.AppRollout) error {
	ends := w.Verb == api.Remove
	if w.Verb == api.Update && w.Subresource == api.Status {
		was := w.Before.(*oamv1beta1.AppRollout)
		if err := divided(was, r); err != nil {
			return err
		}
		ends = r.Status.RollingState.IsFinal() && !was.Status.RollingState.IsFinal()
		if sameRun := was.Status.Run == r.Status.Run; sameRun && isRolling(was) && isRolling(r) && r.Status.CurrentBatch < was.Status.CurrentBatch {
			return fmt.Errorf("it goes from batch %d to %d", was.Status.CurrentBatch+1, r.Status.CurrentBatch+1)
		}
	}
	if !ends {
		return nil
	}
	var errs []error
	for _, one := range workloads(j.World) {
		for _, ref := range one.object.GetOwnerReferences() {
			if ref.UID == r.UID {
				errs = append(errs, fmt.Errorf("it ends, and %s has %v", one.object.GetName(), workload.Traces(one.object)))
			}
		}
		app := j.application()
		if app == nil || app.DeletionTimestamp != nil || one.object.GetDeletionTimestamp() != nil || j.holder(one.object) != nil {
			continue
		}
		if owns(one.object, app.UID) && one.controller != oamv1beta1.ApplicationKind {
			errs = append(errs, fmt.Errorf("it ends, and the controller of %s is %q", one.object.GetName(), one.controller))
		}
	}
	return errors.Join(errs...)
}

func owns(o client.Object, uid types.UID) bool {
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == uid {
			return true
		}
	}
	return false
}
