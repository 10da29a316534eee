// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Parse reads a file of kinds: YAML with a list `kinds` of declarations. Whatever in it is not understood is an error that names
// it, and all errors are told at once.
func Parse(file []byte) ([]Declaration, error) {
	content := struct {
		Kinds []Declaration `json:"kinds"`
	}{}
	if err := yaml.UnmarshalStrict(file, &content); err != nil {
		return nil, fmt.Errorf("reading kinds: %w", err)
	}
	var wrong []error
	first := map[schema.GroupVersionKind]bool{}
	for i, d := range content.Kinds {
		k, err := d.described()
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("kinds[%d]: %w", i, err))
		case first[k.id]:
			wrong = append(wrong, fmt.Errorf("kinds[%d]: %s of %s is there twice", i, d.Kind, d.APIVersion))
		default:
			first[k.id] = true
		}
	}
	return content.Kinds, errors.Join(wrong...)
}

// described returns the kind that is described. The error names every path that is missing, unknown or unreadable.
func (d Declaration) described() (declared, error) {
	k := declared{}
	group, err := schema.ParseGroupVersion(d.APIVersion)
	if err != nil || group.Version == "" || d.Kind == "" {
		return k, fmt.Errorf("apiVersion %q and kind %q are not those of a kind", d.APIVersion, d.Kind)
	}
	k.id = group.WithKind(d.Kind)
	f, c := &k.fields, &k.counted
	places := map[string]*path{
		replicasPath: &f.replicas, templatePath: &f.template, partitionPath: &f.partition, pausedPath: &f.paused,
		observedGenerationPath: &f.observed, currentRevisionPath: &f.current,
		podsPath: &c.pods, readyPath: &c.ready, availablePath: &c.available, updatedPath: &c.updated, updatedAvailablePath: &c.updatedAvailable,
	}
	usual := map[string]string{
		templatePath: ".spec.template", observedGenerationPath: ".status.observedGeneration",
		podsPath: ".status.replicas", readyPath: ".status.readyReplicas", availablePath: ".status.availableReplicas",
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(d.Paths)) {
		if places[name] == nil {
			wrong = append(wrong, fmt.Errorf("%s is not known: use one of %s", name, strings.Join(slices.Sorted(maps.Keys(places)), ", ")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		text, given := d.Paths[name]
		if !given {
			text, given = usual[name]
		}
		if !given {
			continue
		}
		if *places[name], err = parsePath(text); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		}
	}
	needed := []string{replicasPath}
	if d.Paths[partitionPath] != "" {
		needed = append(needed, updatedPath, updatedAvailablePath)
	}
	for _, name := range needed {
		if d.Paths[name] == "" {
			wrong = append(wrong, fmt.Errorf("%s is missing", name))
		}
	}
	return k, errors.Join(wrong...)
}
