// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// Record is what a held workload keeps in AnnotationHeld: who holds it, what stood in it before, and what it was asked for last.
// Later versions may add members; unknown ones are ignored, and absent ones are empty.
type Record struct {
	// Holder is the UID of the rollout. Of is the UID of the workload: a copy of the object is not held.
	Holder types.UID `json:"holder"`
	Of     types.UID `json:"of"`
	// Replicas stood in it before. Asked is what the rollout has asked for last, and Drift by how much others had changed that
	// number until then.
	Replicas int `json:"replicas"`
	Asked    int `json:"asked"`
	Drift    int `json:"drift,omitempty"`
	// Revision is the name of the ControllerRevision that was current, and Template identifies its pod template.
	Revision string `json:"revision,omitempty"`
	Template string `json:"template,omitempty"`
	// Back: the rollout has brought that template back.
	Back bool `json:"back,omitempty"`
	// Controller is the UID of who was its controller, and becomes it again.
	Controller types.UID `json:"controller,omitempty"`
	// Paused, Partition and Strategy stood in it before; absent for what did not, and for what the kind has not.
	Paused    json.RawMessage `json:"paused,omitempty"`
	Partition json.RawMessage `json:"partition,omitempty"`
	Strategy  json.RawMessage `json:"strategy,omitempty"`
}

// parseRecord reads a record. It returns nil for what nobody can read: then nothing is known of before.
func parseRecord(text string) *Record {
	r := &Record{}
	if text == "" || json.Unmarshal([]byte(text), r) != nil || r.Holder == "" || r.Replicas < 0 || r.Asked < 0 {
		return nil
	}
	return r
}

// String is the record as it is kept.
func (r *Record) String() string {
	raw, err := json.Marshal(r)
	if err != nil { // what was parsed from JSON can be written as JSON
		panic("adapter: " + err.Error())
	}
	return string(raw)
}

// recordOn is the record that stands in an object, when it is about this very object.
func recordOn(o *unstructured.Unstructured) *Record {
	r := parseRecord(o.GetAnnotations()[rolloutv1alpha1.AnnotationHeld])
	if r == nil || r.Of != o.GetUID() {
		return nil
	}
	return r
}

// write puts the record into an object.
func (r *Record) write(o *unstructured.Unstructured) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[rolloutv1alpha1.AnnotationHeld] = r.String()
	o.SetAnnotations(annotations)
}
