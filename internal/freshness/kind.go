// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// EmptyLike is a new, empty object of the same kind.
func EmptyLike(object client.Object) client.Object {
	empty, ok := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	if !ok {
		panic("freshness: " + reflect.TypeOf(object).String() + " does not point to an API object")
	}
	return empty
}
