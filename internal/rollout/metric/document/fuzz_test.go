// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/rollout/measure"
)

// keys are paths that can be followed by hand.
var keys = regexp.MustCompile(`^\.[a-z]+(\.[a-z]+)*$`)

// byHand follows the keys of a path through the objects of a document.
func byHand(path string, document any) (found any, ok bool) {
	for _, key := range strings.Split(path[1:], ".") {
		object, isObject := document.(map[string]any)
		if !isObject {
			return nil, false
		}
		if document, ok = object[key]; !ok {
			return nil, false
		}
	}
	return document, true
}

// Whatever a path and a document are, they give one number, no data or a fault; and what can be followed by hand gives the number that
// is there.
func FuzzPath(f *testing.F) {
	f.Fuzz(func(t *testing.T, text, body string) {
		var document any
		path, err := ParsePath(text)
		if err != nil || json.Unmarshal([]byte(body), &document) != nil {
			return
		}
		got := path.Sample(document)
		if got.Kind == measure.Measured == (got.Message != "") || math.IsNaN(got.Value) {
			t.Errorf("got %+v", got)
		}
		if !keys.MatchString(text) {
			return
		}
		want, isThere := byHand(text, document)
		switch v := want.(type) {
		case float64:
			if got != measure.Of(v) {
				t.Errorf("%s of %s: got %+v, want %v", text, body, got, v)
			}
		case string:
			if number, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil && got != measure.Of(number) {
				t.Errorf("%s of %s: got %+v, want %v", text, body, got, number)
			}
		default:
			if got.Kind == measure.Measured && isThere {
				t.Errorf("%s of %s: got %+v for %v", text, body, got, v)
			}
		}
	})
}
