// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key names an object in the namespace of an application, whatever the version of its kind.
type Key struct {
	Kind schema.GroupKind
	Name string
}

// KeyOf is the key of an object.
func KeyOf(o *unstructured.Unstructured) Key {
	return Key{o.GroupVersionKind().GroupKind(), o.GetName()}
}
