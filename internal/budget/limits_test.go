// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// number reads "3" as an integer, anything else as a string, "" as absent.
func number(s string) *intstr.IntOrString {
	if s == "" {
		return nil
	}
	return ptr.To(intstr.Parse(s))
}

func TestResolve(t *testing.T) {
	for name, test := range map[string]struct {
		value    string
		base     int
		rounding Rounding
		want     int
	}{
		"an absent value is nothing":               {value: "", base: 10, want: 0},
		"an integer ignores the base":              {value: "7", base: 3, want: 7},
		"a percentage rounds up when asked":        {value: "25%", base: 10, rounding: Up, want: 3},
		"a percentage rounds down when asked":      {value: "25%", base: 10, rounding: Down, want: 2},
		"a whole result is not rounded up":         {value: "33.3%", base: 1000, rounding: Up, want: 333},
		"a whole result is not rounded down":       {value: "33.3%", base: 1000, rounding: Down, want: 333},
		"decimals are honored":                     {value: "12.5%", base: 8, rounding: Up, want: 1},
		"a tiny share still rounds up to one":      {value: "0.0000000000000000001%", base: 1, rounding: Up, want: 1},
		"zero percent is zero":                     {value: "0%", base: 10, rounding: Up, want: 0},
		"zero percent with decimals is zero":       {value: "0.00%", base: 10, rounding: Up, want: 0},
		"leading zeros mean nothing":               {value: "007%", base: 100, rounding: Up, want: 7},
		"more than all is more than all":           {value: "150%", base: 4, rounding: Up, want: 6},
		"a percentage of nothing is nothing":       {value: "50%", base: 0, rounding: Up, want: 0},
		"what exceeds an int32 is cut to the most": {value: "99999999999999999999%", base: 9, want: math.MaxInt32},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Resolve(number(test.value), test.base, test.rounding, "field")
			if err != nil {
				t.Fatalf("Resolve: %v", err)
			}
			if got != test.want {
				t.Errorf("%s of %d = %d, want %d", test.value, test.base, got, test.want)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	for name, value := range map[string]intstr.IntOrString{
		"a number in quotes":      intstr.FromString("5"),
		"an empty string":         intstr.FromString(""),
		"a lone percent sign":     intstr.FromString("%"),
		"a negative percentage":   intstr.FromString("-5%"),
		"a sign":                  intstr.FromString("+5%"),
		"a negative integer":      intstr.FromInt32(-1),
		"a dot without decimals":  intstr.FromString("5.%"),
		"decimals without digits": intstr.FromString(".5%"),
		"two dots":                intstr.FromString("1.2.3%"),
		"white space":             intstr.FromString(" 5%"),
		"an exponent":             intstr.FromString("1e1%"),
		"two percent signs":       intstr.FromString("5%%"),
		"digits of other scripts": intstr.FromString("٥%"),
		"words":                   intstr.FromString("half"),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Resolve(&value, 10, Up, "spec.updateStrategy.maxSurge")
			if err == nil {
				t.Fatalf("Resolve(%q) = %d, want an error", value.String(), got)
			}
			for _, part := range []string{"spec.updateStrategy.maxSurge", value.String(), "an integer of 0 or more", `"12.5%"`} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not name %q", err, part)
				}
			}
		})
	}
}

func TestResolveIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		thousandths := rapid.IntRange(0, 200_000).Draw(t, "thousandths of a percent")
		base := rapid.IntRange(0, 100_000).Draw(t, "base")
		value := ptr.To(intstr.FromString(fmt.Sprintf("%d.%03d%%", thousandths/1000, thousandths%1000)))
		down, err := Resolve(value, base, Down, "field")
		if err != nil {
			t.Fatal(err)
		}
		up, err := Resolve(value, base, Up, "field")
		if err != nil {
			t.Fatal(err)
		}
		exact := thousandths * base // in units of 1/100000 pod
		if down != exact/100_000 || up != (exact+99_999)/100_000 {
			t.Errorf("%s of %d = %d down, %d up", value, base, down, up)
		}
	})
}

func TestNewLimits(t *testing.T) {
	for name, test := range map[string]struct {
		replicas                                     *int32
		partition, surge, unavailable, creationLimit string
		paused                                       bool
		want                                         Limits
	}{
		"nothing is set": {want: Limits{Replicas: 1, Unavailable: 1}},
		"unavailable is a fifth when absent, rounded up":         {replicas: ptr.To[int32](11), want: Limits{Replicas: 11, Unavailable: 3}},
		"an absent unavailable rounds down with a surge":         {replicas: ptr.To[int32](11), surge: "1", want: Limits{Replicas: 11, Surge: 1, Unavailable: 2}},
		"unavailable rounds down when there is a surge":          {replicas: ptr.To[int32](10), surge: "25%", unavailable: "25%", want: Limits{Replicas: 10, Surge: 3, Unavailable: 2}},
		"unavailable rounds up when the surge is zero percent":   {replicas: ptr.To[int32](10), surge: "0%", unavailable: "25%", want: Limits{Replicas: 10, Unavailable: 3}},
		"a pause takes the surge away before unavailable rounds": {replicas: ptr.To[int32](10), surge: "25%", unavailable: "25%", paused: true, want: Limits{Replicas: 10, Unavailable: 3}},
		"a partition percentage that keeps all keeps one less":   {replicas: ptr.To[int32](4), partition: "99%", want: Limits{Replicas: 4, Partition: 3, Unavailable: 1}},
		"the literal 100% keeps all":                             {replicas: ptr.To[int32](4), partition: "100%", want: Limits{Replicas: 4, Partition: 4, Unavailable: 1}},
		"of a single pod any percentage keeps it":                {replicas: ptr.To[int32](1), partition: "50%", want: Limits{Replicas: 1, Partition: 1, Unavailable: 1}},
		"an integer partition may keep all":                      {replicas: ptr.To[int32](4), partition: "4", want: Limits{Replicas: 4, Partition: 4, Unavailable: 1}},
		"an integer partition is cut to the replicas":            {replicas: ptr.To[int32](4), partition: "9", want: Limits{Replicas: 4, Partition: 4, Unavailable: 1}},
		"a partition percentage above all is cut too":            {replicas: ptr.To[int32](4), partition: "150%", want: Limits{Replicas: 4, Partition: 4, Unavailable: 1}},
		"the smallest partition percentage keeps one":            {replicas: ptr.To[int32](3), partition: "1%", want: Limits{Replicas: 3, Partition: 1, Unavailable: 1}},
		"the limit of creations rounds up":                       {replicas: ptr.To[int32](10), creationLimit: "21%", want: Limits{Replicas: 10, Unavailable: 2, CreateUnavailable: ptr.To(3)}},
		"a limit of zero creations is a limit":                   {replicas: ptr.To[int32](10), creationLimit: "0", want: Limits{Replicas: 10, Unavailable: 2, CreateUnavailable: ptr.To(0)}},
		"decimals of a percentage count":                         {replicas: ptr.To[int32](16), unavailable: "12.5%", surge: "6.25%", want: Limits{Replicas: 16, Surge: 1, Unavailable: 2}},
		"no replicas":                                            {replicas: ptr.To[int32](0), partition: "50%", want: Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := NewLimits(Spec{
				Replicas: test.replicas, Partition: number(test.partition), MaxSurge: number(test.surge),
				MaxUnavailable: number(test.unavailable), ScaleMaxUnavailable: number(test.creationLimit), Paused: test.paused,
			})
			if err != nil {
				t.Fatalf("NewLimits: %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewLimitsNamesEveryBadField(t *testing.T) {
	bad := ptr.To(intstr.FromString("5"))
	_, err := NewLimits(Spec{Partition: bad, MaxSurge: bad, MaxUnavailable: bad, ScaleMaxUnavailable: bad})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{
		"spec.updateStrategy.partition", "spec.updateStrategy.maxSurge",
		"spec.updateStrategy.maxUnavailable", "spec.scaleStrategy.maxUnavailable",
	} {
		if !strings.Contains(err.Error(), field+`: "5" is not allowed`) {
			t.Errorf("error %q does not name %s", err, field)
		}
	}
}
