// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzRecord: whatever stands in the annotation, it is read or it is not, and what is read is kept as it was.
func FuzzRecord(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		r := parseRecord(text)
		if r == nil {
			return
		}
		if r.Holder == "" || r.Replicas < 0 || r.Asked < 0 || !json.Valid([]byte(r.String())) {
			t.Fatalf("%q is read as %+v", text, r)
		}
		again := parseRecord(r.String())
		if again == nil || again.String() != r.String() || again.Holder != r.Holder || !reflect.DeepEqual(again.Asked, r.Asked) {
			t.Errorf("%q is %s, and then %v", text, r, again)
		}
	})
}

// FuzzParse: a file of kinds is understood as a whole, or told what is wrong with it.
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, file []byte) {
		kinds, err := Parse(file)
		if err != nil {
			return
		}
		if _, err := NewRegistry(kinds...); err != nil {
			t.Errorf("%q is understood, and then %s", file, err)
		}
	})
}
