// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// The files are the wire format: other programs write and read these names, so a change that needs them changed breaks others.
var wire = map[string]any{
	"rollouttrait.yaml":   &rolloutv1alpha1.RolloutTrait{},
	"metrictemplate.yaml": &rolloutv1alpha1.MetricTemplate{},
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

// TestAnEmptyRolloutIsWrittenWithItsStates: readers of other programs expect the states and counters also where they are empty.
func TestAnEmptyRolloutIsWrittenWithItsStates(t *testing.T) {
	written, err := json.Marshal(rolloutv1alpha1.RolloutStatus{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"rollingState":"","batchRollingState":"","currentBatch":0,"upgradedReplicas":0,"upgradedReadyReplicas":0}`
	if string(written) != want {
		t.Errorf("got  %s\nwant %s", written, want)
	}
}

// leaves are types of others, which are not looked into.
var leaves = []reflect.Type{reflect.TypeFor[metav1.TypeMeta](), reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[metav1.Time](),
	reflect.TypeFor[metav1.Duration](), reflect.TypeFor[intstr.IntOrString]()}

// unset lists the fields without a value. Of a list, the first item counts.
func unset(value reflect.Value, path string) []string {
	if value.IsZero() {
		return []string{path}
	}
	if slices.Contains(leaves, value.Type()) {
		return nil
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.Elem().Kind() != reflect.Struct {
			return nil // a number: 0 is a value
		}
		return unset(value.Elem(), path)
	case reflect.Slice:
		if value.Len() == 0 {
			return []string{path}
		}
		return unset(value.Index(0), path+"[]")
	case reflect.Struct:
		var all []string
		for i := range value.NumField() {
			all = append(all, unset(value.Field(i), path+"."+value.Type().Field(i).Name)...)
		}
		return all
	default:
		return nil
	}
}

func TestAMissingFieldIsSeen(t *testing.T) {
	trait := &rolloutv1alpha1.RolloutTrait{}
	trait.Spec.SourceRef = []rolloutv1alpha1.WorkloadReference{{APIVersion: "v1", Kind: "a"}}
	got := unset(reflect.ValueOf(trait), "")
	for _, want := range []string{".ObjectMeta", ".Spec.TargetRef", ".Spec.SourceRef[].Name", ".Spec.RolloutPlan", ".Status"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not named among %v", want, got)
		}
	}
}
