// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/internal/cli/lint"
)

// What the API server refuses, `slipway rollout lint` finds without one, at the same field; and what it accepts passes.
func TestLintFindsWhatTheServerRefuses(t *testing.T) {
	for sound, tables := range map[string][]map[string]invalidCase{
		soundRolloutTrait:   {invalidReferences, invalidPlans, invalidBatches, invalidHooks, invalidMetrics},
		soundMetricTemplate: {invalidMetricTemplates},
	} {
		for _, table := range tables {
			for sentence, test := range table {
				t.Run(sentence, func(t *testing.T) {
					findings := linted(t, sound, test.spoils)
					for _, f := range findings {
						if near(f.Field, test.field) {
							return
						}
					}
					t.Errorf("nothing is found at %s, only: %v", test.field, findings)
				})
			}
		}
	}
}

func TestLintAcceptsWhatTheServerAccepts(t *testing.T) {
	for sentence, spoils := range edgesOfARolloutTrait() {
		t.Run(sentence, func(t *testing.T) {
			if findings := linted(t, soundRolloutTrait, spoils); len(findings) > 0 && !strings.Contains(findings[0].Allowed, "adds up for no number of pods") {
				t.Errorf("found: %v", findings)
			}
		})
	}
	if findings := linted(t, soundMetricTemplate, nil); len(findings) > 0 {
		t.Errorf("found in a template: %v", findings)
	}
}

func linted(t *testing.T, sound string, spoils []spoil) []lint.Finding {
	t.Helper()
	object := manifest(t, sound)
	for _, s := range spoils {
		s.apply(t, object)
	}
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := lint.File("f", bytes.NewReader(text), nil)
	if err != nil || len(checked) != 1 {
		t.Fatalf("%v, %v", checked, err)
	}
	return checked[0].Findings
}

var places = regexp.MustCompile(`\[[0-9]+\]`)

// near tells whether one of two fields is in the other: the server speaks of the list where we speak of its item.
func near(a, b string) bool {
	a, b = places.ReplaceAllString(a, ""), places.ReplaceAllString(b, "")
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}
