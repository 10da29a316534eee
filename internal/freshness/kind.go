// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// EmptyLike is a new, empty object of the same kind.
func EmptyLike(object client.Object) client.Object {
	if dynamic, ok := object.(*unstructured.Unstructured); ok { // its kind is no Go type
		empty := &unstructured.Unstructured{}
		empty.SetGroupVersionKind(dynamic.GroupVersionKind())
		return empty
	}
	empty, ok := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	if !ok {
		panic("freshness: " + reflect.TypeOf(object).String() + " does not point to an API object")
	}
	return empty
}

// kindOf names the kind of an object.
func kindOf(object client.Object) string {
	if dynamic, ok := object.(*unstructured.Unstructured); ok {
		return dynamic.GroupVersionKind().String()
	}
	return fmt.Sprintf("%T", object)
}
