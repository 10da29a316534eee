// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

type fixed = map[string]intstr.IntOrString

func pods(n int32) intstr.IntOrString         { return intstr.FromInt32(n) }
func share(percent string) intstr.IntOrString { return intstr.FromString(percent) }

func TestSplit(t *testing.T) {
	a, ab, abc := []string{"A"}, []string{"A", "B"}, []string{"A", "B", "C"}
	for sentence, c := range map[string]struct {
		replicas int
		units    []string
		fixed    fixed
		want     string
	}{
		"10 over A and B is 5 and 5":                                         {10, ab, nil, "A5 B5"},
		"10 over A, B and C: the remainder goes to the first":                {10, abc, nil, "A4 B3 C3"},
		"the order of the units breaks the tie, not their names":             {10, []string{"C", "B", "A"}, nil, "C4 B3 A3"},
		"what is not fixed is shared evenly":                                 {10, abc, fixed{"A": pods(4)}, "A4! B3 C3"},
		"a percentage is of all replicas":                                    {10, abc, fixed{"A": pods(4), "B": share("10%")}, "A4! B1! C5"},
		"a percentage rounds down":                                           {10, ab, fixed{"A": share("39%")}, "A3! B7"},
		"a unit may be fixed to none":                                        {3, ab, fixed{"A": pods(0)}, "A0! B3"},
		"all may be fixed":                                                   {3, ab, fixed{"A": pods(1), "B": pods(2)}, "A1! B2!"},
		"all may be fixed and others stay empty":                             {3, abc, fixed{"A": pods(1), "B": pods(2)}, "A1! B2! C0"},
		"fewer pods than units":                                              {1, abc, nil, "A1 B0 C0"},
		"no pods":                                                            {0, ab, nil, "A0 B0"},
		"percentages take the remainder by the largest fraction":             {10, abc, fixed{"A": share("33%"), "B": share("33%"), "C": share("34%")}, "A3! B3! C4!"},
		"equal fractions go by the order of the units":                       {10, abc, fixed{"A": share("33.3%"), "B": share("33.3%"), "C": share("33.3%")}, "A4! B3! C3!"},
		"a number does not take of the remainder when there is a percentage": {10, ab, fixed{"A": pods(3), "B": share("65%")}, "A3! B7!"},
		"percentages that are far below all take it in rounds":               {10, ab, fixed{"A": share("30%"), "B": share("20%")}, "A6! B4!"},
		"one unit has all":                                                   {7, a, nil, "A7"},
		"a sum above replicas says the numbers":                              {5, ab, fixed{"A": pods(4), "B": pods(2)}, "unitReplicas ask for 6 pods (A 4, B 2), and replicas is 5"},
		"so does a sum of percentages above 100":                             {10, ab, fixed{"A": share("80%"), "B": share("30%")}, "unitReplicas ask for 11 pods (A 8, B 3), and replicas is 10"},
		"a sum below replicas with nobody left says the numbers":             {10, ab, fixed{"A": pods(4), "B": pods(2)}, "unitReplicas ask for 6 pods (A 4, B 2), replicas is 10, and no unit is left for the other 4"},
		"no replicas for a fixed unit":                                       {0, ab, fixed{"A": pods(1)}, "unitReplicas ask for 1 pods (A 1), and replicas is 0"},
		"no units at all":                                                    {3, nil, nil, "there are no units for 3 pods"},
		"what is no number":                                                  {3, ab, fixed{"A": share("many")}, `spec.topology.unitReplicas[A]: "many" is not allowed: use an integer of 0 or more, or a percentage such as "20%" or "12.5%"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			shares, err := Split(c.replicas, c.units, c.fixed)
			got := ""
			for i, s := range shares {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprint(s.Unit, s.Pods)
				if s.Fixed {
					got += "!"
				}
			}
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func drawUnits(t *rapid.T) []string {
	return rapid.Permutation([]string{"A", "B", "C", "D", "E", "F"}[:rapid.IntRange(1, 6).Draw(t, "units")]).Draw(t, "order")
}

func TestASplitAddsUpToReplicasAndFavoursNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units, replicas := drawUnits(t), rapid.IntRange(0, 50).Draw(t, "replicas")
		named := fixed{}
		for _, unit := range units {
			switch rapid.IntRange(0, 3).Draw(t, "fixed "+unit) {
			case 0:
				named[unit] = pods(rapid.Int32Range(0, 15).Draw(t, unit))
			case 1:
				named[unit] = share(fmt.Sprintf("%d.%d%%", rapid.IntRange(0, 60).Draw(t, unit), rapid.IntRange(0, 9).Draw(t, unit+" decimal")))
			}
		}
		shares, err := Split(replicas, units, named)
		if again, errAgain := Split(replicas, units, maps.Clone(named)); !cmp.Equal(shares, again) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("%v and %v for the same", shares, again)
		}
		if err != nil {
			return
		}
		sum, least, most := 0, replicas, 0
		for _, s := range shares {
			sum += s.Pods
			if !s.Fixed {
				least, most = min(least, s.Pods), max(most, s.Pods)
			}
			if number := named[s.Unit]; s.Fixed && number.Type == intstr.Int && s.Pods != number.IntValue() {
				t.Errorf("%s has %d pods and is fixed to %s", s.Unit, s.Pods, number.String())
			}
		}
		if sum != replicas {
			t.Errorf("%v add up to %d, not to %d", shares, sum, replicas)
		}
		if most-least > 1 {
			t.Errorf("%v: the others are not even", shares)
		}
	})
}

func TestProportionalGivesNobodyMoreThanItsWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(0, 20), 1, 6).Draw(t, "weights")
		total := 0
		for _, w := range weights {
			total += w
		}
		n := rapid.IntRange(0, total).Draw(t, "n")
		parts := proportional(n, weights)
		sum := 0
		for i, part := range parts {
			sum += part
			if total == 0 {
				continue
			}
			if exact := n * weights[i]; part*total > exact+total-1 || (part+1)*total <= exact || part > weights[i] {
				t.Errorf("%d of %v gives %v: %d is not within one of %d/%d", n, weights, parts, part, exact, total)
			}
		}
		if sum != n {
			t.Errorf("%v add up to %d, not to %d", parts, sum, n)
		}
		if !slices.IsSortedFunc(weights, func(a, b int) int { return a - b }) {
			return
		}
		if slices.Max(weights) == slices.Min(weights) && !slices.IsSortedFunc(parts, func(a, b int) int { return b - a }) {
			t.Errorf("%v: a tie does not go to the first", parts)
		}
	})
}
