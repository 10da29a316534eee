// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// differingFields names the fields in which two pod specs differ, sorted, list members by their name.
func differingFields(root string, a, b *corev1.PodSpec) []string {
	left, errLeft := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	right, errRight := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	if errLeft != nil || errRight != nil {
		return []string{fmt.Sprintf("%s: cannot be compared: %v%v", root, errLeft, errRight)}
	}
	return differences(root, left, right)
}

func differences(path string, a, b any) []string {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	switch left := a.(type) {
	case map[string]any:
		if right, ok := b.(map[string]any); ok {
			return mapDifferences(path, left, right)
		}
	case []any:
		if right, ok := b.([]any); ok {
			return listDifferences(path, left, right)
		}
	}
	return []string{path}
}

func mapDifferences(path string, a, b map[string]any) []string {
	var found []string
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		found = append(found, differences(path+"."+key, a[key], b[key])...)
	}
	return found
}

// listDifferences goes into the members only where both lists name the same members in the same order;
// otherwise the list itself is what differs.
func listDifferences(path string, a, b []any) []string {
	if len(a) != len(b) {
		return []string{path}
	}
	var found []string
	for i := range a {
		left, right := memberName(a[i]), memberName(b[i])
		if left == "" || left != right {
			return []string{path}
		}
		found = append(found, differences(fmt.Sprintf("%s[%s]", path, left), a[i], b[i])...)
	}
	return found
}

func memberName(item any) string {
	if fields, ok := item.(map[string]any); ok {
		if name, ok := fields["name"].(string); ok {
			return name
		}
	}
	return ""
}
