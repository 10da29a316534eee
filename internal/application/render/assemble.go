// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// maxName is how long the name of a component may be: that of its revisions has to fit into a label.
const maxName = 52

// Definitions are those that an application finds, by name.
type Definitions struct {
	Components map[string]oamv1beta1.ComponentDefinition
	Traits     map[string]oamv1beta1.TraitDefinition
	// Where tells people where they were looked for, as in `namespace "shop" or "slipway-system"`.
	Where string
}

// NewRequest puts a component and its definitions together. The error is of type Problems: a definition that there is not, or a name
// that does not fit.
func NewRequest(component oamv1beta1.ApplicationComponent, definitions Definitions, context Context) (Request, error) {
	s := source{component: component.Name, definition: component.Type}
	var all Problems
	switch {
	case len(component.Name) > maxName:
		all = append(all, s.problem("name", "has %d characters; at most %d are allowed, so that the names of its revisions fit into labels", len(component.Name), maxName))
	case len(validation.IsDNS1123Label(component.Name)) > 0:
		all = append(all, s.problem("name", "is not allowed: use lower case letters, digits and '-', with a letter or digit at both ends"))
	}
	definition, known := definitions.Components[component.Type]
	if !known {
		all = append(all, s.problem("type", "%s", unknown("ComponentDefinition", component.Type, definitions.Where, slices.Sorted(maps.Keys(definitions.Components)))))
	}
	request := Request{Context: context, Component: Component{
		Name: component.Name, Type: component.Type, Properties: raw(component.Properties),
		APIVersion: definition.Spec.Workload.Definition.APIVersion, Kind: definition.Spec.Workload.Definition.Kind,
		Template: definition.Spec.Schematic.CUE.Template,
	}}
	for i, trait := range component.Traits {
		definition, known := definitions.Traits[trait.Type]
		if !known {
			all = append(all, s.problem(fmt.Sprintf("traits[%d].type", i), "%s", unknown("TraitDefinition", trait.Type, definitions.Where, slices.Sorted(maps.Keys(definitions.Traits)))))
			continue
		}
		request.Component.Traits = append(request.Component.Traits, Trait{
			Type: trait.Type, Properties: raw(trait.Properties), Template: definition.Spec.Schematic.CUE.Template,
			AppliesTo: definition.Spec.AppliesToWorkloads, ConflictsWith: definition.Spec.ConflictsWith, PodDisruptive: definition.Spec.PodDisruptive,
		})
	}
	if len(all) > 0 {
		return Request{}, all.enough()
	}
	return request, nil
}

// NewHealthRequest puts together what the health of a component is judged by. Output is its live workload, outputs its other objects.
func NewHealthRequest(component oamv1beta1.ApplicationComponent, definition oamv1beta1.ComponentDefinition, context Context, output map[string]any, outputs map[string]map[string]any) HealthRequest {
	request := HealthRequest{Component: component.Name, Type: component.Type, Properties: raw(component.Properties), Context: context, Output: withoutFields(output)}
	for name, object := range outputs {
		if request.Outputs == nil {
			request.Outputs = map[string]map[string]any{}
		}
		request.Outputs[name] = withoutFields(object)
	}
	if status := definition.Spec.Status; status != nil {
		request.HealthPolicy, request.CustomStatus = status.HealthPolicy, status.CustomStatus
	}
	return request
}

// withoutFields leaves out who owns which field: no policy reads it, and it is often the larger part of an object.
func withoutFields(object map[string]any) map[string]any {
	metadata, has := object["metadata"].(map[string]any)
	if !has || metadata["managedFields"] == nil {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	delete(metadata, "managedFields")
	object["metadata"] = metadata
	return object
}

func raw(properties *runtime.RawExtension) []byte {
	if properties == nil {
		return nil
	}
	return properties.Raw
}

func unknown(kind, name, where string, known []string) string {
	text := fmt.Sprintf("there is no %s %q", kind, shorten(name))
	if where != "" {
		text += " in " + where
	}
	if len(known) == 0 {
		return text + ", and none at all"
	}
	return text + ": use one of " + strings.Join(known, ", ") + resembling(name, known)
}
