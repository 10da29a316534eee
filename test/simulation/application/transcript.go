// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// transcript tells a story from the history of the API and from what people did: one line for each change.
type transcript struct {
	*simulation
	lines []string
	// app and state are what was told last of the application and of rollouts; row is the line to which numbers are added, -1 for none.
	app, state, numbers string
	row                 int
}

func (s *simulation) transcript() string {
	t := &transcript{simulation: s, row: -1}
	notes := s.notes
	for i, w := range s.Server.Log() {
		for len(notes) > 0 && notes[0].at <= i {
			t.line(notes[0].time, notes[0].text)
			notes = notes[1:]
		}
		t.write(w)
	}
	for _, n := range notes {
		t.line(n.time, n.text)
	}
	t.ending()
	return strings.Join(t.lines, "\n") + "\n"
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
			t.line(w.Time, fmt.Sprintf("extra     %s scales %s", o.Name, bounds(o)))
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
		t.line(w.Time, what+" is made")
	case api.Remove:
		t.line(w.Time, what+" is deleted")
	case api.Update, api.Mark:
	}
}

// line tells something with the time since the beginning.
func (t *transcript) line(at time.Time, text string) {
	since := at.Sub(t.began)
	t.lines = append(t.lines, fmt.Sprintf("%02d:%02d %s", int(since.Minutes()), int(since.Seconds())%60, text))
	t.row = -1
}

// application tells its phase and its latest revision, and why it is not ready when that is not the rollout's to say.
func (t *transcript) application(w api.Write, a *oamv1beta1.Application) {
	if w.Verb == api.Remove {
		t.line(w.Time, "app       is gone")
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
		t.line(w.Time, "app       "+text)
		t.app = text
	}
}

// rollout tells what one is asked for, its state, and its numbers.
func (t *transcript) rollout(w api.Write, r *oamv1beta1.AppRollout) {
	switch {
	case w.Verb == api.Remove:
		t.line(w.Time, "rollout   is gone")
		t.state, t.numbers = "", ""
	case w.Subresource == api.Status:
		t.progress(w, r)
	case w.Actor != world.Actor:
	case w.Verb == api.Create:
		t.line(w.Time, "rollout   is asked for "+asks(&r.Spec))
	default:
		if was := asks(&w.Before.(*oamv1beta1.AppRollout).Spec); was != asks(&r.Spec) {
			t.line(w.Time, "rollout   is asked for "+asks(&r.Spec))
		}
	}
}

func (t *transcript) progress(w api.Write, r *oamv1beta1.AppRollout) {
	st := &r.Status
	state, numbers := stateOf(r), fmt.Sprintf("%d/%d", st.UpgradedReplicas, st.UpgradedReadyReplicas)
	switch {
	case st.RollingState.IsFinal():
		state += ": " + st.Message
	case st.WaitingFor == rolloutv1alpha1.WaitingForPods, st.WaitingFor == "":
	case st.WaitingFor == rolloutv1alpha1.WaitingForWorkload:
		state += ", waits: " + st.Message
	default:
		state += ", waits for: " + string(st.WaitingFor)
	}
	switch {
	case state != t.state:
		if numbers != t.numbers && numbers != "0/0" {
			t.line(w.Time, "rollout   "+state+"; "+numbers)
		} else {
			t.line(w.Time, "rollout   "+state)
		}
	case numbers != t.numbers && t.row >= 0:
		t.lines[t.row] += " " + numbers
	case numbers != t.numbers:
		t.line(w.Time, "numbers   "+numbers)
		t.row = len(t.lines) - 1
	}
	t.state, t.numbers = state, numbers
}

// workload tells what a write has changed in one.
func (t *transcript) workload(w api.Write) {
	is := workloadOf(w.After)
	name := is.object.GetName()
	switch w.Verb {
	case api.Create:
		t.line(w.Time, fmt.Sprintf("workload  %s is made from %s: %s, %d pods", name, is.appRevision, is.app, is.replicas))
		return
	case api.Remove:
		t.line(w.Time, fmt.Sprintf("workload  %s is deleted", name))
		return
	case api.Update, api.Mark:
	}
	if changes := changesOf(workloadOf(w.Before), is); changes != "" {
		who := "workload  "
		if w.Actor != world.Actor {
			who = fmt.Sprintf("%-9s ", strings.TrimPrefix(w.Actor, "auto"))
		}
		t.line(w.Time, who+name+": "+changes)
	}
}

func changesOf(was, is workload) string {
	var parts []string
	add := func(differs bool, format string, args ...any) {
		if differs {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(!was.held && is.held, "held")
	add(was.held && !is.held, "released")
	add(was.app != is.app, "template %s -> %s", was.app, is.app)
	add(was.appRevision != is.appRevision, "from %s", is.appRevision)
	add(was.replicas != is.replicas, "replicas %d -> %d", was.replicas, is.replicas)
	add(was.kept != is.kept || was.partition != is.partition, "partition %s -> %s", was.partitionText(), is.partitionText())
	add(was.paused && !is.paused, "unpaused")
	add(!was.paused && is.paused, "paused")
	add(was.controller != is.controller, "controlled by %s", is.controller)
	return strings.Join(parts, ", ")
}

func (w workload) partitionText() string {
	if !w.partition {
		return "none"
	}
	return fmt.Sprint(w.kept)
}

// ending tells how everything stands in the end.
func (t *transcript) ending() {
	end := func(format string, args ...any) { t.line(t.Clock.Now(), "in the end "+fmt.Sprintf(format, args...)) }
	for _, w := range workloads(t.World) {
		text := t.TallyOf(t.PodsOf(w.object)).String()
		if w.partition {
			text += fmt.Sprintf("; partition %d", w.kept)
		}
		if w.paused {
			text += "; paused"
		}
		end("%s: %s; controlled by %s", w.object.GetName(), text, w.controller)
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

// stateOf tells the state of a rollout.
func stateOf(r *oamv1beta1.AppRollout) string {
	if r == nil {
		return "gone"
	}
	st := &r.Status
	if st.RollingState != rolloutv1alpha1.RollingInBatchesState || st.Running == nil {
		return string(st.RollingState)
	}
	return fmt.Sprintf("batch %d of %d: %s", st.CurrentBatch+1, len(st.Running.RolloutBatches), st.BatchRollingState)
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
