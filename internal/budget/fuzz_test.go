// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

var share = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)%$`)

// ratio reads a percentage by a definition that is slow and plain; false for what is none.
func ratio(s string) (*big.Rat, bool) {
	found := share.FindStringSubmatch(s)
	if found == nil {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(found[1])
	return r, ok
}

// FuzzResolve: a percentage is exactly that part of the base, and everything else is an error.
func FuzzResolve(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string, base uint16) {
		if len(text) > 100 {
			return // the definition below would take its time
		}
		value := intstr.FromString(text)
		down, err := Resolve(&value, int(base), Down, "field")
		percent, ok := ratio(text)
		if ok != (err == nil) {
			t.Fatalf("%q: %v, but it is a percentage: %v", text, err, ok)
		}
		if err != nil {
			return
		}
		up, err := Resolve(&value, int(base), Up, "field")
		if err != nil {
			t.Fatalf("%q depends on the rounding: %v", text, err)
		}
		exact := new(big.Rat).Mul(percent, big.NewRat(int64(base), 100))
		floor := new(big.Int).Quo(exact.Num(), exact.Denom())
		ceiling := new(big.Int).Set(floor)
		if !exact.IsInt() {
			ceiling.Add(ceiling, big.NewInt(1))
		}
		for _, c := range []struct {
			got  int
			want *big.Int
		}{{down, floor}, {up, ceiling}} {
			if most := big.NewInt(math.MaxInt32); c.want.Cmp(most) > 0 {
				c.want = most
			}
			if c.want.Cmp(big.NewInt(int64(c.got))) != 0 {
				t.Errorf("%s of %d is %d, want %s", text, base, c.got, c.want)
			}
		}
		if more, err := Resolve(&value, int(base)+1, Up, "field"); err != nil || more < up {
			t.Errorf("%s of %d is %d, and of one more only %d (%v)", text, base, up, more, err)
		}
	})
}

// FuzzLimits: whatever is written, the limits are within what they limit, and an error names exactly the fields that
// cannot be read.
func FuzzLimits(f *testing.F) {
	f.Fuzz(func(t *testing.T, replicas uint16, partition, surge, unavailable, creations string, paused bool) {
		fields := map[string]string{
			"spec.updateStrategy.partition": partition, "spec.updateStrategy.maxSurge": surge,
			"spec.updateStrategy.maxUnavailable": unavailable, "spec.scaleStrategy.maxUnavailable": creations,
		}
		spec := Spec{
			Replicas: ptr.To(int32(replicas)), Partition: number(partition), MaxSurge: number(surge),
			MaxUnavailable: number(unavailable), ScaleMaxUnavailable: number(creations), Paused: paused,
		}
		limits, err := NewLimits(spec)
		for field, text := range fields {
			if len(text) > 100 {
				return
			}
			_, percentage := ratio(text)
			value := number(text)
			readable := value == nil || percentage || value.Type == intstr.Int && value.IntVal >= 0
			named := err != nil && strings.Contains(err.Error(), field+":")
			if readable == named {
				t.Errorf("%s %q is readable: %v, but the error is: %v", field, text, readable, err)
			}
		}
		if err != nil {
			return
		}
		n := int(replicas)
		if limits.Replicas != n || limits.Partition < 0 || limits.Partition > n || limits.Surge < 0 || limits.Unavailable < 0 {
			t.Errorf("limits out of bounds: %+v", limits)
		}
		if paused && limits.Surge != 0 {
			t.Errorf("a surge while paused: %+v", limits)
		}
		if (limits.CreateUnavailable == nil) != (creations == "") {
			t.Errorf("a limit of creations out of nothing, or none out of %q: %+v", creations, limits)
		}
		if percent, is := ratio(partition); is && percent.Cmp(big.NewRat(100, 1)) < 0 && n > 1 && limits.Partition == n {
			t.Errorf("a partition of %s keeps all %d pods: the release never starts", partition, n)
		}
		spec.MaxSurge = nil
		if without, err := NewLimits(spec); err != nil || without.Unavailable < limits.Unavailable {
			t.Errorf("with a surge of %q more pods may be unavailable: %d, without it %d (%v)", surge, limits.Unavailable, without.Unavailable, err)
		}
	})
}

// FuzzAllowance: an update never takes more available pods than the cap leaves, never has more pods that are not available
// on its target than its bound, and a larger cap never stops it earlier.
func FuzzAllowance(f *testing.F) {
	f.Fuzz(func(t *testing.T, wish, limit, heldBack int8, unavailable, onTarget uint8, candidates []byte) {
		s := Scaling{Wish: int(wish), Cap: int(limit), HeldBack: int(max(heldBack, 0))}
		down, moved := int(unavailable), int(onTarget)
		granted := spend(s, down, moved, candidates)
		if total := granted.available + granted.broken; total > abs(s.Wish) {
			t.Errorf("%d pods are updated, wanted were %d", total, abs(s.Wish))
		}
		if granted.available > 0 && down+granted.available > s.Cap {
			t.Errorf("%d available pods are given up with %d unavailable already, the cap is %d", granted.available, down, s.Cap)
		}
		if total := granted.available + granted.broken; total > 0 && moved+total > s.Cap+s.HeldBack {
			t.Errorf("%d pods are brought to the target, where %d are not available, the bound is %d", total, moved, s.Cap+s.HeldBack)
		}
		s.Cap++
		if more := spend(s, down, moved, candidates); more.available+more.broken < granted.available+granted.broken {
			t.Errorf("a larger cap grants less: %+v, after %+v", more, granted)
		}
	})
}

// granted counts the candidates that an allowance let pass.
type granted struct{ available, broken int }

// spend asks about candidates in their order, odd bytes being available ones, as a planner does.
func spend(s Scaling, unavailable, onTarget int, candidates []byte) (sum granted) {
	allowance := NewAllowance(s, unavailable, onTarget)
	for _, c := range candidates {
		available := c%2 == 1
		switch allowance.Refuses(available) {
		case NotStopped:
			allowance.Spend(available)
			if available {
				sum.available++
			} else {
				sum.broken++
			}
		case StoppedByUnavailable:
		case StoppedByWish, StoppedByTarget:
			return sum
		}
	}
	return sum
}
