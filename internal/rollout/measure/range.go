// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// Range is a closed range of numbers; an absent end is open.
type Range struct {
	Min, Max *float64
}

// RangeOf reads a range. It fails when both ends are absent, when an end is not a decimal number, and when no number could be
// in it.
func RangeOf(r *rolloutv1alpha1.MetricsExpectedRange) (Range, error) {
	if r == nil || r.Min == nil && r.Max == nil {
		return Range{}, errors.New("metricsRange: give min, max or both")
	}
	low, lowErr := end("min", r.Min)
	high, highErr := end("max", r.Max)
	if err := errors.Join(lowErr, highErr); err != nil {
		return Range{}, err
	}
	if low != nil && high != nil && *low > *high {
		return Range{}, fmt.Errorf("metricsRange: min %s is above max %s", Number(*low), Number(*high))
	}
	return Range{Min: low, Max: high}, nil
}

var decimal = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

func end(name string, v *intstr.IntOrString) (*float64, error) {
	if v == nil {
		return nil, nil
	}
	text := v.String()
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || !decimal.MatchString(text) {
		return nil, fmt.Errorf("metricsRange.%s: %q is not a number: use one such as 5 or \"0.01\"", name, text)
	}
	return &number, nil
}

// Holds tells whether a number is in the range. NaN is in no range.
func (r Range) Holds(v float64) bool {
	return !math.IsNaN(v) && (r.Min == nil || v >= *r.Min) && (r.Max == nil || v <= *r.Max)
}

// String says which numbers are good.
func (r Range) String() string {
	switch {
	case r.Min != nil && r.Max != nil:
		return Number(*r.Min) + " to " + Number(*r.Max)
	case r.Min != nil:
		return "at least " + Number(*r.Min)
	case r.Max != nil:
		return "at most " + Number(*r.Max)
	default:
		return "any number"
	}
}

// Number writes a number as people do: the shortest that is read as the same, with an exponent only where there would be many
// zeros.
func Number(v float64) string {
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e15) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
