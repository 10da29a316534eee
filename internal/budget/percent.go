// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rounding says where a percentage goes that does not hit a whole pod.
type Rounding int

const (
	// Down rounds to the next smaller whole number.
	Down Rounding = iota
	// Up rounds to the next larger whole number.
	Up
)

// Resolve returns the number that an integer or percentage stands for.
//
// A percentage is digits, optional decimals and a percent sign, such as "20%"
// or "12.5%"; it is taken of base, in exact arithmetic, and rounded as asked.
// A nil value is 0. A result above the largest int32 is cut to it. A negative
// integer and any other string, "5" included, is an error that names field.
func Resolve(v *intstr.IntOrString, base int, rounding Rounding, field string) (int, error) {
	if v == nil {
		return 0, nil
	}
	if v.Type == intstr.Int {
		if v.IntVal < 0 {
			return 0, invalid(field, fmt.Sprint(v.IntVal))
		}
		return int(v.IntVal), nil
	}
	share, ok := parsePercent(v.StrVal)
	if !ok {
		return 0, invalid(field, fmt.Sprintf("%q", v.StrVal))
	}
	return share.of(base, rounding), nil
}

// percent is a fraction: digits / (100 * 10^decimals).
type percent struct {
	digits   *big.Int
	decimals int
}

func parsePercent(s string) (percent, bool) {
	number, found := strings.CutSuffix(s, "%")
	if !found {
		return percent{}, false
	}
	whole, decimals, dotted := strings.Cut(number, ".")
	if !isDigits(whole) || (dotted && !isDigits(decimals)) {
		return percent{}, false
	}
	digits, ok := new(big.Int).SetString(whole+decimals, 10)
	return percent{digits: digits, decimals: len(decimals)}, ok
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (p percent) of(base int, rounding Rounding) int {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p.decimals)+2), nil)
	product := new(big.Int).Mul(p.digits, big.NewInt(int64(base)))
	result, rest := new(big.Int).QuoRem(product, scale, new(big.Int))
	if rounding == Up && rest.Sign() > 0 {
		result.Add(result, big.NewInt(1))
	}
	if !result.IsInt64() || result.Int64() > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(result.Int64())
}

func invalid(field, value string) error {
	return fmt.Errorf("%s: %s is not allowed: use an integer of 0 or more, or a percentage such as \"20%%\" or \"12.5%%\"", field, value)
}
