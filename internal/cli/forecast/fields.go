// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/revision"
)

// Field is one field of the spec that changes. Either side is empty where there is nothing.
type Field struct {
	Path   string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// String tells it in one line.
func (f Field) String() string {
	switch {
	case f.Before == "":
		return fmt.Sprintf("%s: %s is added", f.Path, f.After)
	case f.After == "":
		return fmt.Sprintf("%s: %s is removed", f.Path, f.Before)
	}
	return fmt.Sprintf("%s: %s -> %s", f.Path, f.Before, f.After)
}

// Fields compares the specs of two objects by what they mean: defaults that only one of them spells out do not differ.
func (k Kind) Fields(before, after client.Object) ([]Field, error) {
	left, err := k.meaning(before)
	if err != nil {
		return nil, err
	}
	right, err := k.meaning(after)
	if err != nil {
		return nil, err
	}
	return differing("spec", left, right), nil
}

func (k Kind) meaning(o client.Object) (any, error) {
	full := o.DeepCopyObject().(client.Object)
	k.Default(full)
	template := k.Template(full)
	*template = *revision.FromTemplate(template).Template
	raw, err := json.Marshal(full)
	if err != nil {
		return nil, fmt.Errorf("encoding the spec of %s %s: %w", k.Title, o.GetName(), err)
	}
	var tree struct{ Spec any }
	err = json.Unmarshal(raw, &tree)
	return tree.Spec, err
}

func differing(path string, a, b any) []Field {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	left, right := members(a), members(b)
	if left == nil || right == nil {
		return []Field{{Path: path, Before: short(a), After: short(b)}}
	}
	keys := map[string]bool{}
	for key := range left {
		keys[key] = true
	}
	for key := range right {
		keys[key] = true
	}
	var found []Field
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		found = append(found, differing(path+key, left[key], right[key])...)
	}
	return found
}

// members are the fields of an object, or the items of a list by their names; nil for anything else.
func members(value any) map[string]any {
	found := map[string]any{}
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			found["."+key] = member
		}
		return found
	case []any:
		for _, item := range value {
			fields, _ := item.(map[string]any)
			name, named := fields["name"].(string)
			if _, twice := found["["+name+"]"]; !named || twice {
				return nil
			}
			found["["+name+"]"] = item
		}
		return found
	}
	return nil
}

func short(value any) string {
	if value == nil {
		return ""
	}
	if text, ok := value.(string); ok {
		return text
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(raw)
}
