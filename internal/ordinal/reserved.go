// SPDX-License-Identifier: Apache-2.0

package ordinal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Reserved are the ordinals that no pod may have. The zero value reserves none.
type Reserved struct {
	ranges []interval // ascending, with a gap between any two
}

// interval is a range of ordinals, both ends included.
type interval struct{ first, last int }

// ParseReserved reads a list of ordinals and of ranges such as "3-5", both ends included. Entries may overlap and
// stand in any order. The error names every entry that cannot be read: a negative number, a string that is not two
// numbers with a hyphen between, a range that runs backwards, and a number above the largest int32.
func ParseReserved(entries []intstr.IntOrString) (Reserved, error) {
	var ranges []interval
	var unreadable []string
	for i := range entries {
		if r, ok := parse(entries[i]); ok {
			ranges = append(ranges, r)
		} else {
			unreadable = append(unreadable, strconv.Quote(entries[i].String()))
		}
	}
	if len(unreadable) > 0 {
		return Reserved{}, fmt.Errorf("%s: not an ordinal from 0 to %d, nor a range of them such as \"3-5\"", strings.Join(unreadable, ", "), math.MaxInt32)
	}
	return Reserved{ranges: merged(ranges)}, nil
}

func parse(entry intstr.IntOrString) (interval, bool) {
	if entry.Type == intstr.Int {
		return interval{int(entry.IntVal), int(entry.IntVal)}, entry.IntVal >= 0
	}
	left, right, _ := strings.Cut(entry.StrVal, "-")
	first, leftOK := bound(left)
	last, rightOK := bound(right)
	return interval{first, last}, leftOK && rightOK && first <= last
}

// bound reads decimal digits and nothing else, not even a sign.
func bound(digits string) (int, bool) {
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), err == nil
}

func merged(ranges []interval) []interval {
	slices.SortFunc(ranges, func(a, b interval) int { return cmp.Compare(a.first, b.first) })
	var disjoint []interval
	for _, r := range ranges {
		if n := len(disjoint); n > 0 && r.first <= disjoint[n-1].last+1 {
			disjoint[n-1].last = max(disjoint[n-1].last, r.last)
			continue
		}
		disjoint = append(disjoint, r)
	}
	return disjoint
}

// Live are the first n ordinals from start on that are not reserved, ascending.
func (r Reserved) Live(start, n int) []int {
	live := make([]int, 0, max(n, 0))
	next := start
	for _, reserved := range r.ranges {
		for ; len(live) < n && next < reserved.first; next++ {
			live = append(live, next)
		}
		next = max(next, reserved.last+1)
	}
	for ; len(live) < n; next++ {
		live = append(live, next)
	}
	return live
}
