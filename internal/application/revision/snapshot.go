// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// Draft is a revision of an application that does not exist yet.
type Draft struct {
	// Content is what it is made from; its application is the live one, which is to own the revision.
	Content Content
	// Next is the name, number and hash: see History.
	Next oamv1beta1.Revision
	// Components are the component revisions: see Known.
	Components []Component
	// Rendered are the components with the names of their revisions, one for each.
	Rendered []Rendered
}

// Object returns the revision to create. The same draft gives the same bytes. It fails with a *TooBig when it cannot be stored,
// and when a component has no revision or was not rendered.
func (d Draft) Object() (*oamv1beta1.ApplicationRevision, error) {
	app := d.Content.Application
	spec := oamv1beta1.ApplicationRevisionSpec{
		ComponentDefinitions: map[string]oamv1beta1.ComponentDefinition{},
		TraitDefinitions:     map[string]oamv1beta1.TraitDefinition{},
	}
	componentNames, traitNames := Uses(app)
	for _, name := range componentNames {
		definition, ok := d.Content.Components[name]
		if !ok {
			return nil, fmt.Errorf("making revision %q: there is no ComponentDefinition %q", d.Next.Name, name)
		}
		spec.ComponentDefinitions[name] = oamv1beta1.ComponentDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ComponentDefinitionKind},
			ObjectMeta: metav1.ObjectMeta{Namespace: definition.Namespace, Name: definition.Name},
			Spec:       *definition.Spec.DeepCopy(),
		}
	}
	for _, name := range traitNames {
		definition, ok := d.Content.Traits[name]
		if !ok {
			return nil, fmt.Errorf("making revision %q: there is no TraitDefinition %q", d.Next.Name, name)
		}
		spec.TraitDefinitions[name] = oamv1beta1.TraitDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.TraitDefinitionKind},
			ObjectMeta: metav1.ObjectMeta{Namespace: definition.Namespace, Name: definition.Name},
			Spec:       *definition.Spec.DeepCopy(),
		}
	}
	for i := range app.Spec.Components {
		component, err := d.component(app.Spec.Components[i].Name)
		if err != nil {
			return nil, fmt.Errorf("making revision %q: component %q: %w", d.Next.Name, app.Spec.Components[i].Name, err)
		}
		spec.ComponentRevisions = append(spec.ComponentRevisions, component)
	}
	return object(app, d.Next, spec)
}

// component returns what was made of a component.
func (d Draft) component(name string) (oamv1beta1.ComponentRevision, error) {
	made := oamv1beta1.ComponentRevision{Name: name}
	for i := range d.Components {
		if c := &d.Components[i]; c.Name == name {
			made.Revision, made.RevisionHash = c.Revision, c.Hash
		}
	}
	for i := range d.Rendered {
		rendered := &d.Rendered[i]
		if rendered.Name != name {
			continue
		}
		workload, err := json.Marshal(rendered.Workload)
		if err != nil {
			return made, fmt.Errorf("encoding its workload: %w", err)
		}
		made.Workload = &runtime.RawExtension{Raw: workload}
		for _, resource := range rendered.Resources {
			raw, err := json.Marshal(resource.Object)
			if err != nil {
				return made, fmt.Errorf("encoding its resource %q: %w", resource.Name, err)
			}
			made.Resources = append(made.Resources, oamv1beta1.RenderedResource{
				Name: resource.Name, Trait: resource.Trait, Object: runtime.RawExtension{Raw: raw},
			})
		}
	}
	switch {
	case made.Revision == "":
		return made, fmt.Errorf("it has no component revision")
	case made.Workload == nil:
		return made, fmt.Errorf("it was not rendered")
	}
	return made, nil
}

// Repeat returns a new revision with the snapshot of an earlier one: to be created when the live application has the content of
// that one again. Its objects are those of the earlier one to the byte, so that what still runs of it stays as it is.
func Repeat(again Again, live *oamv1beta1.Application) (*oamv1beta1.ApplicationRevision, error) {
	return object(live, again.Next, *again.Earlier.Spec.DeepCopy())
}

// object completes a snapshot by the application itself, and checks its size.
func object(app *oamv1beta1.Application, next oamv1beta1.Revision, spec oamv1beta1.ApplicationRevisionSpec) (*oamv1beta1.ApplicationRevision, error) {
	spec.Revision = next.Revision
	spec.Application = oamv1beta1.Application{
		TypeMeta: metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace, Name: app.Name, Labels: maps.Clone(app.Labels), Annotations: maps.Clone(app.Annotations),
		},
		Spec: *app.Spec.DeepCopy(),
	}
	// It repeats the whole manifest.
	delete(spec.Application.Annotations, corev1.LastAppliedConfigAnnotation)
	spec.Application.Spec.RolloutPlan = nil
	made := &oamv1beta1.ApplicationRevision{
		TypeMeta: metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationRevisionKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace,
			Name:      next.Name,
			Labels: map[string]string{
				oamv1beta1.LabelAppName:         app.Name,
				oamv1beta1.LabelAppRevisionHash: next.RevisionHash,
			},
			OwnerReferences: []metav1.OwnerReference{ownedBy(app)},
		},
		Spec: spec,
	}
	if err := checkSize(made); err != nil {
		return nil, err
	}
	return made, nil
}
