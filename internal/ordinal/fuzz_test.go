// SPDX-License-Identifier: Apache-2.0

package ordinal_test

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"slipway.dev/slipway/internal/ordinal"
)

var (
	pair  = regexp.MustCompile(`^([0-9]+)-([0-9]+)$`)
	plain = regexp.MustCompile(`^(?:0|[1-9][0-9]*)$`)
)

// ends reads one entry by a plain definition; false when it reserves nothing that can be told.
func ends(entry intstr.IntOrString) (first, last int, ok bool) {
	if entry.Type == intstr.Int {
		return int(entry.IntVal), int(entry.IntVal), entry.IntVal >= 0
	}
	found := pair.FindStringSubmatch(entry.StrVal)
	if found == nil {
		return 0, 0, false
	}
	first, errFirst := strconv.Atoi(found[1])
	last, errLast := strconv.Atoi(found[2])
	return first, last, errFirst == nil && errLast == nil && first <= last && last <= math.MaxInt32
}

// liveSlowly takes the next ordinal that is in no entry, again and again.
func liveSlowly(entries []intstr.IntOrString, start, n int) []int {
	live := []int{}
	for next := start; len(live) < n; next++ {
		for again := true; again; {
			again = false
			for _, entry := range entries {
				if first, last, _ := ends(entry); first <= next && next <= last {
					next, again = last+1, true
				}
			}
		}
		live = append(live, next)
	}
	return live
}

// FuzzReserved: the live ordinals are the first that are in no entry, in whatever order the entries stand; and reserving
// more never gives a pod a lower ordinal.
func FuzzReserved(f *testing.F) {
	f.Fuzz(func(t *testing.T, list string, start uint32, n uint8) {
		var entries []intstr.IntOrString
		if json.Unmarshal([]byte(list), &entries) != nil || len(entries) > 50 {
			return
		}
		readable := !slices.ContainsFunc(entries, func(entry intstr.IntOrString) bool { _, _, ok := ends(entry); return !ok })
		reserved, err := ordinal.ParseReserved(entries)
		if readable != (err == nil) {
			t.Fatalf("%s is readable: %v, but the error is %v", list, readable, err)
		}
		if err != nil {
			return
		}
		live := reserved.Live(int(start), int(n))
		if want := liveSlowly(entries, int(start), int(n)); !slices.Equal(live, want) {
			t.Fatalf("live are %v, want %v", live, want)
		}
		turned := slices.Clone(entries)
		slices.Reverse(turned)
		other, err := ordinal.ParseReserved(turned)
		if err != nil || !slices.Equal(live, other.Live(int(start), int(n))) {
			t.Errorf("the order of the entries matters: %v, turned round %v (%v)", live, other.Live(int(start), int(n)), err)
		}
		if len(entries) == 0 {
			return
		}
		fewer, err := ordinal.ParseReserved(entries[1:])
		if err != nil {
			t.Fatal(err)
		}
		for i, lower := range fewer.Live(int(start), int(n)) {
			if live[i] < lower {
				t.Errorf("position %d has ordinal %d, and %d with less reserved", i, live[i], lower)
			}
		}
	})
}

// FuzzOrdinalName: a name carries an ordinal exactly when it is the one that the ordinal gives.
func FuzzOrdinalName(f *testing.F) {
	f.Fuzz(func(t *testing.T, set, name string) {
		n, carries := ordinal.Of(set, name)
		if carries && (n < 0 || ordinal.Name(set, n) != name) {
			t.Errorf("Of(%q, %q) is %d, whose name is %q", set, name, n, ordinal.Name(set, n))
		}
		want := len(name) > len(set)+1 && name[:len(set)+1] == set+"-" && plain.MatchString(name[len(set)+1:])
		if want {
			_, err := strconv.Atoi(name[len(set)+1:])
			want = err == nil
		}
		if carries != want {
			t.Errorf("%q carries an ordinal of %q: %v, want %v", name, set, carries, want)
		}
		if carries && set != "" {
			if spoken, ok := ordinal.SetOf(name); !ok || spoken != set {
				t.Errorf("%q is of set %q, but speaks of %q, %v", name, set, spoken, ok)
			}
		}
		if spoken, ok := ordinal.SetOf(name); ok {
			if _, is := ordinal.Of(spoken, name); !is {
				t.Errorf("%q speaks of %q and has no ordinal of it", name, spoken)
			}
		}
	})
}
