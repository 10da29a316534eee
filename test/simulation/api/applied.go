// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Apply applies an object on the server's side, for a manager of fields. It creates what is not there. Without force, a field that
// somebody else owns with another value is a conflict. A UID or a resource version in the object is a precondition.
//
// From the first time on that an object is applied, every write of it counts for who owns its fields; the actor of a write is its
// manager. Objects that are never applied have no owners of fields, and no write of a status changes any: nobody asks for those.
func (s *Server) Apply(actor, manager string, object *unstructured.Unstructured, force bool) (client.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, key := KindOf(object), client.ObjectKeyFromObject(object)
	before, exists := s.objects[kind][key]
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetGroupVersionKind(object.GroupVersionKind())
	if exists {
		assign(live, before)
	}
	merged, err := owners.of(object.GroupVersionKind()).Apply(live, object.DeepCopy(), manager, force)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is the server's answer
	}
	after, err := typed(kind, merged)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("applying %s %s: %v", kind, key, err))
	}
	switch {
	case exists:
		return s.replace(actor, kind, Main, before, after, true)
	case object.GetUID() != "":
		return nil, apierrors.NewConflict(kind.resource(), key.Name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", object.GetUID()))
	}
	return s.create(actor, after)
}

// own has an actor own what it has changed in an object that somebody has applied.
func own(actor string, before, after client.Object) error {
	id := schema.FromAPIVersionAndKind(before.GetManagedFields()[0].APIVersion, KindOf(before).groupKind().Kind)
	versions := [2]*unstructured.Unstructured{}
	for i, o := range []client.Object{before, after} {
		versions[i] = &unstructured.Unstructured{Object: map[string]any{}}
		versions[i].SetGroupVersionKind(id)
		assign(versions[i], o)
	}
	changed, err := owners.of(id).Update(versions[0], versions[1], actor)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("finding out who owns the fields of %s: %w", after.GetName(), err))
	}
	told, is := changed.(*unstructured.Unstructured)
	if !is {
		return apierrors.NewInternalError(fmt.Errorf("the owners of fields are told by a %T", changed))
	}
	after.SetManagedFields(told.GetManagedFields())
	timeless(after)
	return nil
}

// typed is an object as it is stored.
func typed(kind Kind, o runtime.Object) (client.Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("encoding the result: %w", err)
	}
	after := kind.empty()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, after); err != nil {
		return nil, fmt.Errorf("decoding the result: %w", err)
	}
	timeless(after)
	return after, nil
}

// timeless drops the times at which fields came to their owners: they are those of the machine and not of the simulation.
func timeless(o client.Object) {
	entries := o.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	o.SetManagedFields(entries)
}
