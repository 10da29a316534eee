// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
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

// Fields compares two specs by what they mean: defaults that only one of them spells out do not differ.
func Fields(before, after *kruisev1alpha1.CloneSet) ([]Field, error) {
	left, err := meaning(before)
	if err != nil {
		return nil, err
	}
	right, err := meaning(after)
	if err != nil {
		return nil, err
	}
	return differing("spec", left, right), nil
}

func meaning(set *kruisev1alpha1.CloneSet) (any, error) {
	spec := Defaulted(set).Spec
	spec.Template = *revision.FromTemplate(&spec.Template).Template
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encoding the spec of CloneSet %s: %w", set.Name, err)
	}
	var tree any
	return tree, json.Unmarshal(raw, &tree)
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
