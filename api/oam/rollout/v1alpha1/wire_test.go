// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/wire"
)

// The files are the wire format: other programs write and read these names, so a change that needs them changed breaks others.
var files = map[string]any{
	"rollouttrait.yaml":   &rolloutv1alpha1.RolloutTrait{},
	"metrictemplate.yaml": &rolloutv1alpha1.MetricTemplate{},
}

func TestTheWireFormatIsReadAndWrittenWithoutLoss(t *testing.T) {
	wire.Check(t, files, leaves...)
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
