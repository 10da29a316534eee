// SPDX-License-Identifier: Apache-2.0

package world

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
)

// Requests are the objects of a kind that a write is of, or that control what it is of.
func Requests(stored api.Kind, kind, group string) func(api.Write) []types.NamespacedName {
	return func(w api.Write) []types.NamespacedName {
		if w.Kind == stored {
			return []types.NamespacedName{w.Key()}
		}
		var found []types.NamespacedName
		for _, o := range []client.Object{w.Before, w.After} {
			if name, is := ControlledBy(o, kind, group); is {
				found = append(found, types.NamespacedName{Namespace: o.GetNamespace(), Name: name})
			}
		}
		return found
	}
}

// ControlledBy is the name of the controller of an object, when it is of a kind.
func ControlledBy(o client.Object, kind, group string) (string, bool) {
	if o == nil {
		return "", false
	}
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil || owner.Kind != kind {
		return "", false
	}
	version := owner.APIVersion
	return owner.Name, version == group+"/v1" || version == group+"/v1alpha1" || version == group+"/v1beta1"
}
