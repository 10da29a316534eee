// SPDX-License-Identifier: Apache-2.0

package ordinal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/ordinal"
)

func entries(values ...any) []intstr.IntOrString {
	var list []intstr.IntOrString
	for _, v := range values {
		switch v := v.(type) {
		case int:
			list = append(list, intstr.FromInt32(int32(v)))
		case string:
			list = append(list, intstr.FromString(v))
		}
	}
	return list
}

func TestLive(t *testing.T) {
	for sentence, c := range map[string]struct {
		start    int
		reserved []intstr.IntOrString
		n        int
		want     []int
	}{
		"without anything else they begin at 0":         {0, nil, 3, []int{0, 1, 2}},
		"they begin where they are told to":             {2, nil, 3, []int{2, 3, 4}},
		"reserved ones are skipped":                     {0, entries(1, 3), 4, []int{0, 2, 4, 5}},
		"what is reserved below the start is no matter": {2, entries(1, 3), 4, []int{2, 4, 5, 6}},
		"a range is reserved with both its ends":        {0, entries(0, "2-5"), 3, []int{1, 6, 7}},
		"the start may be reserved":                     {5, entries("0-9"), 2, []int{10, 11}},
		"overlapping entries in any order are one":      {0, entries("4-6", 5, "1-4", 1), 3, []int{0, 7, 8}},
		"ranges that touch leave nothing between":       {0, entries("0-2", "3-5"), 2, []int{6, 7}},
		"what is reserved above the last is no matter":  {0, entries(7), 2, []int{0, 1}},
		"none are wanted":                               {3, entries(3), 0, []int{}},
		"a range of billions costs nothing":             {0, entries("0-2000000000"), 2, []int{2000000001, 2000000002}},
		"they go on above what can be reserved":         {0, entries("0-2147483647"), 1, []int{2147483648}},
		"a range of one is one":                         {0, entries("1-1"), 2, []int{0, 2}},
		"zeros in front do not change a number":         {0, entries("01-002"), 2, []int{0, 3}},
	} {
		t.Run(sentence, func(t *testing.T) {
			reserved, err := ordinal.ParseReserved(c.reserved)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, reserved.Live(c.start, c.n)); diff != "" {
				t.Errorf("live ordinals (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEntryThatCannotBeReadIsNamed(t *testing.T) {
	for sentence, entry := range map[string]any{
		"a negative number":                   -1,
		"no number at all":                    "abc",
		"a number as a string":                "5",
		"a range without an end":              "3-",
		"a range without a beginning":         "-3",
		"a range that runs backwards":         "5-3",
		"three numbers":                       "1-2-3",
		"a sign":                              "+1-3",
		"a space":                             "1 - 3",
		"a number larger than ordinals go":    "0-2147483648",
		"a number larger than any computer's": "0-99999999999999999999999999",
		"an empty string":                     "",
	} {
		t.Run(sentence, func(t *testing.T) {
			bad := entries(entry)
			_, err := ordinal.ParseReserved(append(entries(1, "2-3"), bad...))
			if err == nil || !strings.Contains(err.Error(), `"`+bad[0].String()+`"`) {
				t.Errorf("error %v does not name %v", err, entry)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]int{
		"web-0": 0, "web-7": 7, "web-10": 10, "web-2147483648": 2147483648,
		"web-01": -1, "web-+1": -1, "web--1": -1, "web-": -1, "web": -1, "web0": -1, "web-1a": -1, "web-1-1": -1, "webs-1": -1, "we-1": -1, "wab-1": -1, "": -1,
		"web-99999999999999999999": -1, "web-0x1": -1, "web-1_0": -1,
	} {
		got, ok := ordinal.Of("web", name)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("Of(web, %q) = %d, %v", name, got, ok)
		}
	}
}

func TestANameWithAnOrdinalSpeaksOfItsSet(t *testing.T) {
	for name, want := range map[string]string{"web-0": "web", "my-web-12": "my-web", "web-1-1": "web-1", "web-01": "", "web": "", "-1": "", "1": "", "web-x": ""} {
		if got, ok := ordinal.SetOf(name); ok != (want != "") || ok && got != want {
			t.Errorf("SetOf(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
}

func TestEveryLiveOrdinalIsFreeAndNamesItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []intstr.IntOrString
		taken := map[int]bool{}
		for range rapid.IntRange(0, 6).Draw(t, "entries") {
			first := rapid.IntRange(0, 20).Draw(t, "first")
			last := first + rapid.IntRange(0, 5).Draw(t, "more")
			list = append(list, intstr.FromString(fmt.Sprintf("%d-%d", first, last)))
			for n := first; n <= last; n++ {
				taken[n] = true
			}
		}
		start, n := rapid.IntRange(0, 20).Draw(t, "start"), rapid.IntRange(0, 10).Draw(t, "n")
		reserved, err := ordinal.ParseReserved(list)
		if err != nil {
			t.Fatal(err)
		}
		var want []int
		for next := start; len(want) < n; next++ {
			if !taken[next] {
				want = append(want, next)
			}
		}
		live := reserved.Live(start, n)
		if !slices.Equal(live, want) {
			t.Errorf("live are %v, want %v", live, want)
		}
		for _, each := range live {
			if back, ok := ordinal.Of("web", ordinal.Name("web", each)); !ok || back != each {
				t.Errorf("the name of %d is read as %d, %v", each, back, ok)
			}
		}
	})
}
