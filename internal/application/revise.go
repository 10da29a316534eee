// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/render"
	"slipway.dev/slipway/internal/application/revision"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/step"
)

// asked is what an application asks for.
type asked struct {
	definitions render.Definitions
	content     revision.Content
	// hash is that of the content; empty when something is missing, and why says so.
	hash string
	why  error
}

func (r *Reconciler) asked(ctx context.Context, app *oamv1beta1.Application) (asked, error) {
	definitions, err := r.definitions(ctx, app)
	if err != nil {
		return asked{}, err
	}
	a := asked{definitions: definitions, content: revision.Content{Application: app, Components: definitions.Components, Traits: definitions.Traits}}
	a.hash, a.why = a.content.Hash()
	return a, nil
}

// revise finds the revision that has what the application asks for, and makes one when there is none. It returns nil as long as
// that is not there, and has said why. What was remembered of it is good enough for as long as there is nothing to do.
func (r *Reconciler) revise(ctx context.Context, app *oamv1beta1.Application, asks asked, was *oamv1beta1.ApplicationRevision, told *telling) (*oamv1beta1.ApplicationRevision, []apply.Outcome, error) {
	if asks.why != nil { // whoever puts requests together says best what is missing
		why := asks.why
		if _, wrong := requests(app, asks.definitions, nil, nil); wrong != nil {
			why = wrong
		}
		told.no(oamv1beta1.ConditionParsed, "NotParsed", why.Error())
		return nil, nil, nil
	}
	if known := app.Status.LatestRevision; known != nil && known.RevisionHash == asks.hash {
		if was != nil && was.Name == known.Name {
			told.revised(known)
			return was, nil, nil
		}
		latest, err := r.revision(ctx, app, known.Name)
		if err != nil || latest != nil && revision.IsComplete(latest) {
			told.revised(known)
			return latest, nil, err
		}
	}
	return r.record(ctx, app, asks.definitions, asks.content, told)
}

// record makes the revision of a content that has none yet.
func (r *Reconciler) record(ctx context.Context, app *oamv1beta1.Application, definitions render.Definitions, content revision.Content, told *telling) (*oamv1beta1.ApplicationRevision, []apply.Outcome, error) {
	history, known, err := r.history(ctx, app)
	if err != nil {
		return nil, nil, err
	}
	decided, err := r.decide(ctx, app, history, content)
	if err != nil {
		return nil, nil, err
	}
	if decided == nil {
		told.parsed()
		told.no(oamv1beta1.ConditionRevision, "NoRevision", "the numbers of revisions are used up")
		return nil, nil, nil
	}
	var made *oamv1beta1.ApplicationRevision
	var steps []step.Step
	var next oamv1beta1.Revision
	switch decided := decided.(type) {
	case revision.Unchanged:
		told.revised(&oamv1beta1.Revision{Name: decided.Revision.Name, Revision: decided.Revision.Spec.Revision, RevisionHash: decided.Hash})
		return decided.Revision, nil, nil
	case revision.Again:
		next = decided.Next
		made, err = revision.Repeat(decided, app)
	case revision.New:
		next = decided.Next
		made, steps, err = r.draft(ctx, app, definitions, content, next, known, told)
	}
	var tooBig *revision.TooBig
	switch {
	case errors.As(err, &tooBig):
		told.rendered(next.Name)
		told.no(oamv1beta1.ConditionRevision, "TooBig", err.Error())
		return nil, nil, nil
	case err != nil || made == nil:
		return nil, nil, err
	}
	steps = append(steps, step.CreateSet{Because: "the application, or a definition of it, has changed", Set: made})
	outcomes := r.others.Steps(ctx, app.UID, steps)
	if err := apply.Errors(outcomes); err != nil || apply.Conflicts(outcomes) {
		said := fmt.Sprintf("revision %s is not recorded yet", next.Name)
		if err != nil {
			said += ": " + err.Error()
		}
		told.rendered(next.Name)
		told.no(oamv1beta1.ConditionRevision, "NotRecorded", said)
		return nil, outcomes, nil
	}
	return r.recorded(ctx, app, made.Name, outcomes, told)
}

// recorded is a revision as it was just stored.
func (r *Reconciler) recorded(ctx context.Context, app *oamv1beta1.Application, name string, outcomes []apply.Outcome, told *telling) (*oamv1beta1.ApplicationRevision, []apply.Outcome, error) {
	stored, err := r.revision(ctx, app, name)
	if err != nil || stored == nil {
		return nil, outcomes, err
	}
	next := &oamv1beta1.Revision{Name: stored.Name, Revision: stored.Spec.Revision, RevisionHash: stored.Labels[oamv1beta1.LabelAppRevisionHash]}
	told.revised(next)
	told.news("RevisionRecorded", "revision %s is recorded", next.Name)
	return stored, outcomes, nil
}

// decide is what the history says about the content, with a name that nobody else has; nil when there is no number left.
func (r *Reconciler) decide(ctx context.Context, app *oamv1beta1.Application, history revision.History, content revision.Content) (revision.Outcome, error) {
	for {
		decided, err := history.Decide(content)
		if err != nil {
			return nil, nil //nolint:nilerr // the content has a hash: see revise
		}
		var next string
		switch decided := decided.(type) {
		case revision.Unchanged:
			return decided, nil
		case revision.Again:
			next = decided.Next.Name
		case revision.New:
			next = decided.Next.Name
		}
		err = r.Live.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: next}, &oamv1beta1.ApplicationRevision{})
		switch {
		case apierrors.IsNotFound(err):
			return decided, nil
		case err != nil:
			return nil, fmt.Errorf("looking up who has the name %s: %w", next, err)
		}
		history.Taken[next] = true
	}
}

// draft renders all components. It returns no revision when that is not possible, and has said why.
func (r *Reconciler) draft(ctx context.Context, app *oamv1beta1.Application, definitions render.Definitions, content revision.Content,
	next oamv1beta1.Revision, known revision.Known, told *telling) (*oamv1beta1.ApplicationRevision, []step.Step, error) {
	plain, err := r.render(ctx, app, definitions, &next, nil) // a name of a component's revision alone makes no other one
	if said(told, err) {
		return nil, nil, nil
	}
	components, err := r.components(ctx, app, known, plain, told)
	if err != nil {
		return nil, nil, err
	}
	rendered, err := r.render(ctx, app, definitions, &next, components)
	if said(told, err) {
		return nil, nil, nil
	}
	var steps []step.Step
	for i := range components {
		if components[i].Stored != nil {
			continue
		}
		stored, err := components[i].Object(app)
		if err != nil {
			return nil, nil, err //nolint:wrapcheck // it names the component
		}
		steps = append(steps, step.CreateRevision{Because: "its template is new", Revision: stored})
	}
	made, err := revision.Draft{Content: content, Next: next, Components: components, Rendered: rendered}.Object()
	return made, steps, err //nolint:wrapcheck // it names the revision
}

// components are the revisions of components. Names that stand for something else are left to that: whose they are, and which
// templates, is looked up live, since labels can be lost, and snapshots can name what was deleted.
func (r *Reconciler) components(ctx context.Context, app *oamv1beta1.Application, known revision.Known, rendered []revision.Rendered, told *telling) ([]revision.Component, error) {
	known.Taken = map[string]bool{}
	for {
		all, err := known.Components(rendered)
		if err != nil {
			return nil, err //nolint:wrapcheck // it names the component
		}
		taken := false
		for i := range all {
			if all[i].Stored != nil {
				continue
			}
			existing := &appsv1.ControllerRevision{}
			err := r.Live.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: all[i].Revision}, existing)
			switch {
			case apierrors.IsNotFound(err):
			case err != nil:
				return nil, fmt.Errorf("looking up who has the name %s: %w", all[i].Revision, err)
			case !metav1.IsControlledBy(existing, app):
				taken, known.Taken[all[i].Revision] = true, true
			case !all[i].IsStoredIn(existing):
				taken, known.Taken[all[i].Revision] = true, true
				told.warns("ComponentRevisionSkipped", "ControllerRevision %s has another template than component %s, and stays as it is: the component's revision gets another name",
					all[i].Revision, all[i].Name)
			default: // it was not listed
				all[i].Stored = existing
			}
		}
		if !taken {
			return all, nil
		}
	}
}

// said tells people what keeps components from being rendered, and whether it is known. What stands in the application itself is for
// who wrote that, and Parsed says so; what templates make of it is Render. What only could not be done now leaves open which it is.
func said(told *telling, err error) bool {
	switch problems := render.ProblemsOf(err); {
	case err == nil:
		return false
	case problems == nil:
		told.parsed()
		told.open(oamv1beta1.ConditionRender, "NotEvaluated", err.Error())
		told.failed = err
	case problems.OfTheUser():
		told.no(oamv1beta1.ConditionParsed, "NotParsed", problems.Error())
	default:
		told.parsed()
		told.no(oamv1beta1.ConditionRender, "NotRendered", problems.Error())
	}
	return true
}

// render makes the objects of all components: with placeholders in the place of names that are not known yet, or with the names.
func (r *Reconciler) render(ctx context.Context, app *oamv1beta1.Application, definitions render.Definitions, next *oamv1beta1.Revision,
	components []revision.Component) ([]revision.Rendered, error) {
	all, err := requests(app, definitions, next, components)
	if err != nil {
		return nil, err
	}
	var rendered []revision.Rendered
	for _, request := range all {
		result, err := r.Renderer.Render(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("rendering component %s: %w", request.Component.Name, err)
		}
		if result, err = render.Dress(request, result, r.namespaced); err != nil {
			return nil, fmt.Errorf("completing component %s: %w", request.Component.Name, err)
		}
		one := revision.Rendered{Name: request.Component.Name, Workload: result.Workload}
		for _, extra := range result.Extras {
			one.Resources = append(one.Resources, revision.Resource{Name: extra.Name, Trait: extra.Trait, Object: extra.Object})
		}
		rendered = append(rendered, one)
	}
	return rendered, nil
}

// requests are what to ask of the renderer. All that is wrong is said at once.
func requests(app *oamv1beta1.Application, definitions render.Definitions, next *oamv1beta1.Revision, components []revision.Component) ([]render.Request, error) {
	var all []render.Request
	var wrong render.Problems
	for i := range app.Spec.Components {
		component := app.Spec.Components[i]
		about := render.Context{Name: component.Name, AppName: app.Name, Namespace: app.Namespace, AppRevision: revision.Placeholder(app.Name), Revision: revision.Placeholder(component.Name)}
		if next != nil {
			about.AppRevision, about.AppRevisionNum = next.Name, next.Revision
		}
		for _, c := range components {
			if c.Name == component.Name {
				about.Revision = c.Revision
			}
		}
		request, err := render.NewRequest(component, definitions, about)
		if err != nil {
			wrong = append(wrong, render.ProblemsOf(err)...)
			continue
		}
		all = append(all, request)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return all, nil
}

func (r *Reconciler) namespaced(kind schema.GroupVersionKind) (bool, error) {
	mapping, err := r.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false, err //nolint:wrapcheck // whoever asks looks at what it is
	}
	return mapping.Scope.Name() == apimeta.RESTScopeNameNamespace, nil
}
