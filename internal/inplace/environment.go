// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A container gets its environment when it starts. A label or annotation that it reads there may change
// under it, and only a restart shows it the new value.

const (
	labelPath      = "metadata.labels['"
	annotationPath = "metadata.annotations['"
)

// reference is an environment variable that is read from a label or an annotation.
type reference struct {
	env string
	// path is the field path as the template spells it.
	path string
	key  string
	// label tells labels from annotations.
	label bool
}

// ignoredReferences are set by injectors for their own use; they are never waited for.
var ignoredReferences = []string{"SIDECARSET_VERSION", "SIDECARSET_VERSION_ALT"}

func referencesOf(c *corev1.Container) []reference {
	var found []reference
	for i := range c.Env {
		e := &c.Env[i]
		if e.Value != "" || e.ValueFrom == nil || e.ValueFrom.FieldRef == nil || slices.Contains(ignoredReferences, e.Name) {
			continue
		}
		path := e.ValueFrom.FieldRef.FieldPath
		if key, ok := strings.CutPrefix(path, labelPath); ok {
			found = append(found, reference{env: e.Name, path: path, key: strings.TrimSuffix(key, "']"), label: true})
		} else if key, ok := strings.CutPrefix(path, annotationPath); ok {
			found = append(found, reference{env: e.Name, path: path, key: strings.TrimSuffix(key, "']")})
		}
	}
	return found
}

// sets tells whether the label or annotation gets a new value. A removed key is not meant: the running
// container keeps what it had.
func (d Difference) sets(r reference) bool {
	if r.label {
		return d.Labels[r.key] != nil
	}
	return d.Annotations[r.key] != nil
}

// readingNew are the references by which a container reads what d changes.
func (d Difference) readingNew(c *corev1.Container) []reference {
	return slices.DeleteFunc(referencesOf(c), func(r reference) bool { return !d.sets(r) })
}

// readers are the containers of the pod that read what d changes, in the order of the pod.
func (d Difference) readers(p *corev1.Pod) []string {
	var names []string
	for i := range p.Spec.Containers {
		if c := &p.Spec.Containers[i]; len(d.readingNew(c)) > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}
