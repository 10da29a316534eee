// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/json"
)

// normalise returns a copy of the template with defaults filled in and without empty values that mean nothing.
func normalise(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	normal := template.DeepCopy()
	dropEmpty(reflect.ValueOf(normal).Elem())
	defaultTemplate(normal)
	dropEmptyObjects(&normal.Spec)
	return normal
}

// spell returns the one spelling of a normalised template.
func spell(normal *corev1.PodTemplateSpec) (string, error) {
	plain := normal.DeepCopy()
	respell(reflect.ValueOf(plain).Elem())
	raw, err := json.Marshal(plain)
	return string(raw), err
}

// dropEmptyObjects removes the empty objects that say no more than their absence. All others stay, because there
// the empty object chooses or selects something: a volume source (emptyDir: {}), a label selector (everything,
// where absence is nothing), seLinuxOptions and windowsOptions (of a container they replace the pod's), and every
// handler or profile that the API server would refuse as empty: a template that repairs it must be a change.
func dropEmptyObjects(spec *corev1.PodSpec) {
	if affinity := spec.Affinity; affinity != nil {
		dropZero(&affinity.NodeAffinity)
		dropZero(&affinity.PodAffinity)
		dropZero(&affinity.PodAntiAffinity)
	}
	dropZero(&spec.Affinity)
	dropZero(&spec.DNSConfig)
	dropZero(&spec.Resources)
	// Every API server adds an empty one; ours is absent, so that a pod and its template compare alike.
	dropZero(&spec.SecurityContext)
	forEachContainer(spec, func(c *corev1.Container) {
		if c.SecurityContext != nil {
			dropZero(&c.SecurityContext.Capabilities)
		}
		dropZero(&c.SecurityContext)
		dropZero(&c.Lifecycle)
	})
}

func dropZero[T any](pointer **T) {
	if *pointer != nil && reflect.ValueOf(*pointer).Elem().IsZero() {
		*pointer = nil
	}
}

// dropEmpty makes every empty list and map nil. No field of a pod tells the two apart: the API server itself
// loses the difference when it stores.
func dropEmpty(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			dropEmpty(value.Elem())
		}
	case reflect.Struct:
		for _, i := range walkable(value.Type(), holdsLists) {
			dropEmpty(value.Field(i))
		}
	case reflect.Slice:
		if value.Len() == 0 {
			value.SetZero()
			return
		}
		if holdsLists.in(value.Type().Elem()) {
			for i := range value.Len() {
				dropEmpty(value.Index(i))
			}
		}
	case reflect.Map:
		if value.Len() == 0 {
			value.SetZero()
		}
	}
}

// respell gives every quantity the decimal spelling, which is one per number: 1Gi and 1073741824 are the same.
func respell(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			respell(value.Elem())
		}
	case reflect.Struct:
		if quantity, ok := value.Addr().Interface().(*resource.Quantity); ok {
			*quantity = decimal(*quantity)
			return
		}
		for _, i := range walkable(value.Type(), holdsQuantities) {
			respell(value.Field(i))
		}
	case reflect.Slice:
		if holdsQuantities.in(value.Type().Elem()) {
			for i := range value.Len() {
				respell(value.Index(i))
			}
		}
	case reflect.Map:
		if value.Type().Elem() != quantityType {
			return
		}
		for entries := value.MapRange(); entries.Next(); {
			quantity := decimal(entries.Value().Interface().(resource.Quantity))
			value.SetMapIndex(entries.Key(), reflect.ValueOf(quantity))
		}
	}
}

func decimal(quantity resource.Quantity) resource.Quantity {
	own := quantity.DeepCopy() // AsDec changes its receiver
	return *resource.NewDecimalQuantity(*own.AsDec(), resource.DecimalSI)
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// holding answers, once per type, whether something of a kind can be inside a value of that type. It keeps the
// walks above away from most of a template.
type holding struct {
	itself func(reflect.Type) bool
	known  sync.Map // reflect.Type → bool
	fields sync.Map // reflect.Type of a struct → []int
}

var (
	holdsLists = &holding{itself: func(t reflect.Type) bool {
		return t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	}}
	holdsQuantities = &holding{itself: func(t reflect.Type) bool { return t == quantityType }}
)

func (h *holding) in(t reflect.Type) bool {
	if known, ok := h.known.Load(t); ok {
		return known.(bool)
	}
	found := h.look(t)
	h.known.Store(t, found)
	return found
}

func (h *holding) look(t reflect.Type) bool {
	if h.itself(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return h.in(t.Elem())
	case reflect.Struct:
		return !opaque(t) && len(walkable(t, h)) > 0
	}
	return false
}

// walkable returns the indexes of a struct's fields that hold what is looked for.
func walkable(t reflect.Type, h *holding) []int {
	if opaque(t) {
		return nil
	}
	if known, ok := h.fields.Load(t); ok {
		return known.([]int)
	}
	var indexes []int
	for i := range t.NumField() {
		if field := t.Field(i); field.IsExported() && h.in(field.Type) {
			indexes = append(indexes, i)
		}
	}
	h.fields.Store(t, indexes)
	return indexes
}

// opaque types spell themselves; their fields are not the template's.
func opaque(t reflect.Type) bool { return decodesItself(t) }
