// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// Revision is one pod template as the package understands it. It is read only: its parts are shared with the
// cache and with each other.
type Revision struct {
	// Object is the stored revision; nil for a live template.
	Object *appsv1.ControllerRevision
	// Name is the object's name and Hash what follows its last '-'; both empty for a live template.
	Name, Hash string
	// Number orders the revisions of one owner; 0 for a live template.
	Number int64
	// Written is the template as its author wrote it: create pods from this one, so that the API server they
	// are created on chooses the defaults.
	Written *corev1.PodTemplateSpec
	// Template is Written with defaults filled in and meaningless empty values removed: compare this one.
	Template *corev1.PodTemplateSpec
	// Canonical is one spelling for all templates that mean the same; empty if Err is set.
	Canonical string
	// Err says why the template could not be understood. Such a revision equals nothing.
	Err error
}

// FromTemplate reads a live template. Nil means an empty one. Err is set only if it cannot be encoded.
func FromTemplate(template *corev1.PodTemplateSpec) Revision {
	if template == nil {
		template = &corev1.PodTemplateSpec{}
	}
	r := Revision{Written: template, Template: normalise(template)}
	canonical, err := spell(r.Template)
	if err != nil {
		r.Err = fmt.Errorf("reading the pod template: %w", err)
		return r
	}
	r.Canonical = canonical
	return r
}

// Decode reads a stored revision, whoever wrote it. Members beside spec.template, patch directives, nulls and
// whitespace are accepted and ignored. Fields of the template that our pod types do not know are kept in
// Canonical as plain JSON, so a difference in them is a difference. Err is set for data that holds no pod template.
func Decode(object *appsv1.ControllerRevision) Revision {
	if object == nil {
		return Revision{Err: errors.New("reading a revision: there is none")}
	}
	r := Revision{Object: object, Name: object.Name, Hash: HashOf(object.Name), Number: object.Revision}
	written, unknown, err := decodeTemplate(object)
	if err != nil {
		r.Err = fmt.Errorf("reading revision %q: %w", object.Name, err)
		return r
	}
	live := FromTemplate(written)
	r.Written, r.Template, r.Canonical, r.Err = live.Written, live.Template, live.Canonical, live.Err
	if r.Err == nil && unknown != "" {
		r.Canonical += "\n" + unknown
	}
	return r
}

// Equal says whether two revisions mean the same pods. It compares strings made once, so it is cheap.
// A revision that could not be read equals nothing.
func Equal(a, b Revision) bool {
	return a.Err == nil && b.Err == nil && a.Canonical == b.Canonical
}

func decodeTemplate(object *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, string, error) {
	raw := object.Data.Raw
	if raw == nil && object.Data.Object != nil {
		encoded, err := json.Marshal(object.Data.Object)
		if err != nil {
			return nil, "", fmt.Errorf("encoding its data: %w", err)
		}
		raw = encoded
	}
	data := map[string]any{}
	if err := json.Unmarshal(raw, &data); err != nil {
		return nil, "", fmt.Errorf("parsing its data: %w", err)
	}
	spec, _ := data["spec"].(map[string]any)
	tree, ok := spec["template"].(map[string]any)
	if !ok {
		return nil, "", errors.New("its data has no object spec.template")
	}
	delete(tree, patchMember)
	dropNulls(tree)
	clean, err := json.Marshal(tree)
	if err != nil {
		return nil, "", fmt.Errorf("encoding its template: %w", err)
	}
	template := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal(clean, template); err != nil {
		return nil, "", fmt.Errorf("parsing its template: %w", err)
	}
	unknown, err := unknownMembers(tree)
	if err != nil {
		return nil, "", fmt.Errorf("encoding the unknown fields of its template: %w", err)
	}
	return template, unknown, nil
}

// dropNulls removes members whose value is null, at any depth. Nulls in lists stay: they hold a place.
func dropNulls(node any) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if value == nil {
				delete(node, key)
				continue
			}
			dropNulls(value)
		}
	case []any:
		for _, item := range node {
			dropNulls(item)
		}
	}
}
