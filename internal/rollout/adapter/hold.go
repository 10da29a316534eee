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

// marks tells whether an object that is held shows it: by the label that the watch of such objects asks for, and by an owner
// reference, which says whose it is.
func (h Holder) marks(o *unstructured.Unstructured) bool {
	refers := slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return pointsTo(&r, h.UID) })
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

// claim makes the holder an owner of the object: its controller, unless one of the holder's own is, for there can be only one.
func (h Holder) claim(o *unstructured.Unstructured) {
	refs := h.without(o.GetOwnerReferences())
	ref := metav1.OwnerReference{
		APIVersion: h.Kind.GroupVersion().String(), Kind: h.Kind.Kind, Name: h.Name, UID: h.UID, BlockOwnerDeletion: ptr.To(false),
	}
	if metav1.GetControllerOf(o) == nil || pointsTo(metav1.GetControllerOf(o), h.UID) {
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

// release takes off the object all that claim has put on it, and the record.
func (h Holder) release(o *unstructured.Unstructured) {
	if refs := h.without(o.GetOwnerReferences()); len(refs) > 0 {
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

func pointsTo(ref *metav1.OwnerReference, uid types.UID) bool { return ref != nil && ref.UID == uid }

// less is the map without a key; nil when nothing else is in it.
func less(m map[string]string, key string) map[string]string {
	m = maps.Clone(m)
	delete(m, key)
	if len(m) == 0 {
		return nil
	}
	return m
}
