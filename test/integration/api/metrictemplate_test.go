// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// soundMetricTemplate has nothing wrong with it; every case below spoils one thing.
const soundMetricTemplate = `
apiVersion: standard.oam.dev/v1alpha1
kind: MetricTemplate
metadata:
  generateName: sound-
  namespace: default
spec:
  provider:
    type: prometheus
    address: http://prometheus.monitoring:9090
    secretRef: {name: prometheus}
  query: sum(rate(errors{app={{ .Target }}}[1m]))
`

var invalidMetricTemplates = map[string]invalidCase{
	"a template needs a spec":          {[]spoil{{"-spec", nil}}, "spec", "Required value"},
	"a template needs a provider":      {[]spoil{{"-spec.provider", nil}}, "spec.provider", "Required value"},
	"a provider has a type":            {[]spoil{{"-spec.provider.type", nil}}, "spec.provider.type", "Required value"},
	"the type is one that exists":      {[]spoil{{"spec.provider.type", "graphite"}}, "spec.provider.type", `supported values: "prometheus", "web"`},
	"a provider has an address":        {[]spoil{{"-spec.provider.address", nil}}, "spec.provider.address", "Required value"},
	"an address has a scheme":          {[]spoil{{"spec.provider.address", "prometheus.monitoring:9090"}}, "spec.provider.address", aURL},
	"an address is one of HTTP":        {[]spoil{{"spec.provider.address", "file:///etc/passwd"}}, "spec.provider.address", aURL},
	"an address has a host":            {[]spoil{{"spec.provider.address", "http:///metrics"}}, "spec.provider.address", aURL},
	"an address is not endless":        {[]spoil{{"spec.provider.address", "http://a.test/" + long(2048)}}, "spec.provider.address", "may not be more than 2048"},
	"a secret has a name":              {[]spoil{{"spec.provider.secretRef", object{}}}, "spec.provider.secretRef.name", "must name a Secret"},
	"the name of a secret is not long": {[]spoil{{"spec.provider.secretRef.name", long(254)}}, "spec.provider.secretRef.name", "must name a Secret"},
	"certificates are checked or not":  {[]spoil{{"spec.provider.insecureSkipVerify", "yes"}}, "spec.provider.insecureSkipVerify", "must be of type boolean"},
	"there is a query":                 {[]spoil{{"-spec.query", nil}}, "spec.query", "Required value"},
	"the query asks something":         {[]spoil{{"spec.query", ""}}, "spec.query", "at least 1 chars"},
	"the query is not endless":         {[]spoil{{"spec.query", long(8193)}}, "spec.query", "may not be more than 8192"},
}

func TestInvalidMetricTemplatesAreRefusedByFieldAndRule(t *testing.T) {
	refuse(t, soundMetricTemplate, invalidMetricTemplates)
}

func TestMetricTemplatesAreStoredAsTheyCome(t *testing.T) {
	cases := map[string][]spoil{
		"the sound one":  nil,
		"without secret": {{"-spec.provider.secretRef", nil}},
		"a document":     {{"spec.provider", object{"type": "web", "address": "https://stats.test/web.json?since=5m", "insecureSkipVerify": true}}, {"spec.query", "{$.errors}"}},
	}
	for _, sentence := range slices.Sorted(maps.Keys(cases)) {
		t.Run(sentence, func(t *testing.T) {
			template := manifest(t, soundMetricTemplate)
			for _, s := range cases[sentence] {
				s.apply(t, template)
			}
			want := template.DeepCopy()
			if err := untyped.Create(t.Context(), template); err != nil {
				t.Fatalf("creating: %v", err)
			}
			if diff := cmp.Diff(at(t, want, "spec"), at(t, template, "spec")); diff != "" {
				t.Errorf("spec (-sent +stored):\n%s", diff)
			}
		})
	}
}
