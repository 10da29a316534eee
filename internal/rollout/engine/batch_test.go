// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

func plan(sizes ...any) rolloutv1alpha1.RolloutPlan {
	return rolloutv1alpha1.RolloutPlan{RolloutBatches: batchesOf(sizes...)}
}

func equalPlan(n int32) rolloutv1alpha1.RolloutPlan {
	return rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To(n)}
}

func TestGoalsOfBatches(t *testing.T) {
	for sentence, test := range map[string]struct {
		plan  rolloutv1alpha1.RolloutPlan
		total int
		want  []int
	}{
		"percentages":                          {plan("20%", "40%", "30%", "10%"), 10, []int{2, 6, 9, 10}},
		"numbers":                              {plan(1, 2, 4, 3), 10, []int{1, 3, 7, 10}},
		"a mixture":                            {plan(1, "20%", "50%", 2), 10, []int{1, 3, 8, 10}},
		"another mixture":                      {plan("20%", 2, 2, "50%"), 10, []int{2, 4, 6, 10}},
		"percentages round up":                 {plan("21%", "33%", nil), 7, []int{2, 5, 7}},
		"the last one takes the rest":          {plan(1, 1, nil), 10, []int{1, 2, 10}},
		"one batch takes all":                  {plan("100%"), 10, []int{10}},
		"no batches are one":                   {rolloutv1alpha1.RolloutPlan{}, 10, []int{10}},
		"8 in 5 equal ones":                    {equalPlan(5), 8, []int{1, 2, 4, 6, 8}},
		"4 in 5 equal ones":                    {equalPlan(5), 4, []int{0, 1, 2, 3, 4}},
		"9 in 4 equal ones":                    {equalPlan(4), 9, []int{2, 4, 6, 9}},
		"no pods":                              {plan(1, "20%", nil), 0, []int{0, 0, 0}},
		"a total that has grown keeps numbers": {plan(2, 2, nil), 20, []int{2, 4, 20}},
		"a total that has grown gives percentages more":  {plan("20%", "20%", nil), 20, []int{4, 8, 20}},
		"a total that has shrunk below the numbers ends": {plan(2, 5, 3), 4, []int{2, 4, 4}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Goals(Batches(&test.plan, test.total), test.total); !cmp.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestBatchesHaveToAddUp(t *testing.T) {
	for sentence, test := range map[string]struct {
		plan  rolloutv1alpha1.RolloutPlan
		total int
		want  string
	}{
		"a last number that fits":                {plan(1, 2, 7), 10, ""},
		"a last number that is too small":        {plan(1, 2, 6), 10, "rolloutBatches[2].replicas: must be 7"},
		"a last number that is too large":        {plan(1, 2, 8), 10, "must be 7"},
		"a last percentage takes what is left":   {plan(1, 2, "1%"), 10, ""},
		"the batches before the last take all":   {plan(5, 5, nil), 10, "rolloutBatches[1].replicas: the batches up to this one take 10 pods of 10"},
		"the batches before the last take more":  {plan("60%", "60%", nil), 10, "take 12 pods of 10"},
		"rounding up takes all":                  {plan("34%", "34%", nil), 2, "take 2 pods of 2"},
		"a gap in the middle":                    {plan(1, nil, 3), 10, "rolloutBatches[1].replicas: is needed in every batch but the last"},
		"something that is no number":            {plan("many", nil), 10, "rolloutBatches[0].replicas"},
		"a single number that is the total":      {plan(10), 10, ""},
		"a single number that is not the total":  {plan(9), 10, "must be 10"},
		"any batches of nothing":                 {plan(3, 4, nil), 0, ""},
		"equal batches, more of them than pods":  {equalPlan(5), 4, ""},
		"one pod in two batches of which is one": {plan(1, nil), 1, "take 1 pods of 1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := CheckBatches(Batches(&test.plan, test.total), test.total)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// Goals never shrink, end at the total, and no batch but the last takes more than its share.
func TestGoalsKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := drawPlan(t)
		total := rapid.IntRange(0, 200).Draw(t, "total")
		batches := Batches(&plan, rapid.IntRange(0, 200).Draw(t, "total at the start"))
		goals := Goals(batches, total)
		if !slices.IsSorted(goals) {
			t.Fatalf("goals shrink: %v", goals)
		}
		if goals[len(goals)-1] != total {
			t.Fatalf("goals end at %d of %d", goals[len(goals)-1], total)
		}
		before := 0
		for i, goal := range goals[:len(goals)-1] {
			if share := Goals([]rolloutv1alpha1.RunningBatch{batches[i], {}}, total)[0]; goal-before > share {
				t.Fatalf("batch %d takes %d pods, and its share is %d", i, goal-before, share)
			}
			before = goal
		}
	})
}

func TestEqualBatchesDifferByAtMostOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, number := rapid.IntRange(0, 500).Draw(t, "total"), rapid.Int32Range(1, 60).Draw(t, "batches")
		p := equalPlan(number)
		before, sizes := 0, []int{}
		for _, goal := range Goals(Batches(&p, total), total) {
			sizes = append(sizes, goal-before)
			before = goal
		}
		if !slices.IsSorted(sizes) || sizes[len(sizes)-1]-sizes[0] > 1 {
			t.Fatalf("%d in %d: %v", total, number, sizes)
		}
	})
}

func drawPlan(t *rapid.T) rolloutv1alpha1.RolloutPlan {
	if rapid.Bool().Draw(t, "equal") {
		return equalPlan(rapid.Int32Range(1, 12).Draw(t, "numBatches"))
	}
	n := rapid.IntRange(0, 6).Draw(t, "batches before the last")
	var sizes []any
	for range n {
		if rapid.Bool().Draw(t, "percent") {
			sizes = append(sizes, rapid.SampledFrom([]string{"1%", "10%", "12.5%", "20%", "33%"}).Draw(t, "size"))
		} else {
			sizes = append(sizes, rapid.IntRange(0, 8).Draw(t, "size"))
		}
	}
	return plan(append(sizes, nil)...)
}
