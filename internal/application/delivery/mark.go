// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// Application is whose objects they are.
type Application struct {
	Namespace, Name string
	UID             types.UID
}

// Mark makes an object one of a component in a revision of the application. The application controls it; labels of a pod template
// stay as they are, because each change of those would be a new version.
func (a Application) Mark(o *unstructured.Unstructured, appRevision string, c *Component) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[oamv1beta1.LabelAppName] = a.Name
	labels[oamv1beta1.LabelComponent] = c.Name
	labels[oamv1beta1.LabelAppRevision] = appRevision
	labels[oamv1beta1.LabelComponentRevision] = c.Revision
	o.SetLabels(labels)
	a.Own(o)
}

// Own has the application control an object.
func (a Application) Own(o *unstructured.Unstructured) {
	o.SetNamespace(a.Namespace)
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: a.Name, UID: a.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(false),
	}})
}

// Owns tells whether an object may be changed for the application: the application controls it or is among its owners, as it is
// while a rollout holds it.
func (a Application) Owns(o metav1.Object) bool {
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == a.UID {
			return true
		}
	}
	return false
}

// Is tells whether an object was last delivered from a revision of the application.
func Is(o metav1.Object, appRevision string) bool {
	return o.GetLabels()[oamv1beta1.LabelAppRevision] == appRevision
}

// RevisionOf is the component revision that an object was last delivered from; empty for one that never was.
func RevisionOf(o metav1.Object) string { return o.GetLabels()[oamv1beta1.LabelComponentRevision] }
