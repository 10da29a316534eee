// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// Holder is the object that holds workloads: a rollout.
type Holder struct {
	Kind schema.GroupVersionKind
	Name string
	UID  types.UID
	// Own are the UIDs of controllers that workloads may have beside: who keeps them for the same application.
	Own []types.UID
}

// holds tells whether an object is held: by an owner reference, or by a record when only the reference was lost, as when the
// rollout is deleted without its dependents. A record that is about another object or another rollout speaks against it.
func (h Holder) holds(o *unstructured.Unstructured) bool {
	record := recordOn(o)
	if record != nil && record.Holder != h.UID || record == nil && o.GetAnnotations()[rolloutv1alpha1.AnnotationHeld] != "" {
		return false
	}
	refers := slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == h.UID })
	return refers || record != nil && h.other(o) == ""
}

// marks tells whether an object that is held shows it: by the label that the watch of such objects asks for, and by a controller,
// which says whose it is.
func (h Holder) marks(o *unstructured.Unstructured) bool {
	refers := slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == h.UID && controls(r) })
	return refers && o.GetLabels()[rolloutv1alpha1.LabelHeld] == "true"
}

// other names the controller of an object that is neither the holder nor one of its own; empty for none.
func (h Holder) other(o *unstructured.Unstructured) string {
	ref := metav1.GetControllerOf(o)
	if ref == nil || ref.UID == h.UID || slices.Contains(h.Own, ref.UID) {
		return ""
	}
	return ref.Kind + " " + ref.Name
}

// claim makes the holder the controller of the object. There can be only one: one of the holder's own becomes an owner among
// others for as long as that lasts.
func (h Holder) claim(o *unstructured.Unstructured) {
	refs := h.without(o.GetOwnerReferences())
	for i := range refs {
		if slices.Contains(h.Own, refs[i].UID) {
			refs[i].Controller = nil
		}
	}
	ref := metav1.OwnerReference{
		APIVersion: h.Kind.GroupVersion().String(), Kind: h.Kind.Kind, Name: h.Name, UID: h.UID, BlockOwnerDeletion: ptr.To(false),
	}
	o.SetOwnerReferences(refs)
	if metav1.GetControllerOf(o) == nil { // else it has come under the control of another, which is for the engine to say
		ref.Controller = ptr.To(true)
	}
	o.SetOwnerReferences(append(refs, ref))
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[rolloutv1alpha1.LabelHeld] = "true"
	o.SetLabels(labels)
}

// release takes off the object all that claim has put on it, and the record. Who was its controller before becomes that again,
// unless others have made somebody else its controller, or have taken that owner off it.
func (h Holder) release(o *unstructured.Unstructured) {
	refs := h.without(o.GetOwnerReferences())
	if record := recordOn(o); record != nil && !slices.ContainsFunc(refs, controls) {
		for i := range refs {
			if refs[i].UID == record.Controller {
				refs[i].Controller = ptr.To(true)
			}
		}
	}
	if len(refs) > 0 {
		o.SetOwnerReferences(refs)
	} else {
		in("metadata", "ownerReferences").remove(o)
	}
	o.SetLabels(less(o.GetLabels(), rolloutv1alpha1.LabelHeld))
	o.SetAnnotations(less(o.GetAnnotations(), rolloutv1alpha1.AnnotationHeld))
}

func (h Holder) without(refs []metav1.OwnerReference) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(refs), func(r metav1.OwnerReference) bool { return r.UID == h.UID })
}

func controls(ref metav1.OwnerReference) bool { return ptr.Deref(ref.Controller, false) }

// less is the map without a key; nil when nothing else is in it.
func less(m map[string]string, key string) map[string]string {
	m = maps.Clone(m)
	delete(m, key)
	if len(m) == 0 {
		return nil
	}
	return m
}
