// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"encoding/json"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/wire"
)

// The files are the wire format: other programs write and read these names, so a change that needs them changed breaks others.
var files = map[string]any{
	"application.yaml":         &oamv1beta1.Application{},
	"applicationrevision.yaml": &oamv1beta1.ApplicationRevision{},
	"approllout.yaml":          &oamv1beta1.AppRollout{},
	"componentdefinition.yaml": &oamv1beta1.ComponentDefinition{},
	"traitdefinition.yaml":     &oamv1beta1.TraitDefinition{},
}

func TestTheWireFormatIsReadAndWrittenWithoutLoss(t *testing.T) {
	wire.Check(t, files, leaves...)
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
