// SPDX-License-Identifier: Apache-2.0

package application

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// settled looks at every object of a world at rest: each is the application's, or held by a rollout that still runs, and nothing is
// there that belongs to nobody.
func (j *judge) settled() error {
	var errs []error
	app := j.application()
	for _, o := range j.applied() {
		name := api.KindOf(o).String() + " " + o.GetName()
		holder := j.holder(o)
		switch ref := metav1.GetControllerOf(o); {
		case app == nil:
			errs = append(errs, fmt.Errorf("%s is left, and there is no application", name))
		case holder != nil && !holder.Status.RollingState.IsFinal():
			if ref == nil || ref.UID != holder.UID || !owns(o, app.UID) {
				errs = append(errs, fmt.Errorf("%s is held by %s, and its owners are %v", name, holder.Name, o.GetOwnerReferences()))
			}
		case ref == nil || ref.UID != app.UID || len(o.GetOwnerReferences()) != 1:
			errs = append(errs, fmt.Errorf("the owners of %s are %v", name, o.GetOwnerReferences()))
		case len(workload.Traces(o)) > 0:
			errs = append(errs, fmt.Errorf("%s has %s", name, strings.Join(workload.Traces(o), ", ")))
		}
	}
	for _, pod := range j.Pods() {
		if world.Active(pod) && app == nil {
			errs = append(errs, fmt.Errorf("pod %s is left", pod.Name))
		}
	}
	for _, o := range j.Server.List(api.AppRollouts) {
		if r := o.(*oamv1beta1.AppRollout); r.Status.RollingState.IsFinal() && len(r.Finalizers) > 0 {
			errs = append(errs, fmt.Errorf("AppRollout %s has ended, and has its finalizer", r.Name))
		}
	}
	if app != nil && app.DeletionTimestamp != nil {
		errs = append(errs, errors.New("the application does not go"))
	}
	return errors.Join(append(errs, j.closed(app))...)
}

// deployed compares a world at rest with what the application asks for: all of it is there, healthy, and nothing else.
func (j *judge) deployed() error {
	app := j.application()
	if app == nil {
		return errors.New("there is no application")
	}
	st := &app.Status
	ready := apimeta.FindStatusCondition(st.Conditions, oamv1beta1.ConditionReady)
	if st.ObservedGeneration != app.Generation || ready == nil || ready.Status != metav1.ConditionTrue || st.Phase != oamv1beta1.ApplicationRunning {
		said := "it says nothing"
		if ready != nil {
			said = ready.Reason + ": " + ready.Message
		}
		return fmt.Errorf("the application is %s: %s", st.Phase, said)
	}
	latest := j.latest(app)
	if latest == nil || !equality.Semantic.DeepEqual(latest.Spec.Application.Spec.Components, app.Spec.Components) {
		return fmt.Errorf("the latest revision, %s, is not what is asked for", st.LatestRevision.Name)
	}
	var errs []error
	wanted := map[string]bool{}
	for i := range app.Spec.Components {
		errs = append(errs, j.component(&app.Spec.Components[i], latest.Name, wanted))
	}
	for _, o := range j.applied() {
		if name := fmt.Sprintf("%s %s", api.KindOf(o), o.GetName()); !wanted[name] {
			errs = append(errs, fmt.Errorf("%s is left", name))
		}
	}
	return errors.Join(append(errs, j.told(st, wanted))...)
}

// rolledOut compares a world at rest with what a rollout has taken its component to: nothing else of the component is left.
func (j *judge) rolledOut(r *oamv1beta1.AppRollout) error {
	target := r.Status.LastTargetAppRevision
	if all := of(j.World, r.Status.Component); len(all) != 1 {
		return fmt.Errorf("component %s has %d workloads", r.Status.Component, len(all))
	}
	for _, o := range j.applied() {
		if o.GetLabels()[oamv1beta1.LabelAppRevision] != target {
			return fmt.Errorf("%s is of %s and not of %s", o.GetName(), o.GetLabels()[oamv1beta1.LabelAppRevision], target)
		}
	}
	return nil
}

func (j *judge) latest(app *oamv1beta1.Application) *oamv1beta1.ApplicationRevision {
	for _, o := range j.Server.List(api.ApplicationRevisions) {
		if o.GetName() == app.Status.LatestRevision.Name {
			return o.(*oamv1beta1.ApplicationRevision)
		}
	}
	return nil
}

// component: one workload, with all its pods on what is asked for, and the extras of its traits.
func (j *judge) component(c *oamv1beta1.ApplicationComponent, latest string, wanted map[string]bool) error {
	all := of(j.World, c.Name)
	if len(all) != 1 {
		return fmt.Errorf("component %s has %d workloads", c.Name, len(all))
	}
	is := all[0]
	asked := askedOf(c)
	wanted[fmt.Sprintf("%s %s", api.KindOf(is.object), is.object.GetName())] = true
	var errs []error
	pods := j.TallyOf(j.PodsOf(is.object))
	switch {
	case is.appRevision != latest:
		errs = append(errs, fmt.Errorf("%s is of %s and not of %s", is.object.GetName(), is.appRevision, latest))
	case is.App != asked.version || pods.All[is.App] != pods.Pods || pods.Serving != is.Replicas || pods.Pods != is.Replicas:
		errs = append(errs, fmt.Errorf("%s of %d pods has %s, and %s is asked for", is.object.GetName(), is.Replicas, pods, asked.version))
	case is.Kept > 0 || is.Paused:
		errs = append(errs, fmt.Errorf("%s keeps %d pods, paused: %t", is.object.GetName(), is.Kept, is.Paused))
	case !asked.scaled && j.sizedBy[is.object.GetUID()] == "" && is.Replicas != asked.replicas:
		errs = append(errs, fmt.Errorf("%s has %d pods, and %d are asked for", is.object.GetName(), is.Replicas, asked.replicas))
	}
	if asked.exposed {
		wanted[fmt.Sprintf("%s %s-expose", api.Services, c.Name)] = true
	}
	if asked.scaled {
		wanted[fmt.Sprintf("%s %s", api.Autoscalers, c.Name)] = true
		errs = append(errs, j.scales(c.Name, is, asked))
	}
	return errors.Join(errs...)
}

// scales: the autoscaler of a component is there, with its own bounds, for the workload that is there.
func (j *judge) scales(name string, is runner, asked asked) error {
	for _, o := range j.Server.List(api.Autoscalers) {
		if o.GetName() != name {
			continue
		}
		hpa := o.(*autoscalingv2.HorizontalPodAutoscaler)
		if hpa.Spec.ScaleTargetRef.Name != is.object.GetName() || int(ptr.Deref(hpa.Spec.MinReplicas, 1)) != asked.low || int(hpa.Spec.MaxReplicas) != asked.high {
			return fmt.Errorf("the autoscaler of %s scales %s, and should from %d to %d", is.object.GetName(), bounds(hpa), asked.low, asked.high)
		}
	}
	return nil
}

// told: status.appliedResources has what is there, and nothing else.
func (j *judge) told(st *oamv1beta1.ApplicationStatus, wanted map[string]bool) error {
	var told, is []string
	for _, a := range st.AppliedResources {
		told = append(told, fmt.Sprintf("%s %s %s", a.Kind, a.Name, a.UID))
	}
	for _, o := range j.applied() {
		is = append(is, fmt.Sprintf("%s %s %s", kindOf(o), o.GetName(), o.GetUID()))
	}
	slices.Sort(told)
	slices.Sort(is)
	if !slices.Equal(told, is) {
		return fmt.Errorf("status.appliedResources has %v, and there are %v", told, is)
	}
	if len(is) != len(wanted) {
		return fmt.Errorf("there are %d objects, and %d are asked for", len(is), len(wanted))
	}
	return nil
}

func kindOf(o client.Object) string {
	switch api.KindOf(o) {
	case api.CloneSets:
		return "CloneSet"
	case api.Deployments:
		return "Deployment"
	case api.Services:
		return "Service"
	case api.Autoscalers:
		return "HorizontalPodAutoscaler"
	}
	panic(fmt.Sprintf("no definition makes %T", o))
}

// kept: no more revisions are left than are in use or within the limit. Those that somebody's rollout has used until now are looked for
// with the next release.
func (j *judge) kept(app *oamv1beta1.Application) error {
	var idle []string
	for _, o := range j.Server.List(api.ApplicationRevisions) {
		if metav1.IsControlledBy(o, app) && j.userOf(o.GetName()) == "" {
			idle = append(idle, o.GetName())
		}
	}
	if len(idle) > limit {
		return fmt.Errorf("%v are left, and nobody uses them", idle)
	}
	return nil
}
