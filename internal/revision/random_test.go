// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

// templates generates pod templates that use any field of the pod types, valid or not: equality must hold for
// whatever a user can store. The fields are filled by reflection, so fields of later libraries are covered too.
func templates() *rapid.Generator[*corev1.PodTemplateSpec] {
	return rapid.Custom(func(t *rapid.T) *corev1.PodTemplateSpec {
		seed := rapid.Uint64().Draw(t, "seed")
		density := rapid.Float64Range(0.02, 0.3).Draw(t, "density")
		f := filler{Rand: rand.New(rand.NewPCG(seed, 0)), density: density}
		template := &corev1.PodTemplateSpec{}
		f.fill(reflect.ValueOf(template).Elem())
		return template
	})
}

type filler struct {
	*rand.Rand
	density float64
}

func (f filler) some() bool { return f.Float64() < f.density }

func (f filler) fill(v reflect.Value) {
	switch v.Addr().Interface().(type) {
	case *resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse(pick(f, "0", "1", "100m", "1000m", "0.5", "1Gi", "1024Mi", "1073741824", "1e3", "1k", "0.1m"))))
		return
	case *metav1.Time:
		v.Set(reflect.ValueOf(metav1.Time{Time: time.Unix(f.Int64N(1e9), 0).UTC()}))
		return
	case *intstr.IntOrString:
		v.Set(reflect.ValueOf(pick(f, intstr.FromInt32(0), intstr.FromInt32(8080), intstr.FromString("http"))))
		return
	case *[]metav1.ManagedFieldsEntry:
		return // holds raw bytes that only the server writes
	}
	switch v.Kind() {
	case reflect.Pointer:
		if f.some() {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Slice:
		f.fillSlice(v)
	case reflect.Map:
		f.fillMap(v)
	default:
		if f.some() {
			f.fillLeaf(v)
		}
	}
}

func (f filler) fillSlice(v reflect.Value) {
	if !f.some() {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), f.IntN(3), 3))
	for i := range v.Len() {
		f.fill(v.Index(i))
	}
}

func (f filler) fillMap(v reflect.Value) {
	if !f.some() {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range f.IntN(4) {
		key := reflect.New(v.Type().Key()).Elem()
		key.SetString(pick(f, "cpu", "memory", "hugepages-2Mi", "example.com/gpu", deadAnnotations[0]))
		value := reflect.New(v.Type().Elem()).Elem()
		f.fill(value)
		v.SetMapIndex(key, value)
	}
}

func (f filler) fillLeaf(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(pick(f, "", "a", "Always", "default", "nginx:1.29", "nginx", "/", "v1", "<&>"))
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(pick[int64](f, 0, 1, 3, 10, 30, 420, 1<<31-1))
	case reflect.Uint8:
		v.SetUint(f.Uint64N(256))
	default:
		panic("the pod types have got a kind of field that the test cannot fill: " + v.Type().String())
	}
}

func pick[T any](f filler, from ...T) T { return from[f.IntN(len(from))] }

// leaf is one scalar of a template: where it is, and how to change it.
type leaf struct {
	path   string
	change func()
}

// leaves lists every scalar that is present in a template.
func leaves(v reflect.Value, path string) []leaf {
	switch value := v.Addr().Interface().(type) {
	case *resource.Quantity:
		return []leaf{{path, func() { value.Add(resource.MustParse("1")) }}}
	case *metav1.Time:
		return []leaf{{path, func() { value.Time = value.Add(time.Hour) }}}
	case *intstr.IntOrString:
		return []leaf{{path, func() { *value = intstr.FromString(value.String() + "x") }}}
	}
	var found []leaf
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			found = leaves(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			found = append(found, leaves(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, leaves(v.Index(i), path+"."+strconv.Itoa(i))...)
		}
	case reflect.Map:
		found = mapLeaves(v, path)
	case reflect.String:
		found = []leaf{{path, func() { v.SetString(v.String() + "x") }}}
	case reflect.Bool:
		found = []leaf{{path, func() { v.SetBool(!v.Bool()) }}}
	case reflect.Int32, reflect.Int64:
		found = []leaf{{path, func() { v.SetInt(v.Int() + 1) }}}
	}
	return found
}

func mapLeaves(v reflect.Value, path string) []leaf {
	var found []leaf
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		for _, inner := range leaves(value, path+"."+key.String()) {
			found = append(found, leaf{inner.path, func() {
				inner.change()
				v.SetMapIndex(key, value)
			}})
		}
	}
	return found
}
