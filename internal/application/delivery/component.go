// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// Component is a component in one revision of an application, as it was rendered.
type Component struct {
	// Name of the component, and Revision the name of its own revision.
	Name, Revision string
	Workload       *unstructured.Unstructured
	// Extras are the objects besides.
	Extras []*unstructured.Unstructured
}

// Find returns a component of a revision; false when the revision does not have it.
func Find(of *oamv1beta1.ApplicationRevision, name string) (Component, bool, error) {
	for i := range of.Spec.ComponentRevisions {
		if rendered := &of.Spec.ComponentRevisions[i]; rendered.Name == name {
			c, err := Read(rendered)
			if err != nil {
				return Component{}, true, fmt.Errorf("ApplicationRevision %s: %w", of.Name, err)
			}
			return c, true, nil
		}
	}
	return Component{}, false, nil
}

// Read reads what was rendered of a component.
func Read(rendered *oamv1beta1.ComponentRevision) (Component, error) {
	c := Component{Name: rendered.Name, Revision: rendered.Revision}
	var err error
	if c.Workload, err = object(rendered.Workload); err != nil {
		return c, fmt.Errorf("component %s: its workload: %w", rendered.Name, err)
	}
	for i := range rendered.Resources {
		extra, err := object(&rendered.Resources[i].Object)
		if err != nil {
			return c, fmt.Errorf("component %s: its resource %s: %w", rendered.Name, rendered.Resources[i].Name, err)
		}
		c.Extras = append(c.Extras, extra)
	}
	return c, nil
}

func object(raw *runtime.RawExtension) (*unstructured.Unstructured, error) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, fmt.Errorf("there is none")
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw.Raw); err != nil {
		return nil, err
	}
	return o, nil
}
