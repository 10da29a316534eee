// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Check reads testdata/<file> of the package under test into each object, a pointer to an empty one, and writes it again. Fields of the
// leaves are not asked for: they are types of others, or shown elsewhere.
func Check(t *testing.T, objects map[string]any, leaves ...reflect.Type) {
	t.Helper()
	for file, object := range objects {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(text, object); err != nil {
				t.Fatalf("reading: %v", err)
			}
			for _, field := range Unset(object, leaves...) {
				t.Errorf("no value for %s: the file must have every field", field)
			}
			var want, got any
			if err := yaml.Unmarshal(text, &want); err != nil {
				t.Fatalf("reading without a type: %v", err)
			}
			written, err := json.Marshal(object)
			if err != nil {
				t.Fatalf("writing: %v", err)
			}
			if err := json.Unmarshal(written, &got); err != nil {
				t.Fatalf("reading what was written: %v", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-file +written):\n%s", diff)
			}
		})
	}
}

// Unset lists the fields of an object without a value, by their paths. Of a list, the first item counts.
func Unset(object any, leaves ...reflect.Type) []string {
	return fields(reflect.Indirect(reflect.ValueOf(object)), "", leaves)
}

func unset(value reflect.Value, path string, leaves []reflect.Type) []string {
	switch {
	case value.IsZero():
		return []string{path}
	case slices.Contains(leaves, value.Type()):
		return nil
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.Elem().Kind() != reflect.Struct {
			return nil // 0 and false are values
		}
		return unset(value.Elem(), path, leaves)
	case reflect.Slice:
		if value.Len() == 0 {
			return []string{path}
		}
		return unset(value.Index(0), path+"[]", leaves)
	case reflect.Struct:
		return fields(value, path, leaves)
	default:
		return nil
	}
}

func fields(value reflect.Value, path string, leaves []reflect.Type) []string {
	var all []string
	for i := range value.NumField() {
		all = append(all, unset(value.Field(i), path+"."+value.Type().Field(i).Name, leaves)...)
	}
	return all
}
