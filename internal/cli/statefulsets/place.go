// SPDX-License-Identifier: Apache-2.0

package statefulsets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/statefulset/plan"
)

// mostReserved is how many entries of the list of reserved ordinals are shown.
const mostReserved = 8

// place says which ordinals are wanted, which have a pod that is not, and which lack one, and gives pods their claims.
func place(v *sets.View, s Snapshot) {
	live, err := plan.Live(s.Set)
	if err != nil {
		return // the view says so as what the strategy cannot be read for
	}
	claims := newClaims(s)
	found := map[int]bool{}
	var condemned []int
	for i := range v.Revisions {
		for j := range v.Revisions[i].Pods {
			p := &v.Revisions[i].Pods[j]
			n, isMember := ordinal.Of(s.Set.Name, p.Name)
			_, isLive := slices.BinarySearch(live, n)
			switch {
			case !isMember:
				p.Note = "its name has no ordinal of this set"
				continue
			case isLive:
				found[n] = true
			default:
				condemned = append(condemned, n)
				p.Note = "its ordinal is not wanted any more"
				if p.State != pod.Terminating {
					v.Misplaced++
				}
			}
			p.Lines = claims.lines(n)
		}
	}
	var missing []int
	for _, n := range live {
		if !found[n] {
			missing = append(missing, n)
		}
	}
	slices.Sort(condemned)
	v.Facts = append(v.Facts, ordinals(s.Set, live, condemned, missing))
	v.Facts = append(v.Facts, growth(s.Set)...)
	v.Others = slices.DeleteFunc([]sets.Group{absent(s.Set.Name, missing, claims), claims.left(live, condemned)},
		func(g sets.Group) bool { return len(g.Rows) == 0 })
}

// ordinals tells of all ordinals that matter.
func ordinals(set *kruisev1beta1.StatefulSet, live, condemned, missing []int) sets.Fact {
	parts := []string{"none wanted"}
	if len(live) > 0 {
		parts[0] = spans(live) + " wanted"
	}
	if reserved := set.Spec.ReserveOrdinals; len(reserved) > 0 {
		var entries []string
		for i := range reserved {
			entries = append(entries, reserved[i].String())
		}
		if more := len(entries) - mostReserved; more > 0 {
			entries = append(entries[:mostReserved], fmt.Sprintf("%d more", more))
		}
		parts = append(parts, strings.Join(entries, " ")+" reserved")
	}
	if len(missing) > 0 {
		parts = append(parts, spans(missing)+" missing")
	}
	if len(condemned) > 0 {
		parts = append(parts, spans(condemned)+" to go")
	}
	return sets.Fact{Name: "ordinals", Text: strings.Join(parts, ", "), Alert: len(missing)+len(condemned) > 0}
}

// spans writes ascending ordinals with a hyphen for those in a row: 0-2 5.
func spans(ascending []int) string {
	var parts []string
	for i := 0; i < len(ascending); {
		j := i
		for j+1 < len(ascending) && ascending[j+1] == ascending[j]+1 {
			j++
		}
		part := strconv.Itoa(ascending[i])
		if j > i {
			part += "-" + strconv.Itoa(ascending[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, " ")
}

// growth tells how far claims that follow their templates are.
func growth(set *kruisev1beta1.StatefulSet) []sets.Fact {
	if set.Spec.VolumeClaimUpdateStrategy.Type != kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType {
		return nil
	}
	var facts []sets.Fact
	for _, c := range set.Status.VolumeClaims {
		facts = append(facts, sets.Fact{
			Name:  "claims " + c.VolumeClaimName,
			Text:  fmt.Sprintf("%d as their template, for %d of them the volume has that size", c.CompatibleReplicas, c.CompatibleReadyReplicas),
			Alert: c.CompatibleReadyReplicas < c.CompatibleReplicas,
		})
	}
	return facts
}

// absent are the wanted ordinals that have no pod.
func absent(set string, missing []int, claims claims) sets.Group {
	g := sets.Group{Title: "no pod yet"}
	for _, n := range missing {
		g.Rows = append(g.Rows, sets.Row{Name: ordinal.Name(set, n), State: "Missing", Lines: claims.lines(n)})
	}
	return g
}
