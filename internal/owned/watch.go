// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// By is the kind of the objects that own. Other publishers of an API write other versions of it into owner
// references, so only group and kind count.
type By schema.GroupKind

// Is tells whether an owner reference is to an object of the kind.
func (b By) Is(reference *metav1.OwnerReference) bool {
	if reference.Kind != b.Kind {
		return false
	}
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	return err == nil && version.Group == b.Group
}

// Owner names the object of the kind that controls another.
func (b By) Owner(object client.Object) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil || !b.Is(owner) {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name}, true
}

// Requests ask to look at the owner of an object.
func (b By) Requests(_ context.Context, object client.Object) []reconcile.Request {
	if name, owned := b.Owner(object); owned {
		return []reconcile.Request{{NamespacedName: name}}
	}
	return nil
}

// Changes keeps objects of others, and resyncs, away from the queue. An old and a new owner both count: a
// pod that was given away is one less.
func (b By) Changes() predicate.Predicate {
	return ChangesOf(func(object client.Object) bool {
		_, owned := b.Owner(object)
		return owned
	})
}

// ChangesOf lets the changes of objects through that are, or were, of a kind that matters. Resyncs are left out.
func ChangesOf(matters func(client.Object) bool) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return matters(e.Object) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return matters(e.Object) },
		GenericFunc: func(e event.GenericEvent) bool { return matters(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return changed(e) && (matters(e.ObjectOld) || matters(e.ObjectNew))
		},
	}
}

// Written lets every change of an owner through, the status included: our own status patch has to be seen
// before the next decision. Resyncs are left out.
func Written() predicate.Predicate { return predicate.Funcs{UpdateFunc: changed} }

func changed(e event.UpdateEvent) bool {
	return e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
}
