// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/rollout/measure"
)

// A path that asks for strange parts of a list ends all the same.
func TestOddParts(t *testing.T) {
	var document any
	if err := json.Unmarshal([]byte(`{"items":[1,2,3]}`), &document); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]measure.SampleKind{
		"{.items[0:9:0]}":        measure.Fault,
		"{.items[::-1]}":         measure.Fault,
		"{.items[2:1]}":          measure.Fault,
		"{.items[0:1000000000]}": measure.Fault,
		"{.items[99]}":           measure.Fault,
		"{.items[-3:-2]}":        measure.Measured,
		"{5}":                    measure.Fault,
		"{.items.x}":             measure.NoData,
	} {
		path, err := ParsePath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := path.Sample(document); got.Kind != want {
			t.Errorf("%s: got %+v, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "{", "{.a[99999999999999999999]}", "{.a[?(@.b=~1)]}", strings.Repeat("[?(@", 5000)} {
		if _, err := ParsePath(text); err == nil {
			t.Errorf("%.20s passes as a path", text)
		}
	}
}
