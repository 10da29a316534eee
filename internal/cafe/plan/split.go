// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"slipway.dev/slipway/internal/budget"
)

// Share is what one unit gets of all replicas.
type Share struct {
	Unit string
	Pods int
	// Fixed: unitReplicas names the unit, so nothing is moved to it or away.
	Fixed bool
}

// Split shares replicas over the units, in their order. Units in fixed get a number, or a percentage rounded down; what
// is left goes evenly to the others, the remainder one each in their order. When there are no others, the percentages
// take what is left, by the largest fraction. It fails with the numbers when they do not add up.
func Split(replicas int, units []string, fixed map[string]intstr.IntOrString) ([]Share, error) {
	shares := make([]Share, len(units))
	left := replicas
	var others, percentages []int
	fractions := map[int]*big.Rat{}
	for i, unit := range units {
		shares[i].Unit = unit
		value, named := fixed[unit]
		if !named {
			others = append(others, i)
			continue
		}
		pods, err := budget.Resolve(&value, replicas, budget.Down, fmt.Sprintf("spec.topology.unitReplicas[%s]", unit))
		if err != nil {
			return nil, err
		}
		shares[i].Pods, shares[i].Fixed = pods, true
		left -= pods
		if value.Type == intstr.String {
			percentages = append(percentages, i)
			fractions[i] = fractionOf(value.StrVal, replicas, pods)
		}
	}
	switch {
	case left < 0:
		return nil, fmt.Errorf("unitReplicas ask for %d pods (%s), and replicas is %d", replicas-left, told(shares), replicas)
	case left == 0:
		return shares, nil
	case len(others) > 0:
		spread(shares, others, left)
	case len(percentages) > 0:
		slices.SortStableFunc(percentages, func(a, b int) int { return fractions[b].Cmp(fractions[a]) })
		spread(shares, percentages, left)
	case len(units) == 0:
		return nil, fmt.Errorf("there are no units for %d pods", replicas)
	default:
		return nil, fmt.Errorf("unitReplicas ask for %d pods (%s), replicas is %d, and no unit is left for the other %d", replicas-left, told(shares), replicas, left)
	}
	return shares, nil
}

// spread gives pods evenly to the shares at the given places, the remainder one each in the order of the places.
func spread(shares []Share, places []int, pods int) {
	for n, i := range places {
		shares[i].Pods += pods / len(places)
		if n < pods%len(places) {
			shares[i].Pods++
		}
	}
}

// fractionOf is what rounding a percentage of base down to whole has cut off.
func fractionOf(percentage string, base, whole int) *big.Rat {
	share, _ := new(big.Rat).SetString(strings.TrimSuffix(percentage, "%")) // it was read before
	share.Mul(share, big.NewRat(int64(base), 100))
	return share.Sub(share, big.NewRat(int64(whole), 1))
}

// told are the fixed shares in words: A 4, B 1.
func told(shares []Share) string {
	var words []string
	for _, s := range shares {
		if s.Fixed {
			words = append(words, fmt.Sprintf("%s %d", s.Unit, s.Pods))
		}
	}
	return strings.Join(words, ", ")
}

// proportional gives n, which is at most the sum of the weights, out in proportion to the weights, by largest remainder.
// The order of the weights breaks ties. Nobody gets more than its weight.
func proportional(n int, weights []int) []int {
	total := 0
	for _, w := range weights {
		total += w
	}
	parts := make([]int, len(weights))
	if total == 0 || n <= 0 {
		return parts
	}
	n = min(n, total)
	left := n
	order := make([]int, len(weights))
	for i, w := range weights {
		order[i] = i
		parts[i] = n * w / total
		left -= parts[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(n*weights[b]%total, n*weights[a]%total) })
	for _, i := range order[:left] {
		parts[i]++
	}
	return parts
}
