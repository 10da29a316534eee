// SPDX-License-Identifier: Apache-2.0

package cafes

import (
	"fmt"
	"slices"
	"strings"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// Next is the place in status.groups of the group that is on its way or waits to begin; -1 when none does.
func Next(d *cafev1alpha1.CafeDeployment) int {
	return slices.IndexFunc(d.Status.Groups, func(g cafev1alpha1.ReleaseGroup) bool { return !g.Done })
}

// Describe is the group at a place of status.groups in a few words: group 2 of 3 (2 pods in CellA).
func Describe(d *cafev1alpha1.CafeDeployment, at int) string {
	return fmt.Sprintf("%s (%s)", title(d, at), contents(d, at))
}

func title(d *cafev1alpha1.CafeDeployment, at int) string {
	g := d.Status.Groups[at]
	kind := "group"
	if g.Kind == cafev1alpha1.BetaGroup {
		kind = "Beta group"
	}
	return fmt.Sprintf("%s %d of %d", kind, g.Index, len(d.Status.Groups))
}

func contents(d *cafev1alpha1.CafeDeployment, at int) string {
	var parts []string
	for _, u := range d.Status.Groups[at].Units {
		part := count(int(u.Pods), "pod")
		if u.Name != "" {
			part += " in " + u.Name
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
