// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// hashBytes of a sum are kept: enough for the contents that one application ever has, and short enough to be read.
const hashBytes = 8

// Content is what an application is made from. It is read only: its parts are shared with the cache.
type Content struct {
	Application *oamv1beta1.Application
	// Components and Traits are definitions by their names. Those that the application does not use do not count.
	Components map[string]oamv1beta1.ComponentDefinition
	Traits     map[string]oamv1beta1.TraitDefinition
}

// ContentOf returns what a revision was made from.
func ContentOf(revision *oamv1beta1.ApplicationRevision) Content {
	return Content{
		Application: &revision.Spec.Application,
		Components:  revision.Spec.ComponentDefinitions,
		Traits:      revision.Spec.TraitDefinitions,
	}
}

// Uses returns the names of the definitions that an application uses, sorted and each once.
func Uses(app *oamv1beta1.Application) (components, traits []string) {
	for i := range app.Spec.Components {
		component := &app.Spec.Components[i]
		components = append(components, component.Type)
		for j := range component.Traits {
			traits = append(traits, component.Traits[j].Type)
		}
	}
	slices.Sort(components)
	slices.Sort(traits)
	return slices.Compact(components), slices.Compact(traits)
}

// Hash returns the hash of the spec without its rolloutPlan, and of what the definitions that it uses make of it: 16
// hexadecimal digits. The order of members, an empty object or list in the place of none, and whatever has no effect do not
// matter; the order of components and traits does. It fails when a definition is missing, and when properties are not JSON.
func (c Content) Hash() (string, error) {
	tree, err := c.tree()
	if err != nil {
		return "", err
	}
	return hashOf(tree)
}

func (c Content) tree() (map[string]any, error) {
	components := make([]any, 0, len(c.Application.Spec.Components))
	for i := range c.Application.Spec.Components {
		component := &c.Application.Spec.Components[i]
		tree, err := treeOfComponent(component)
		if err != nil {
			return nil, fmt.Errorf("component %q: %w", component.Name, err)
		}
		components = append(components, tree)
	}
	componentNames, traitNames := Uses(c.Application)
	componentDefinitions, traitDefinitions := map[string]any{}, map[string]any{}
	for _, name := range componentNames {
		definition, ok := c.Components[name]
		if !ok {
			return nil, fmt.Errorf("there is no ComponentDefinition %q", name)
		}
		componentDefinitions[name] = treeOfComponentDefinition(&definition.Spec)
	}
	for _, name := range traitNames {
		definition, ok := c.Traits[name]
		if !ok {
			return nil, fmt.Errorf("there is no TraitDefinition %q", name)
		}
		traitDefinitions[name] = treeOfTraitDefinition(&definition.Spec)
	}
	return map[string]any{"components": components, "componentDefinitions": componentDefinitions, "traitDefinitions": traitDefinitions}, nil
}

func treeOfComponent(component *oamv1beta1.ApplicationComponent) (map[string]any, error) {
	properties, err := treeOfProperties(component.Properties)
	if err != nil {
		return nil, err
	}
	traits := make([]any, 0, len(component.Traits))
	for i := range component.Traits {
		trait := &component.Traits[i]
		properties, err := treeOfProperties(trait.Properties)
		if err != nil {
			return nil, fmt.Errorf("trait %q: %w", trait.Type, err)
		}
		traits = append(traits, map[string]any{"type": trait.Type, "properties": properties})
	}
	return map[string]any{"name": component.Name, "type": component.Type, "properties": properties, "traits": traits}, nil
}

// treeOfProperties reads properties. Nulls in them stay: a template can tell one from an absent member.
func treeOfProperties(properties *runtime.RawExtension) (any, error) {
	if properties == nil || len(properties.Raw) == 0 {
		return map[string]any{}, nil
	}
	var tree any
	if err := json.Unmarshal(properties.Raw, &tree); err != nil {
		return nil, fmt.Errorf("reading its properties: %w", err)
	}
	if tree == nil {
		return map[string]any{}, nil
	}
	return tree, nil
}

func treeOfComponentDefinition(spec *oamv1beta1.ComponentDefinitionSpec) map[string]any {
	status := oamv1beta1.DefinitionStatus{}
	if spec.Status != nil {
		status = *spec.Status
	}
	return map[string]any{
		"apiVersion":   spec.Workload.Definition.APIVersion,
		"kind":         spec.Workload.Definition.Kind,
		"template":     strings.TrimSpace(spec.Schematic.CUE.Template),
		"healthPolicy": strings.TrimSpace(status.HealthPolicy),
		"customStatus": strings.TrimSpace(status.CustomStatus),
	}
}

func treeOfTraitDefinition(spec *oamv1beta1.TraitDefinitionSpec) map[string]any {
	return map[string]any{
		"appliesToWorkloads": set(spec.AppliesToWorkloads),
		"conflictsWith":      set(spec.ConflictsWith),
		"template":           strings.TrimSpace(spec.Schematic.CUE.Template),
	}
}

// set returns the members of a list, sorted and each once.
func set(list []string) []string {
	members := map[string]bool{}
	for _, member := range list {
		members[member] = true
	}
	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(members))))
}

// hashOf sums up a value by its JSON, whose members are sorted.
func hashOf(value any) (string, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encoding what is summed up: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:hashBytes]), nil
}
