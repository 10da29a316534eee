// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"testing"

	"cuelang.org/go/cue/parser"
)

// FuzzCloseParameter: a template that is read stays one when its parameter is closed, with the same imports, and closing it again
// finds nothing more than the parameter that it added.
func FuzzCloseParameter(f *testing.F) {
	f.Add("parameter: {a: int}\noutput: x: parameter.a")
	f.Add("import \"strings\"\n\"parameter\"?: a: int\nparameter: b: strings.MinRunes(1)")
	f.Add("p=parameter: {...}\noutput: p")
	f.Fuzz(func(t *testing.T, text string) {
		s := source{}
		file, problems := s.parse("template", text, MaxTemplate)
		if len(problems) > 0 {
			return
		}
		closed := closeParameter(file, text)
		again, err := parser.ParseFile("closed", closed)
		if err != nil {
			t.Fatalf("%q is read, and %q is not: %v", text, closed, err)
		}
		if once := closeParameter(again, closed); once != closed+"\n#parameter: {}\n" {
			t.Errorf("%q is closed to %q, and that to %q", text, closed, once)
		}
	})
}

// FuzzProperties: whatever JSON is given to a template of ours, it is either refused with a reason, or arrives as it is.
func FuzzProperties(f *testing.F) {
	f.Add(`{"n": 1, "s": "a", "l": ["b"], "m": {"c": "d"}}`)
	f.Add(`{"s": "\\(context.name)"}`)
	f.Add(`{"n": "1"}`)
	f.Add(`{"s": "\ud83d\ude00\u0000"}`)
	f.Fuzz(func(t *testing.T, properties string) {
		request := Request{Component: Component{Name: "web", Type: "mine", APIVersion: "v1", Kind: "X", Properties: json.RawMessage(properties),
			Template: "output: {apiVersion: \"v1\", kind: \"X\", spec: parameter}\nparameter: {n?: int, s?: string, l?: [...string], m?: [string]: string}"}}
		result, err := Evaluate(request, nil)
		if err != nil {
			if len(ProblemsOf(err)) == 0 || err.Error() == "" {
				t.Fatalf("refused without a reason: %v", err)
			}
			return
		}
		again, err := Evaluate(request, nil)
		if err != nil || !same(result, again) {
			t.Errorf("the second time it gives %v, %v; the first time %v", again, err, result)
		}
		var given map[string]any
		if json.Unmarshal([]byte(properties), &given) == nil {
			if got := result.Workload["spec"].(map[string]any); len(given) != len(got) && len(got) > 0 {
				t.Errorf("%q arrives as %v", properties, got)
			}
		}
	})
}
