// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"regexp"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// strings and comments of PromQL, as its manual has them; and those of JSONPath, which has no comments.
var (
	promQLPieces   = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`" + `|#[^\n]*`)
	jsonPathPieces = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
)

// skeleton is what is left of a query when nobody looks into its strings and comments.
func skeleton(provider rolloutv1alpha1.MetricProviderType, query string) string {
	pieces := promQLPieces
	if provider == rolloutv1alpha1.WebProvider {
		pieces = jsonPathPieces
	}
	return pieces.ReplaceAllStringFunc(query, func(piece string) string { return piece[:1] + "…" })
}

// Whatever a name is, the query that it is filled into keeps its shape.
func FuzzRenderKeepsTheShapeOfAQuery(f *testing.F) {
	f.Fuzz(func(t *testing.T, query, name string, web bool) {
		provider := rolloutv1alpha1.PrometheusProvider
		if web {
			provider = rolloutv1alpha1.WebProvider
		}
		with := func(name string) (string, error) {
			return Render(metricTemplate(provider, query), Fields{Name: name, Interval: time.Second})
		}
		plain, plainErr := with("a")
		got, err := with(name)
		if plainErr != nil || err != nil {
			return
		}
		if got, want := skeleton(provider, got), skeleton(provider, plain); got != want {
			t.Errorf("name %q gives a query of another shape:\n got %q\nwant %q", name, got, want)
		}
		if alone, err := Render(metricTemplate(rolloutv1alpha1.PrometheusProvider, "{{ .Name }}"), Fields{Name: name, Interval: time.Second}); err == nil {
			if back, err := strconv.Unquote(alone); err != nil || back != name {
				t.Errorf("name %q stands as %s, which is read as %q (%v)", name, alone, back, err)
			}
		}
	})
}

// An end of a range is read as the number that it is written as, or refused.
func FuzzRangeEnd(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		end := intstr.FromString(text)
		got, err := RangeOf(&rolloutv1alpha1.MetricsExpectedRange{Min: &end})
		if err != nil {
			return
		}
		if math.IsNaN(*got.Min) || math.IsInf(*got.Min, 0) {
			t.Fatalf("%q is read as %v", text, *got.Min)
		}
		again, err := strconv.ParseFloat(Number(*got.Min), 64)
		if err != nil || again != *got.Min {
			t.Errorf("%q is read as %v, which is written as %s", text, *got.Min, Number(*got.Min))
		}
	})
}
