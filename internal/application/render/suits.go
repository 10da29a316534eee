// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// suits reports what is wrong with a component before any template is evaluated: traits that do not go with its workload, or with
// each other.
func suits(c Component) Problems {
	var all Problems
	if len(c.Traits) > MaxTraits {
		return source{component: c.Name, definition: c.Type}.problems("traits", "has %d; at most %d are allowed", len(c.Traits), MaxTraits)
	}
	for i, trait := range c.Traits {
		s := source{component: c.Name, definition: trait.Type, isTrait: true}
		if !applies(trait.AppliesTo, c) {
			all = append(all, s.problem("type", "does not apply to %q (%s): use it with %s", c.Type, resource(c).String(), strings.Join(trait.AppliesTo, ", ")))
		}
		for j, other := range c.Traits {
			// Told once, by the trait that comes later.
			if j < i && other.Type != trait.Type && (slices.Contains(trait.ConflictsWith, other.Type) || slices.Contains(other.ConflictsWith, trait.Type)) {
				all = append(all, s.problem("type", "conflicts with trait %q of the same component: use only one of them", other.Type))
			}
		}
	}
	return all.enough()
}

func resource(c Component) schema.GroupResource {
	gv, err := schema.ParseGroupVersion(c.APIVersion)
	if err != nil {
		return schema.GroupResource{}
	}
	plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(c.Kind))
	return plural.GroupResource()
}

// applies tells whether one of the forms names the component: its type, a resource with its group, all of a group, or all.
func applies(to []string, c Component) bool {
	if len(to) == 0 {
		return true
	}
	r := resource(c)
	for _, form := range to {
		group, all := strings.CutPrefix(form, "*.")
		switch {
		case form == "*", form == c.Type, form == r.String(), all && group == r.Group:
			return true
		}
	}
	return false
}
