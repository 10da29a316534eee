// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestReservedRangesAreComparedAsNumbers compares the rules of the CRD, which read ranges digit by digit, with arithmetic.
func TestReservedRangesAreComparedAsNumbers(t *testing.T) {
	end := rapid.Custom(func(t *rapid.T) int {
		digits := rapid.IntRange(1, 10).Draw(t, "digits")
		return rapid.IntRange(0, int(math.Pow10(digits))-1).Draw(t, "end")
	})
	ends := rapid.Custom(func(t *rapid.T) [2]int {
		left := end.Draw(t, "left")
		near := min(max(left+rapid.IntRange(-20, 20).Draw(t, "distance"), 0), 9999999999)
		return [2]int{left, rapid.SampledFrom([]int{near, end.Draw(t, "right"), math.MaxInt32, math.MaxInt32 + 1}).Draw(t, "which")}
	})
	rapid.Check(t, func(r *rapid.T) {
		var ranges list
		var want []string
		for i, pair := range rapid.SliceOfN(ends, 1, 50).Draw(r, "ranges") {
			width := rapid.IntRange(0, 10).Draw(r, "width")
			ranges = append(ranges, fmt.Sprintf("%0*d-%0*d", width, pair[0], 10-width, pair[1]))
			if pair[0] > pair[1] || pair[1] > math.MaxInt32 {
				want = append(want, fmt.Sprintf("spec.reserveOrdinals[%d]", i))
			}
		}
		set := manifest(t, soundStatefulSet)
		spoil{"spec.reserveOrdinals", ranges}.apply(t, set)
		err := untyped.Create(t.Context(), set, client.DryRunAll)
		if diff := cmp.Diff(want, refused(r, err)); diff != "" {
			r.Fatalf("refused of %v (-want +got):\n%s", ranges, diff)
		}
	})
}

// refused returns which reserved ordinals the API server did not take, in order.
func refused(t *rapid.T, err error) []string {
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		t.Fatalf("got error %v, want the status Invalid", err)
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if !strings.Contains(cause.Message, "must be a range") {
			t.Fatalf("a cause other than the rules: %v", cause)
		}
		if !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	slices.SortFunc(fields, func(a, b string) int { // shorter numbers are smaller
		return 1000*(len(a)-len(b)) + strings.Compare(a, b)
	})
	return fields
}
