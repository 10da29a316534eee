// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
)

// usual is the size to begin with when none is known.
const usual = 10

// Arithmetic is what the batches of a plan come to.
type Arithmetic struct {
	// Total is how many pods they divide; Assumed: nobody said so, and it is one that they add up for.
	Total   int
	Assumed bool
	// Goals are how many pods are done after each batch.
	Goals []int
}

// String is the arithmetic in one line.
func (a Arithmetic) String() string {
	text := fmt.Sprintf("goals of %d pods: %s", a.Total, strings.Trim(fmt.Sprint(a.Goals), "[]"))
	if a.Assumed {
		return text + " (assumed; --size says otherwise)"
	}
	return text
}

// Goals does the arithmetic for a workload of a size; nil when that is not known. Then it is an error when the batches add up for no
// size at all.
func Goals(spec *rolloutv1alpha1.RolloutTraitSpec, size *int) (Arithmetic, []Finding) {
	plan := &spec.RolloutPlan
	if total, known := totalOf(spec, size); known {
		batches := engine.Batches(plan, total)
		if err := engine.CheckBatches(batches, total); err != nil {
			return Arithmetic{}, []Finding{findingOf(err)}
		}
		return Arithmetic{Total: total, Goals: engine.Goals(batches, total)}, nil
	}
	var first error
	for _, total := range sizes(plan) {
		batches := engine.Batches(plan, total)
		err := engine.CheckBatches(batches, total)
		if err == nil {
			return Arithmetic{Total: total, Assumed: true, Goals: engine.Goals(batches, total)}, nil
		}
		if first == nil {
			first = err
		}
	}
	finding := findingOf(first)
	finding.Allowed = "adds up for no number of pods; for one, " + finding.Allowed
	return Arithmetic{}, []Finding{finding}
}

// totalOf is how many pods the batches divide: all of them, or in a scale those that come or go.
func totalOf(spec *rolloutv1alpha1.RolloutTraitSpec, size *int) (int, bool) {
	wanted := spec.RolloutPlan.TargetSize
	switch {
	case len(spec.SourceRef) > 0 && wanted != nil:
		return int(*wanted), true
	case size == nil:
		return 0, false
	case wanted != nil && int(*wanted) != *size && len(spec.SourceRef) == 0:
		return max(int(*wanted)-*size, *size-int(*wanted)), true
	}
	return *size, true
}

// sizes are those to try: the usual ones, and those around what the numbers among the batches need.
func sizes(plan *rolloutv1alpha1.RolloutPlan) []int {
	need := 0
	for _, b := range plan.RolloutBatches {
		if b.Replicas != nil && b.Replicas.Type == intstr.Int {
			need += b.Replicas.IntValue()
		}
	}
	tried := []int{usual}
	for n := 1; n <= 1000; n++ {
		tried = append(tried, n)
	}
	if need == 0 {
		return tried
	}
	for n := range 1000 {
		tried = append(tried, need+n)
	}
	for n := 2; n <= 100; n++ {
		tried = append(tried, need*n)
	}
	return slices.DeleteFunc(tried, func(n int) bool { return n > maxInt32 })
}

// findingOf reads the field that an error of the arithmetic begins with.
func findingOf(err error) Finding {
	text := strings.TrimPrefix(err.Error(), "reading a batch: ")
	field, what, _ := strings.Cut(text, ": ")
	return Finding{Field: field, Allowed: what}
}
