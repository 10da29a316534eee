// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOlderServersTakeTheRules looks for what makes servers before Kubernetes 1.34 refuse a whole CRD: they reckon with the
// longest string that a request can hold wherever a number may be a string, so a rule that reads such a string to its end is too
// costly for them once the field can stand in an object many times. A rule at the object around it, which looks at the field
// through a list, is not.
func TestOlderServersTakeTheRules(t *testing.T) {
	files, err := filepath.Glob("../../config/crd/*_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are %d CRDs: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		schemas, err := schemasOf(read(t, string(text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, schema := range schemas {
			for _, at := range costly(schema, "", false) {
				t.Errorf("%s: %s", filepath.Base(file), at)
			}
		}
	}
}

func TestACostlyRuleIsFound(t *testing.T) {
	const field = `{x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: "self.matches('a')"}]}`
	for sentence, test := range map[string]struct {
		schema string
		want   int
	}{
		"at a field that stands once":     {`{properties: {a: ` + field + `}}`, 0},
		"at a field in a list":            {`{properties: {l: {items: {properties: {a: ` + field + `}}}}}`, 1},
		"at a value of a map":             {`{properties: {m: {additionalProperties: ` + field + `}}}`, 1},
		"at an item of a list in a list":  {`{items: {items: ` + field + `}}`, 1},
		"that reads only some characters": {`{items: {x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: "self.charAt(1) == '-'"}]}}`, 0},
		"at a plain string":               {`{items: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: "self.matches('a')"}]}}`, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			if found := costly(read(t, test.schema), "", false); len(found) != test.want {
				t.Errorf("found %q, want %d", found, test.want)
			}
		})
	}
}

// costly are the fields with such a rule. many says that the schema describes something that can stand more than once.
func costly(schema map[string]any, path string, many bool) []string {
	var found []string
	if schema["x-kubernetes-int-or-string"] == true && many {
		rules, _ := schema["x-kubernetes-validations"].([]any)
		for _, r := range rules {
			if rule, _ := r.(map[string]any)["rule"].(string); strings.Contains(rule, "matches(") {
				found = append(found, path+": "+rule)
			}
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		found = append(found, costly(property.(map[string]any), path+"."+name, many)...)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, is := schema[key].(map[string]any); is {
			found = append(found, costly(inner, path+"[]", true)...)
		}
	}
	return found
}
