// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli/manifest"
)

// Manifest is an object as somebody wrote it.
type Manifest struct {
	// File is where it was read, for messages.
	File string
	ID   schema.GroupVersionKind
	// Object is what was written; JSON the same with nothing added.
	Object client.Object
	JSON   []byte
}

// Key names the object.
func (m Manifest) Key() types.NamespacedName { return client.ObjectKeyFromObject(m.Object) }

// String names the object with its kind.
func (m Manifest) String() string { return m.ID.Kind + " " + m.Key().String() }

// Known are kinds of objects that are read.
type Known struct {
	Kinds []schema.GroupVersionKind
	// Refused are kinds that somebody would take for planned if they were passed over, each with what to do instead.
	Refused map[schema.GroupKind]string
}

// ReadManifests reads all objects of known kinds of a file of YAML documents or JSON, and passes over objects of other
// kinds. Objects without a namespace get the given one. Errors name the file, the document and the field.
func ReadManifests(file string, r io.Reader, namespace string, scheme *runtime.Scheme, known Known) ([]Manifest, error) {
	var found []Manifest
	var others []string
	err := manifest.Each(file, r, func(kind metav1.TypeMeta, where string, raw []byte) error {
		m := Manifest{File: file, ID: kind.GroupVersionKind()}
		if instead := known.Refused[m.ID.GroupKind()]; instead != "" {
			return fmt.Errorf("%s: no %s can be planned: %s; these kinds can be: %s", where, kind.Kind, instead, strings.Join(names(known.Kinds), ", "))
		}
		if !slices.Contains(known.Kinds, m.ID) {
			others = append(others, cmp.Or(kind.Kind, "an object without a kind"))
			return otherVersion(kind, where, known.Kinds)
		}
		made, err := scheme.New(m.ID)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		m.Object = made.(client.Object)
		if err := manifest.DecodeAs(raw, m.Object, scheme); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if m.Object.GetName() == "" {
			return fmt.Errorf("%s: metadata.name: is missing", where)
		}
		if m.Object.GetNamespace() == "" {
			m.Object.SetNamespace(namespace)
		}
		if m.JSON, err = withNamespace(raw, m.Object.GetNamespace()); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		found = append(found, m)
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: holds nothing that can be planned%s; these kinds can be: %s", file, only(others), strings.Join(names(known.Kinds), ", "))
	}
	return found, err
}

// otherVersion refuses a kind that is known by its name only: somebody would take it for planned.
func otherVersion(kind metav1.TypeMeta, where string, known []schema.GroupVersionKind) error {
	var versions []string
	for _, id := range known {
		if id.Kind == kind.Kind {
			versions = append(versions, id.GroupVersion().String())
		}
	}
	if len(versions) == 0 {
		return nil
	}
	return fmt.Errorf("%s: apiVersion: %s of %q is not known, only %s", where, kind.Kind, kind.APIVersion, strings.Join(versions, " and "))
}

func only(others []string) string {
	if len(others) == 0 {
		return ""
	}
	slices.Sort(others)
	return ", only " + strings.Join(slices.Compact(others), ", ")
}

// names are the kinds, with their groups where two have the same name.
func names(known []schema.GroupVersionKind) []string {
	var all []string
	for _, id := range known {
		name := id.Kind
		if slices.ContainsFunc(known, func(other schema.GroupVersionKind) bool { return other.Kind == id.Kind && other.Group != id.Group }) {
			name += " (" + id.GroupVersion().String() + ")"
		}
		all = append(all, name)
	}
	return all
}

func withNamespace(raw []byte, namespace string) ([]byte, error) {
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		metadata["namespace"] = namespace
	}
	delete(tree, "status")
	return json.Marshal(tree)
}
