// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// MaxBytes is how large a revision may be in the store: somewhat less than what etcd takes by default, because the server adds
// metadata.
const MaxBytes = 1_500_000

// TooBig is the error of a revision that cannot be stored.
type TooBig struct {
	// Revision is its name, Bytes its size.
	Revision string
	Bytes    int
	// Component is the biggest of its components, and the others say what that is made of, in bytes.
	Component                         string
	Properties, Definitions, Rendered int
}

// Error says how large it is, how large it may be, and what to make smaller.
func (e *TooBig) Error() string {
	return fmt.Sprintf("revision %q has %d bytes, and %d can be stored: the biggest component is %q, with %d bytes of properties, %d of definitions "+
		"and %d of rendered objects. Make it smaller, or make two applications of this one",
		e.Revision, e.Bytes, MaxBytes, e.Component, e.Properties, e.Definitions, e.Rendered)
}

func checkSize(revision *oamv1beta1.ApplicationRevision) error {
	bytes, err := sizeOf(revision)
	if err != nil {
		return fmt.Errorf("measuring revision %q: %w", revision.Name, err)
	}
	if bytes <= MaxBytes {
		return nil
	}
	tooBig := &TooBig{Revision: revision.Name, Bytes: bytes}
	spec := &revision.Spec
	for i := range spec.Application.Spec.Components {
		parts, err := partsOf(spec, &spec.Application.Spec.Components[i])
		if err != nil {
			return fmt.Errorf("measuring component %q of revision %q: %w", spec.Application.Spec.Components[i].Name, revision.Name, err)
		}
		if i == 0 || parts.Properties+parts.Definitions+parts.Rendered > tooBig.Properties+tooBig.Definitions+tooBig.Rendered {
			tooBig.Component, tooBig.Properties, tooBig.Definitions, tooBig.Rendered = parts.Component, parts.Properties, parts.Definitions, parts.Rendered
		}
	}
	return tooBig
}

// partsOf measures what a component adds to a revision.
func partsOf(spec *oamv1beta1.ApplicationRevisionSpec, component *oamv1beta1.ApplicationComponent) (TooBig, error) {
	parts := TooBig{Component: component.Name}
	definitions := []any{spec.ComponentDefinitions[component.Type]}
	known := map[string]bool{}
	for i := range component.Traits {
		if name := component.Traits[i].Type; !known[name] {
			known[name] = true
			definitions = append(definitions, spec.TraitDefinitions[name])
		}
	}
	var rendered []any
	for i := range spec.ComponentRevisions {
		if spec.ComponentRevisions[i].Name == component.Name {
			rendered = append(rendered, spec.ComponentRevisions[i])
		}
	}
	var err error
	if parts.Properties, err = length(component); err != nil {
		return parts, err
	}
	if parts.Definitions, err = length(definitions); err != nil {
		return parts, err
	}
	parts.Rendered, err = length(rendered)
	return parts, err
}

func length(value any) (int, error) {
	raw, err := json.Marshal(value)
	return len(raw), err
}

// sizeOf returns how many bytes a revision has in the store: its JSON, and the names of its fields, which the server lists once
// more by who has written them.
func sizeOf(revision *oamv1beta1.ApplicationRevision) (int, error) {
	raw, err := json.Marshal(revision)
	if err != nil {
		return 0, err
	}
	tree := map[string]any{}
	if err := json.Unmarshal(raw, &tree); err != nil {
		return 0, err
	}
	return len(raw) + fieldNames(tree), nil
}

const (
	// perField is what a field has in such a list besides its name, as in "f:name":{}, and perItem an item, as in k:{"name":"x"}.
	perField = len(`"f:":{},`)
	perItem  = len(`"k:{\"name\":\"\"}":{".":{}},`)
)

func fieldNames(node map[string]any) int {
	sum := len(`".":{},`)
	for key, value := range node {
		sum += len(key) + perField
		switch value := value.(type) {
		case map[string]any:
			sum += fieldNames(value)
		case []any:
			if key != "componentRevisions" {
				continue // the list belongs to its writer as a whole
			}
			for _, item := range value {
				if item, ok := item.(map[string]any); ok {
					name, _ := item["name"].(string)
					sum += len(name) + perItem + fieldNames(item)
				}
			}
		}
	}
	return sum
}
