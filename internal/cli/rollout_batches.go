// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/budget"
)

// readBatches makes the batches of a plan of goals: how many pods are done after each. Goals of one sort become sizes of that
// sort. Where a percentage follows a number, or the other way round, the size of the workload is needed (-1 is not known), and the
// sizes are numbers; the note says so.
func readBatches(goals []string, total int) (batches []rolloutv1alpha1.RolloutBatch, note string, err error) {
	if last := goals[len(goals)-1]; last != "100%" && last != fmt.Sprint(total) {
		return nil, "", fmt.Errorf("--batches %s: they are goals, and the last one is all pods: end with 100%%", strings.Join(goals, ","))
	}
	written := make([]intstr.IntOrString, len(goals))
	numbers := 0
	for i, goal := range goals {
		written[i] = intstr.Parse(strings.TrimSpace(goal))
		if _, err := budget.Resolve(&written[i], 100, budget.Up, fmt.Sprintf("--batches, goal %d", i+1)); err != nil {
			return nil, "", err
		}
		if i < len(goals)-1 && written[i].Type == intstr.Int {
			numbers++
		}
	}
	mixed := numbers > 0 && numbers < len(goals)-1
	if mixed && total < 0 {
		return nil, "", fmt.Errorf("--batches %s: numbers and percentages together need the size of the workload, which is not known here", strings.Join(goals, ","))
	}
	before := new(big.Rat)
	for i := range written {
		if i == len(written)-1 {
			return append(batches, rolloutv1alpha1.RolloutBatch{}), note, nil
		}
		percent := written[i].Type == intstr.String
		if mixed && percent {
			n, _ := budget.Resolve(&written[i], total, budget.Up, "") // it was read before
			written[i], percent = intstr.FromInt32(int32(n)), false
			note = "numbers and percentages together become numbers, by the size that the workload has now"
		}
		goal, err := rational(written[i])
		if err != nil {
			return nil, "", err
		}
		size := new(big.Rat).Sub(goal, before)
		if size.Sign() <= 0 || percent && goal.Cmp(big.NewRat(100, 1)) >= 0 {
			return nil, "", fmt.Errorf("--batches %s: goals grow from batch to batch, up to 100%%, and goal %d does not", strings.Join(goals, ","), i+1)
		}
		before = goal
		text := strings.TrimSuffix(strings.TrimRight(size.FloatString(6), "0"), ".")
		if percent {
			text += "%"
		}
		batches = append(batches, rolloutv1alpha1.RolloutBatch{Replicas: ptr.To(intstr.Parse(text))})
	}
	return batches, note, nil
}

func rational(v intstr.IntOrString) (*big.Rat, error) {
	if v.Type == intstr.Int {
		return big.NewRat(int64(v.IntVal), 1), nil
	}
	r, ok := new(big.Rat).SetString(strings.TrimSuffix(v.StrVal, "%"))
	if !ok {
		return nil, fmt.Errorf("%s is no percentage", strconv.Quote(v.StrVal))
	}
	return r, nil
}
