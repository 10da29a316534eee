// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/step"
)

// telling is what one reconcile has to say. What it does not speak of stays as it was.
type telling struct {
	status oamv1beta1.ApplicationStatus
	now    metav1.Time
	events []event
	// failed is what could not be found out, and is tried again.
	failed error
	// written: the application itself was written. Its status waits for the next look then, which sees that.
	written bool
}

// event is told when the status is written.
type event struct{ kind, reason, note string }

func newReport(app *oamv1beta1.Application, now time.Time) *telling {
	t := &telling{status: *app.Status.DeepCopy(), now: metav1.NewTime(now)}
	t.status.ObservedGeneration = app.Generation
	if !isInBatches(app) {
		apimeta.RemoveStatusCondition(&t.status.Conditions, oamv1beta1.ConditionRollout)
	}
	return t
}

func (t *telling) set(kind string, is metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&t.status.Conditions, metav1.Condition{
		Type: kind, Status: is, Reason: reason, Message: apply.Cut(message, apply.NoteLimit), ObservedGeneration: t.status.ObservedGeneration, LastTransitionTime: t.now,
	})
}

func (t *telling) yes(kind, reason, message string) {
	t.set(kind, metav1.ConditionTrue, reason, message)
}

// recording are the conditions on the way to a revision, in their order.
var recording = []string{oamv1beta1.ConditionParsed, oamv1beta1.ConditionRender, oamv1beta1.ConditionRevision}

// no says what is wrong or not there yet.
func (t *telling) no(kind, reason, message string) {
	t.set(kind, metav1.ConditionFalse, reason, message)
	t.stops(kind, reason)
}

// open says that it is not known yet.
func (t *telling) open(kind, reason, message string) {
	t.set(kind, metav1.ConditionUnknown, reason, message)
	t.stops(kind, reason)
}

// stops leaves open what comes after a condition on the way to a revision. While nothing can be recorded, the phase says so.
func (t *telling) stops(kind, reason string) {
	n := slices.Index(recording, kind)
	if n < 0 {
		return
	}
	for _, later := range recording[n+1:] {
		t.set(later, metav1.ConditionUnknown, reason, "not known before "+kind+" is True")
	}
	t.phase(oamv1beta1.ApplicationRendering)
}

func (t *telling) phase(p oamv1beta1.ApplicationPhase) { t.status.Phase = p }

func (t *telling) news(reason, format string, values ...any) {
	t.events = append(t.events, event{corev1.EventTypeNormal, reason, fmt.Sprintf(format, values...)})
}

func (t *telling) warns(reason, format string, values ...any) {
	t.events = append(t.events, event{corev1.EventTypeWarning, reason, fmt.Sprintf(format, values...)})
}

func (t *telling) parsed() {
	t.yes(oamv1beta1.ConditionParsed, "Parsed", "every component and trait has a definition, and properties that fit")
}

func (t *telling) rendered(revision string) {
	t.parsed()
	t.yes(oamv1beta1.ConditionRender, "Rendered", "the objects of "+revision+" are made")
}

// revised says that the latest revision is there.
func (t *telling) revised(latest *oamv1beta1.Revision) {
	t.status.LatestRevision = latest.DeepCopy()
	t.rendered(latest.Name)
	t.yes(oamv1beta1.ConditionRevision, "Recorded", latest.Name+" is the latest revision")
}

// resources are what was applied and is there: what the latest revision has, and what older ones have left.
func (t *telling) resources(w *plan.World, outcomes []apply.Outcome) {
	var all []oamv1beta1.AppliedResource
	add := func(o *unstructured.Unstructured, component string) {
		r := oamv1beta1.AppliedResource{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: w.App.Namespace, Name: o.GetName(), UID: o.GetUID(), Component: component,
		}
		group := o.GroupVersionKind().Group
		same := func(a oamv1beta1.AppliedResource) bool { // whatever the version of its kind
			return schema.FromAPIVersionAndKind(a.APIVersion, a.Kind).Group == group && a.Kind == r.Kind && a.Name == r.Name
		}
		if !slices.ContainsFunc(all, same) {
			all = append(all, r)
		}
	}
	of := func(o *unstructured.Unstructured) string { return o.GetLabels()[oamv1beta1.LabelComponent] }
	for i := range w.Components {
		c := &w.Components[i]
		for _, o := range slices.Concat(c.Live, c.LiveExtras) {
			if o != nil && w.Owns(o) {
				add(o, c.Name)
			}
		}
	}
	for _, o := range w.Applied {
		add(o, of(o))
	}
	for _, outcome := range outcomes {
		if s, is := outcome.Step.(step.Apply); is && outcome.Err == nil && s.Object.GetKind() != oamv1beta1.AppRolloutKind {
			add(s.Object, of(s.Object))
		}
	}
	slices.SortFunc(all, func(a, b oamv1beta1.AppliedResource) int {
		return strings.Compare(a.Component+" "+a.Kind+" "+a.Name, b.Component+" "+b.Kind+" "+b.Name)
	})
	t.status.AppliedResources = all
}

// report writes the status when anything in it has changed, and then tells people what was done. What only counts pods may have to
// wait, and then it says how long.
func (r *Reconciler) report(ctx context.Context, app *oamv1beta1.Application, remembered *memory, told *telling, outcomes []apply.Outcome) (wait time.Duration, err error) {
	defer apply.Tell(r.Events, app, outcomes, nil)
	if told.written {
		return 0, nil
	}
	told.summary()
	if equality.Semantic.DeepEqual(app.Status, told.status) {
		return 0, nil
	}
	began := r.Clock.Now()
	if wait := remembered.CountsIn(began); wait > 0 && len(told.events) == 0 && onlyCounts(&app.Status, &told.status) {
		return wait, nil
	}
	after := app.DeepCopy()
	after.Status = told.status
	if err := r.own.Status(ctx, app, after); err != nil {
		return 0, err //nolint:wrapcheck // it names the object
	}
	remembered.Reported(began, r.Clock.Now())
	told.written = true
	r.announce(app, told)
	return 0, nil
}

func (r *Reconciler) announce(app *oamv1beta1.Application, told *telling) {
	for _, e := range told.events {
		r.Events.Eventf(app, nil, e.kind, e.reason, "Report", "%s", e.note)
	}
	for _, c := range told.status.Conditions {
		was := apimeta.FindStatusCondition(app.Status.Conditions, c.Type)
		if c.Type == oamv1beta1.ConditionReady || was != nil && was.Status == c.Status && was.Reason == c.Reason {
			continue
		}
		applied := apimeta.FindStatusCondition(told.status.Conditions, oamv1beta1.ConditionApplied)
		if c.Type == oamv1beta1.ConditionRollout && applied != nil && applied.Message == c.Message {
			continue // it is said once
		}
		if c.Status == metav1.ConditionFalse && c.Reason != "Applying" && c.Reason != "RollingOut" {
			r.Events.Eventf(app, nil, corev1.EventTypeWarning, c.Reason, "Report", "%s", apply.Cut(c.Message, apply.NoteLimit))
		}
	}
}

// summary is the condition Ready: the first of the others that is not True speaks, and then the first component that is not healthy.
func (t *telling) summary() {
	for _, kind := range append(slices.Clone(recording), oamv1beta1.ConditionRollout, oamv1beta1.ConditionApplied) {
		if c := apimeta.FindStatusCondition(t.status.Conditions, kind); c != nil && c.Status != metav1.ConditionTrue {
			t.no(oamv1beta1.ConditionReady, c.Reason, c.Message)
			return
		}
	}
	for _, s := range t.status.Services {
		if !s.Healthy {
			t.no(oamv1beta1.ConditionReady, "Unhealthy", "component "+s.Name+": "+s.Message)
			if t.status.Phase == oamv1beta1.ApplicationRunning {
				t.phase(oamv1beta1.ApplicationRunningFailed)
			}
			return
		}
	}
	t.yes(oamv1beta1.ConditionReady, "Ready", "everything is deployed and healthy")
}
