// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"slipway.dev/slipway/internal/step"
)

// key names an object in the namespace of the application.
type key struct {
	kind schema.GroupKind
	name string
}

func keyOf(o *unstructured.Unstructured) key {
	return key{o.GroupVersionKind().GroupKind(), o.GetName()}
}

// forget takes away what the latest revision does not have, now that all of it is deployed. What another workload replaces goes
// when that one has all its pods.
func (p *planner) forget() {
	has := map[key]bool{}
	for i := range p.Components {
		c := &p.Components[i]
		for _, extra := range c.Extras {
			has[keyOf(extra)] = true
		}
		current := Current(c)
		for _, o := range c.Live {
			if o == current || !c.Healthy {
				has[keyOf(o)] = true
			}
		}
	}
	for _, o := range p.live() {
		if has[keyOf(o)] || o.GetDeletionTimestamp() != nil || !p.app.Owns(o) {
			continue
		}
		p.plan.Steps = append(p.plan.Steps, removal(o, step.Because(fmt.Sprintf("it is not in %s", p.Latest))))
	}
}

// live are all objects that were applied, each once.
func (p *planner) live() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	known := map[key]bool{}
	add := func(o *unstructured.Unstructured) {
		if o != nil && !known[keyOf(o)] {
			known[keyOf(o)] = true
			all = append(all, o)
		}
	}
	for i := range p.Components {
		for _, o := range p.Components[i].Live {
			add(o)
		}
	}
	for _, o := range p.Applied {
		add(o)
	}
	return all
}
