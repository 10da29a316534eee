// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T, text string) map[string]any {
	t.Helper()
	var schema map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &schema); err != nil {
		t.Fatalf("reading %s: %v", text, err)
	}
	return schema
}

func TestPiecesAreMergedIntoANode(t *testing.T) {
	for sentence, test := range map[string]struct{ node, piece, want, refusal string }{
		"what is missing is added": {
			node: `{description: d}`, piece: `{type: object, required: [a]}`, want: `{description: d, type: object, required: [a]}`},
		"maps are merged": {
			node:  `{properties: {a: {type: string}}}`,
			piece: `{properties: {a: {maxLength: 3}, b: {type: string}}}`,
			want:  `{properties: {a: {type: string, maxLength: 3}, b: {type: string}}}`},
		"rules add up": {
			node:  `{x-kubernetes-validations: [{rule: a}]}`,
			piece: `{x-kubernetes-validations: [{rule: b}]}`,
			want:  `{x-kubernetes-validations: [{rule: a}, {rule: b}]}`},
		"the same value twice is no contradiction": {
			node: `{type: object}`, piece: `{type: object}`, want: `{type: object}`},
		"a contradiction is refused": {
			node: `{properties: {a: {type: string}}}`, piece: `{properties: {a: {type: integer}}}`,
			refusal: "properties: a: type is string in the CRD, and integer in the piece"},
		"a second list is refused": {
			node: `{required: [a]}`, piece: `{required: [b]}`, refusal: "required is a list that the CRD already has"},
		"a map in place of something else is refused": {
			node: `{additionalProperties: true}`, piece: `{additionalProperties: {type: string}}`,
			refusal: "additionalProperties is not a map in the CRD"},
	} {
		t.Run(sentence, func(t *testing.T) {
			node := read(t, test.node)
			err := merge(node, read(t, test.piece))
			if test.refusal != "" {
				if err == nil || err.Error() != test.refusal {
					t.Errorf("got error %v, want %q", err, test.refusal)
				}
				return
			}
			if diff := cmp.Diff(read(t, test.want), node); err != nil || diff != "" {
				t.Errorf("error %v, node (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestPathsLeadThroughPropertiesAndLists(t *testing.T) {
	schema := read(t, `{properties: {spec: {properties: {terms: {items: {properties: {selector: {type: object}}}}}}}}`)
	node, err := find(schema, "spec.terms[].selector")
	if err != nil || node["type"] != "object" {
		t.Errorf("found %v, %v; want the selector", node, err)
	}
	if node, err := find(schema, ""); err != nil || node["properties"] == nil {
		t.Errorf("found %v, %v; want the root", node, err)
	}
	for _, path := range []string{"spec.other", "spec.terms.selector", "spec[].terms"} {
		if node, err := find(schema, path); err == nil {
			t.Errorf("%s: found %v, want an error", path, node)
		}
	}
}

// TestEveryPieceIsUsed keeps the folder free of pieces that look as if they had an effect.
func TestEveryPieceIsUsed(t *testing.T) {
	used := map[string]bool{}
	for _, list := range additions {
		for _, a := range list {
			used[a.piece] = true
		}
	}
	files, err := pieces.ReadDir(".")
	if err != nil {
		t.Fatalf("listing the pieces: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name(), ".yaml") && !used[file.Name()] {
			t.Errorf("%s is added nowhere", file.Name())
		}
	}
}

func TestAPieceIsWrittenInTheWordsOfItsKind(t *testing.T) {
	words := map[string]string{"Another": "self.spec.a != oldSelf.spec.a", "Ended": "false", "Single": "true", "Target": "name of a"}
	text, err := write(addition{piece: "rolloutupdate.yaml", words: words})
	if err != nil {
		t.Fatalf("writing: %v", err)
	}
	rules, _ := read(t, string(text))[rulesKey].([]any)
	if len(rules) == 0 {
		t.Fatalf("there are no rules in\n%s", text)
	}
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		if got, _ := rule["rule"].(string); !strings.HasPrefix(got, "(self.spec.a != oldSelf.spec.a ||") {
			t.Errorf("a rule does not begin with the words: %v", got)
		}
		for _, key := range []string{"message", "messageExpression"} {
			if got, _ := rule[key].(string); !strings.Contains(got, "with another name of a all may change") {
				t.Errorf("%s does not say what may change: %v", key, got)
			}
		}
	}
}

func TestAMissingWordIsAnError(t *testing.T) {
	text, err := write(addition{piece: "rolloutupdate.yaml", words: map[string]string{"Another": "true", "Ended": "true", "Single": "true"}})
	if err == nil || !strings.Contains(err.Error(), `"Target"`) {
		t.Errorf("got %d bytes and error %v, want an error that names the word", len(text), err)
	}
}
