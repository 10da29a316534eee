// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"encoding"
	stdjson "encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// unknownMembers returns the members of a template's JSON tree that the pod types do not have, as a JSON object
// of path to value, or the empty string if there are none.
func unknownMembers(tree map[string]any) (string, error) {
	found := map[string]any{}
	collectUnknown(tree, reflect.TypeFor[corev1.PodTemplateSpec](), "", found)
	if len(found) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(found)
	return string(raw), err
}

func collectUnknown(node any, known reflect.Type, path string, found map[string]any) {
	for known.Kind() == reflect.Pointer {
		known = known.Elem()
	}
	if decodesItself(known) {
		return
	}
	switch node := node.(type) {
	case map[string]any:
		collectUnknownOfObject(node, known, path, found)
	case []any:
		if known.Kind() != reflect.Slice {
			return
		}
		for i, item := range node {
			collectUnknown(item, known.Elem(), path+"/"+strconv.Itoa(i), found)
		}
	}
}

func collectUnknownOfObject(node map[string]any, known reflect.Type, path string, found map[string]any) {
	switch known.Kind() {
	case reflect.Struct:
		members := membersOf(known)
		for key, value := range node {
			if member, ok := members[key]; ok {
				collectUnknown(value, member, path+"/"+key, found)
			} else {
				found[path+"/"+escapePath(key)] = value
			}
		}
	case reflect.Map:
		for key, value := range node {
			collectUnknown(value, known.Elem(), path+"/"+escapePath(key), found)
		}
	}
}

// escapePath keeps two different places from having the same path.
func escapePath(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// decodesItself says whether a type reads its own JSON, so that its Go fields say nothing about members.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[stdjson.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

var memberCache sync.Map // reflect.Type of a struct → map[string]reflect.Type

// membersOf returns the JSON members of a struct type, with those of inlined structs.
func membersOf(t reflect.Type) map[string]reflect.Type {
	if cached, ok := memberCache.Load(t); ok {
		return cached.(map[string]reflect.Type)
	}
	members := map[string]reflect.Type{}
	for field := range structFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			for inner, innerType := range membersOf(field.Type) {
				members[inner] = innerType
			}
		case name == "":
			members[field.Name] = field.Type
		default:
			members[name] = field.Type
		}
	}
	memberCache.Store(t, members)
	return members
}

func structFields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}
