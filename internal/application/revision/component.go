// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// Rendered is what a component was rendered to.
type Rendered struct {
	// Name of the component.
	Name string
	// Workload is the workload, with what its traits changed.
	Workload map[string]any
	// Resources are the other objects, in their order.
	Resources []Resource
}

// Resource is an object beside the workload.
type Resource struct {
	// Name among the outputs of the template; Trait is the type of the trait, empty for the component itself.
	Name, Trait string
	Object      map[string]any
}

// Component is the revision of a component.
type Component struct {
	// Name of the component.
	Name string
	// Revision is the name of its revision, and Number the number in it.
	Revision string
	Number   int64
	// Hash of the workload's template: see TemplateHash.
	Hash string
	// Stored is the object of the revision; nil when it has to be created: see Object.
	Stored *appsv1.ControllerRevision

	workload map[string]any
}

// Known is what there is of the component revisions of an application.
type Known struct {
	// Stored are the component revisions that the application controls, in any order.
	Stored []*appsv1.ControllerRevision
	// Snapshots are the revisions that the application controls. What they say of component revisions counts, too, so that one
	// which somebody has deleted gets its name again.
	Snapshots []*oamv1beta1.ApplicationRevision
	// Taken are names that stand for something else by now. None of them is given to a component.
	Taken map[string]bool
}

// Components says which revisions the rendered components are, in their order: each an earlier one whose template means the
// same, the newest of them, or a new one. They are to be rendered with Placeholder as the name of their revision.
// It fails when a component has no workload, and when there is no number left.
func (k Known) Components(rendered []Rendered) ([]Component, error) {
	all := make([]Component, 0, len(rendered))
	var problems []error
	for i := range rendered {
		component, err := k.component(&rendered[i])
		if err != nil {
			problems = append(problems, fmt.Errorf("component %q: %w", rendered[i].Name, err))
			continue
		}
		all = append(all, component)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return all, nil
}

func (k Known) component(rendered *Rendered) (Component, error) {
	hash, err := TemplateHash(rendered.Workload)
	if err != nil {
		return Component{}, err
	}
	found := Component{Name: rendered.Name, Hash: hash, workload: rendered.Workload}
	var highest int64
	note := func(name, hash string, stored *appsv1.ControllerRevision) {
		number := NumberOf(rendered.Name, name)
		highest = max(highest, number)
		if hash == found.Hash && number > found.Number && !k.Taken[name] {
			found.Number, found.Stored = number, stored
		}
	}
	for _, stored := range k.Stored {
		if stored.Labels[oamv1beta1.LabelComponent] == rendered.Name {
			note(stored.Name, storedHash(stored), stored)
		}
	}
	for _, snapshot := range k.Snapshots {
		for i := range snapshot.Spec.ComponentRevisions {
			if known := &snapshot.Spec.ComponentRevisions[i]; known.Name == rendered.Name {
				note(known.Revision, known.RevisionHash, nil)
			}
		}
	}
	if found.Number == 0 {
		if found.Number, err = nextFree(rendered.Name, highest, k.Taken); err != nil {
			return Component{}, err
		}
	}
	found.Revision = Name(rendered.Name, found.Number)
	return found, nil
}

// IsStoredIn tells whether a component revision stores what means the same as the template of this one.
func (c Component) IsStoredIn(stored *appsv1.ControllerRevision) bool {
	return storedHash(stored) == c.Hash
}

// storedHash returns the hash of the template that a component revision stores, and the empty string when it cannot be read.
func storedHash(stored *appsv1.ControllerRevision) string {
	workload := map[string]any{}
	if err := json.Unmarshal(stored.Data.Raw, &workload); err != nil {
		return ""
	}
	hash, err := TemplateHash(workload)
	if err != nil {
		return ""
	}
	return hash
}

// Object returns the object of a new component revision of the application, to be created. It holds the workload as it was
// rendered with Placeholder.
func (c Component) Object(app *oamv1beta1.Application) (*appsv1.ControllerRevision, error) {
	data, err := json.Marshal(c.workload)
	if err != nil {
		return nil, fmt.Errorf("encoding the workload of component %q: %w", c.Name, err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace,
			Name:      c.Revision,
			Labels: map[string]string{
				oamv1beta1.LabelAppName:               app.Name,
				oamv1beta1.LabelComponent:             c.Name,
				oamv1beta1.LabelComponentRevisionHash: c.Hash,
			},
			OwnerReferences: []metav1.OwnerReference{ownedBy(app)},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: c.Number,
	}, nil
}

func ownedBy(app *oamv1beta1.Application) metav1.OwnerReference {
	return *metav1.NewControllerRef(app, oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationKind))
}
