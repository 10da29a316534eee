// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/rollouts"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
)

// Kind reads applications.
func Kind() sets.Podless[*oamv1beta1.Application] {
	return sets.Podless[*oamv1beta1.Application]{
		GVK:     oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationKind),
		New:     func() *oamv1beta1.Application { return &oamv1beta1.Application{} },
		NewList: func() client.ObjectList { return &oamv1beta1.ApplicationList{} },
		View:    NewView, Lay: table,
	}
}

// NewView looks at an application.
func NewView(app *oamv1beta1.Application, now time.Time) sets.View {
	s := &app.Status
	v := sets.View{
		Kind: oamv1beta1.ApplicationKind, Namespace: app.Namespace, Name: app.Name, Generation: app.Generation, Observed: s.ObservedGeneration,
		Deleting: app.DeletionTimestamp != nil, Age: now.Sub(app.CreationTimestamp.Time), Podless: true,
		Stage:      fmt.Sprint(s.Phase, revisionOf(app), stage(app, now)),
		Conditions: conditions(app), Facts: facts(app, now), Body: body(app),
	}
	v.Phase, v.Headline = phase(app)
	v.Cells = []tree.Span{
		{Text: app.Name}, {Text: healthy(app)}, {Text: revisionOf(app)}, {Text: string(cmp.Or(s.Phase, "-"))},
		{Text: duration.HumanDuration(max(v.Age, 0))}, {Text: types(app)},
	}
	return v
}

// wideOnly is how many of a view's cells are shown in wide tables only.
const wideOnly = 1

// table lays applications out.
func table(views []sets.View, namespaces, wide bool) ([]tree.Column, []tree.Node) {
	columns := []tree.Column{
		{Title: "NAME"}, {Title: "HEALTHY", Drop: 2}, {Title: "REVISION", Drop: 1}, {Title: "PHASE"}, {Title: "AGE", Drop: 3}, {Title: "TYPES"},
	}
	shown := len(columns)
	if !wide {
		shown -= wideOnly
	}
	return sets.Rows(columns[:shown:shown], views, namespaces, func(v sets.View) []tree.Span { return v.Cells[:shown:shown] })
}

// phase says in a word and in a sentence how an application is doing.
func phase(app *oamv1beta1.Application) (sets.Phase, string) {
	s := &app.Status
	ready := apimeta.FindStatusCondition(s.Conditions, oamv1beta1.ConditionReady)
	message := ""
	if ready != nil {
		message = ready.Message
	}
	switch {
	case app.DeletionTimestamp != nil:
		return sets.Deleting, "being deleted, with all that it has"
	case s.ObservedGeneration < app.Generation || ready == nil:
		return sets.Unseen, "waiting for the controller to look at the newest spec"
	case ready.Status == metav1.ConditionTrue:
		return sets.Complete, "running: " + message
	}
	switch s.Phase {
	case oamv1beta1.ApplicationRendering:
		return sets.Failed, "cannot be rendered: " + message
	case oamv1beta1.ApplicationRollingOutFailed:
		return sets.Failed, "the rollout has failed: " + message
	case oamv1beta1.ApplicationRollingOut:
		if s.Rollout != nil && (s.Rollout.WaitingFor == rolloutv1alpha1.WaitingForUnpause || s.Rollout.WaitingFor == rolloutv1alpha1.WaitingAtPartition) {
			return sets.Paused, message
		}
		return sets.Releasing, message
	case oamv1beta1.ApplicationRunning, oamv1beta1.ApplicationRunningFailed:
	}
	if ready.Reason == "Blocked" || ready.Reason == "ApplyFailed" {
		return sets.Failed, "cannot be deployed: " + message
	}
	return sets.Recovering, message
}

func conditions(app *oamv1beta1.Application) []sets.Condition {
	var shown []sets.Condition
	for _, c := range app.Status.Conditions {
		shown = append(shown, sets.Condition{
			Type: c.Type, Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, Quiet: true,
			Trouble: c.Status == metav1.ConditionFalse && slices.Contains([]string{
				"NotParsed", "NotRendered", "TooBig", "NoRevision", "NotRecorded", "Blocked", "ApplyFailed", "RolloutFailed", "RolloutRefused",
			}, c.Reason),
		})
	}
	return shown
}

func facts(app *oamv1beta1.Application, now time.Time) []sets.Fact {
	s := &app.Status
	var all []sets.Fact
	if latest := s.LatestRevision; latest != nil {
		all = append(all, sets.Fact{Name: "revision", Text: fmt.Sprintf("%s (%s)", latest.Name, latest.RevisionHash)})
	}
	how := "applied at once"
	switch {
	case app.IsRolloutTemplate():
		how = "revisions are recorded, and an AppRollout deploys them"
	case app.Spec.RolloutPlan != nil:
		how = "in batches, one component after the other"
	}
	all = append(all, sets.Fact{Name: "deployed", Text: how})
	if r := rolloutOf(app); r != nil && !app.Status.Rollout.RollingState.IsFinal() {
		all = append(all, sets.Fact{Name: "rolls out", Text: fmt.Sprintf("%s to %s", app.Status.Rollout.Component, app.Status.Rollout.LastTargetAppRevision)})
		for _, fact := range rollouts.NewView(r, now).Facts {
			if fact.Name != "rollout" { // its target was told
				all = append(all, fact)
			}
		}
	}
	return all
}

// rolloutOf is the rollout of an application as rollouts are shown; nil without one.
func rolloutOf(app *oamv1beta1.Application) *rollouts.Rollout {
	s := app.Status.Rollout
	if s == nil || app.Spec.RolloutPlan == nil || s.RollingState == "" {
		return nil
	}
	r := &oamv1beta1.AppRollout{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}, Status: *s}
	r.Spec.RolloutPlan = *app.Spec.RolloutPlan
	shown := rollouts.OfRevisions(r)
	shown.Application = app.Name
	return shown
}

// stage tells what is news about a rollout.
func stage(app *oamv1beta1.Application, now time.Time) string {
	if r := rolloutOf(app); r != nil {
		return rollouts.NewView(r, now).Stage
	}
	return ""
}

// body are the components as rows, with their objects below them.
func body(app *oamv1beta1.Application) *sets.Body {
	b := &sets.Body{Columns: []tree.Column{{Title: "COMPONENT"}, {Title: "TYPE", Drop: 2}, {Title: "WORKLOAD", Drop: 1}, {Title: "STATE"}, {Title: "WHY"}}}
	for i := range app.Spec.Components {
		c := &app.Spec.Components[i]
		node := tree.Node{Mark: tree.Waiting, Cells: []tree.Span{{Text: c.Name}, {Text: c.Type}, {Text: "-"}, {Text: "not deployed"}}}
		if service := serviceOf(app, c.Name); service != nil {
			state, mark := tree.Span{Text: "not healthy", Tone: tree.Alert}, tree.Working
			if service.Healthy {
				state, mark = tree.Span{Text: "healthy", Tone: tree.Fine}, tree.Good
			}
			node.Mark = mark
			node.Cells = []tree.Span{{Text: c.Name}, {Text: c.Type}, {Text: service.WorkloadDefinition.Kind}, state, {Text: service.Message}}
		}
		for _, r := range app.Status.AppliedResources {
			if r.Component == c.Name {
				node.Children = append(node.Children, tree.Node{Heading: []tree.Span{{Text: r.Kind + " " + r.Name, Tone: tree.Faint}}})
			}
		}
		b.Nodes = append(b.Nodes, node)
	}
	return b
}

func serviceOf(app *oamv1beta1.Application, component string) *oamv1beta1.ApplicationService {
	for i := range app.Status.Services {
		if app.Status.Services[i].Name == component {
			return &app.Status.Services[i]
		}
	}
	return nil
}

func healthy(app *oamv1beta1.Application) string {
	n := 0
	for i := range app.Status.Services {
		if app.Status.Services[i].Healthy {
			n++
		}
	}
	return fmt.Sprintf("%d/%d", n, len(app.Spec.Components))
}

func revisionOf(app *oamv1beta1.Application) string {
	if app.Status.LatestRevision == nil {
		return "-"
	}
	return app.Status.LatestRevision.Name
}

func types(app *oamv1beta1.Application) string {
	var all []string
	for i := range app.Spec.Components {
		all = append(all, app.Spec.Components[i].Type)
	}
	return strings.Join(all, ",")
}
