// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// The files are the wire format: other programs write and read these names, so a change that needs them changed breaks others.
var wire = map[string]any{
	"application.yaml":         &oamv1beta1.Application{},
	"applicationrevision.yaml": &oamv1beta1.ApplicationRevision{},
	"approllout.yaml":          &oamv1beta1.AppRollout{},
	"componentdefinition.yaml": &oamv1beta1.ComponentDefinition{},
	"traitdefinition.yaml":     &oamv1beta1.TraitDefinition{},
}

func TestTheWireFormatIsReadAndWrittenWithoutLoss(t *testing.T) {
	for file, object := range wire {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(text, object); err != nil {
				t.Fatalf("reading: %v", err)
			}
			for _, field := range unset(reflect.ValueOf(object), "") {
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

// TestAnEmptyRolloutIsWrittenWithItsStates: readers of other programs expect the states, counters and the target also where they
// are empty.
func TestAnEmptyRolloutIsWrittenWithItsStates(t *testing.T) {
	written, err := json.Marshal(oamv1beta1.AppRolloutStatus{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"rollingState":"","batchRollingState":"","currentBatch":0,"upgradedReplicas":0,"upgradedReadyReplicas":0,"lastTargetAppRevision":""}`
	if string(written) != want {
		t.Errorf("got  %s\nwant %s", written, want)
	}
}

// leaves are types of others, and those whose wire format is shown elsewhere: they are not looked into.
var leaves = []reflect.Type{reflect.TypeFor[metav1.TypeMeta](), reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[metav1.Condition](),
	reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[rolloutv1alpha1.RolloutPlan](), reflect.TypeFor[rolloutv1alpha1.RolloutStatus](),
	reflect.TypeFor[oamv1beta1.Application]()}

// unset lists the fields without a value. Of a list, the first item counts.
func unset(value reflect.Value, path string) []string {
	if value.IsZero() {
		return []string{path}
	}
	if path != "" && slices.Contains(leaves, value.Type()) {
		return nil
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.Elem().Kind() != reflect.Struct {
			return nil // false is a value
		}
		if path == "" {
			return unsetFields(value.Elem(), path)
		}
		return unset(value.Elem(), path)
	case reflect.Slice:
		if value.Len() == 0 {
			return []string{path}
		}
		return unset(value.Index(0), path+"[]")
	case reflect.Struct:
		return unsetFields(value, path)
	default:
		return nil
	}
}

func unsetFields(value reflect.Value, path string) []string {
	var all []string
	for i := range value.NumField() {
		all = append(all, unset(value.Field(i), path+"."+value.Type().Field(i).Name)...)
	}
	return all
}

func TestAMissingFieldIsSeen(t *testing.T) {
	app := &oamv1beta1.Application{}
	app.Spec.Components = []oamv1beta1.ApplicationComponent{{Name: "web", Properties: &runtime.RawExtension{Raw: []byte("{}")}}}
	got := unset(reflect.ValueOf(app), "")
	for _, want := range []string{".ObjectMeta", ".Spec.Components[].Type", ".Spec.Components[].Traits", ".Spec.RolloutPlan", ".Status"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not named among %v", want, got)
		}
	}
	if slices.Contains(got, ".Spec.Components[].Properties") {
		t.Errorf("properties are there, and named among %v", got)
	}
}
