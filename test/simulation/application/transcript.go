// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/chronicle"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// transcript tells a story: one line for each change.
type transcript struct {
	*simulation
	app string // what was told last of the application
}

func (s *simulation) transcript() string {
	t := &transcript{simulation: s}
	return t.Text(t.write, t.ending)
}

func (t *transcript) write(w api.Write) {
	switch o := w.After.(type) {
	case *oamv1beta1.Application:
		t.application(w, o)
	case *oamv1beta1.AppRollout:
		t.rollout(w, o)
	case *oamv1beta1.ApplicationRevision:
		t.comesOrGoes(w, "revision  "+o.Name)
	case *appsv1.ControllerRevision:
		if o.Labels[oamv1beta1.LabelComponent] != "" && o.Labels[oamv1beta1.LabelAppName] != "" && controllerOf(o) == oamv1beta1.ApplicationKind {
			t.comesOrGoes(w, "component "+o.Name)
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		if w.Verb == api.Update && bounds(w.Before.(*autoscalingv2.HorizontalPodAutoscaler)) != bounds(o) {
			t.Line(w.Time, fmt.Sprintf("extra     %s scales %s", o.Name, bounds(o)))
			return
		}
		t.comesOrGoes(w, fmt.Sprintf("extra     %s, which scales %s,", o.Name, bounds(o)))
	default:
		switch {
		case w.Kind == api.Services:
			t.comesOrGoes(w, "extra     "+o.GetName())
		case isWorkload(o) && w.Subresource == api.Main:
			t.workload(w)
		}
	}
}

func (t *transcript) comesOrGoes(w api.Write, what string) {
	switch w.Verb {
	case api.Create:
		t.Line(w.Time, what+" is made")
	case api.Remove:
		t.Line(w.Time, what+" is deleted")
	case api.Update, api.Mark:
	}
}

// application tells its phase and its latest revision, and why it is not ready when that is not the rollout's to say.
func (t *transcript) application(w api.Write, a *oamv1beta1.Application) {
	if w.Verb == api.Remove {
		t.Line(w.Time, "app       is gone")
		t.app = ""
		return
	}
	if w.Actor != world.Actor || w.Subresource != api.Status {
		return
	}
	text := string(a.Status.Phase)
	if a.Status.LatestRevision != nil {
		text += ", " + a.Status.LatestRevision.Name
	}
	if ready := apimeta.FindStatusCondition(a.Status.Conditions, oamv1beta1.ConditionReady); ready != nil {
		text += ", " + ready.Reason
		switch ready.Reason {
		case "Ready", "Applying", "RollingOut", "Unhealthy":
		default:
			text += ": " + ready.Message
		}
	}
	if text != t.app {
		t.Line(w.Time, "app       "+text)
		t.app = text
	}
}

// rollout tells what one is asked for, its state, and its numbers.
func (t *transcript) rollout(w api.Write, r *oamv1beta1.AppRollout) {
	switch {
	case w.Verb == api.Remove:
		t.Gone(w.Time, "is gone")
	case w.Subresource == api.Status:
		t.progress(w, r)
	case w.Actor != world.Actor:
	case w.Verb == api.Create:
		t.Line(w.Time, "rollout   is asked for "+asks(&r.Spec))
	default:
		if was := asks(&w.Before.(*oamv1beta1.AppRollout).Spec); was != asks(&r.Spec) {
			t.Line(w.Time, "rollout   is asked for "+asks(&r.Spec))
		}
	}
}

func (t *transcript) progress(w api.Write, r *oamv1beta1.AppRollout) {
	st := &r.Status.RolloutStatus
	state := chronicle.StateOf(st)
	switch {
	case st.RollingState.IsFinal():
		state += ": " + st.Message
	case st.WaitingFor == rolloutv1alpha1.WaitingForPods, st.WaitingFor == "":
	case st.WaitingFor == rolloutv1alpha1.WaitingForWorkload:
		state += ", waits: " + st.Message
	default:
		state += ", waits for: " + string(st.WaitingFor)
	}
	t.Progress(w.Time, state, st)
}

// workload tells what a write has changed in one.
func (t *transcript) workload(w api.Write) {
	is := runnerOf(w.After)
	name := is.object.GetName()
	switch w.Verb {
	case api.Create:
		t.Line(w.Time, fmt.Sprintf("workload  %s is made from %s: %s, %d pods", name, is.appRevision, is.App, is.Replicas))
		return
	case api.Remove:
		t.Line(w.Time, fmt.Sprintf("workload  %s is deleted", name))
		return
	case api.Update, api.Mark:
	}
	if changes := changesOf(runnerOf(w.Before), is); changes != "" {
		who := "workload  "
		if w.Actor != world.Actor {
			who = fmt.Sprintf("%-9s ", strings.TrimPrefix(w.Actor, "auto"))
		}
		t.Line(w.Time, who+name+": "+changes)
	}
}

func changesOf(was, is runner) string {
	var from, by []string
	if was.appRevision != is.appRevision {
		from = []string{"from " + is.appRevision}
	}
	if was.controller != is.controller {
		by = []string{"controlled by " + is.controller}
	}
	return strings.Join(append(is.Changes(was.Spec, from...), by...), ", ")
}

// ending tells how everything stands in the end.
func (t *transcript) ending() {
	end := func(format string, args ...any) { t.Line(t.Clock.Now(), "in the end "+fmt.Sprintf(format, args...)) }
	for _, w := range workloads(t.World) {
		end("%s: %s; controlled by %s", w.object.GetName(), workload.Standing(t.World, w.object), w.controller)
	}
	for _, stored := range []api.Kind{api.Services, api.Autoscalers} {
		for _, o := range t.Server.List(stored) {
			text := o.GetName()
			if hpa, is := o.(*autoscalingv2.HorizontalPodAutoscaler); is {
				text += " scales " + bounds(hpa)
			}
			end("%s, of %s, controlled by %s", text, o.GetLabels()[oamv1beta1.LabelAppRevision], controllerOf(o))
		}
	}
}

// asks tells a rollout in one line.
func asks(s *oamv1beta1.AppRolloutSpec) string {
	text := s.TargetAppRevisionName
	if s.SourceAppRevisionName != "" {
		text = s.SourceAppRevisionName + " -> " + text
	}
	if len(s.ComponentList) > 0 {
		text = s.ComponentList[0] + ", " + text
	}
	return text + describePlan(&s.RolloutPlan)
}

// describe tells an application in one line.
func describe(a *oamv1beta1.Application) string {
	var parts []string
	for _, c := range a.Spec.Components {
		text := c.Name + " " + askedOf(&c).version
		for _, one := range c.Traits {
			text += " " + one.Type
			if one.Type != "expose" {
				text += strings.NewReplacer(`"`, "", ":", " ").Replace(string(one.Properties.Raw))
			}
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, "; ")
	if a.Spec.RolloutPlan != nil {
		text += describePlan(a.Spec.RolloutPlan)
	} else {
		text += ", without a plan"
	}
	if a.IsRolloutTemplate() {
		text += ", as a template of rollouts"
	}
	return text
}

func describePlan(p *rolloutv1alpha1.RolloutPlan) string {
	text := ""
	if p.TargetSize != nil {
		text += fmt.Sprintf(", to %d pods", *p.TargetSize)
	}
	if p.NumBatches != nil {
		text += fmt.Sprintf(", in %d batches", *p.NumBatches)
	}
	if p.BatchPartition != nil {
		text += fmt.Sprintf(", up to batch %d", *p.BatchPartition+1)
	}
	if p.Paused {
		text += ", paused"
	}
	if p.FailurePolicy != "" {
		text += ", " + string(p.FailurePolicy) + " on failure"
	}
	if p.RevertOnDelete {
		text += ", reverted when deleted"
	}
	return text
}
