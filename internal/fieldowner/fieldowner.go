// SPDX-License-Identifier: Apache-2.0

package fieldowner

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Of are the managers that own a field, each once, in the order in which the object names them. The path has names of members
// only. A field that nobody owns has none: its value is a default, or it is not there.
func Of(object metav1.Object, path ...string) []string {
	var owners []string
	for _, entry := range object.GetManagedFields() {
		if has(&entry, path) && !slices.Contains(owners, entry.Manager) {
			owners = append(owners, entry.Manager)
		}
	}
	return owners
}

// Whose tells whether any of certain managers owns a field, and whether anybody else does.
func Whose(object metav1.Object, managers []string, path ...string) (theirs, others bool) {
	for _, owner := range Of(object, path...) {
		if slices.Contains(managers, owner) {
			theirs = true
		} else {
			others = true
		}
	}
	return theirs, others
}

// Applied tells whether a manager owns a field by having applied it on the server's side: then the field goes when the manager
// applies the object without it, unless others own it too.
func Applied(object metav1.Object, manager string, path ...string) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && has(&entry, path)
	})
}

// has tells whether an entry speaks of a field. One that cannot be read speaks of none.
func has(entry *metav1.ManagedFieldsEntry, path []string) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var tree map[string]json.RawMessage
	raw := json.RawMessage(entry.FieldsV1.GetRawBytes())
	for _, name := range path {
		tree = nil
		if json.Unmarshal(raw, &tree) != nil {
			return false
		}
		child, is := tree["f:"+name]
		if !is {
			return false
		}
		raw = child
	}
	return true
}
