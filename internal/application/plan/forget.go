// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/step"
)

// forget takes away what the latest revision does not have, now that all of it is deployed. What another workload replaces, also one
// of another kind, goes when that one has all its pods.
func (p *planner) forget() {
	has, lacks := map[delivery.Key]bool{}, map[string]bool{}
	for i := range p.Components {
		c := &p.Components[i]
		for _, extra := range c.Extras {
			has[delivery.KeyOf(extra)] = true
		}
		lacks[c.Name] = c.Driven && !c.Healthy
		current := Current(c)
		for _, o := range c.Live {
			if o == current || !c.Healthy {
				has[delivery.KeyOf(o)] = true
			}
		}
	}
	for _, o := range p.live() {
		labels := o.GetLabels()
		serves := labels[oamv1beta1.LabelWorkloadType] != "" && lacks[labels[oamv1beta1.LabelComponent]]
		if has[delivery.KeyOf(o)] || serves || o.GetDeletionTimestamp() != nil || !p.app.Owns(o) {
			continue
		}
		p.plan.Steps = append(p.plan.Steps, step.Delete(o, step.Because(fmt.Sprintf("it is not in %s", p.Latest))))
	}
}

// live are all objects that were applied, each once.
func (p *planner) live() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	known := map[delivery.Key]bool{}
	add := func(o *unstructured.Unstructured) {
		if o != nil && !known[delivery.KeyOf(o)] {
			known[delivery.KeyOf(o)] = true
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
