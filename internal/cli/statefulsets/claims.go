// SPDX-License-Identifier: Apache-2.0

package statefulsets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/claim"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/ordinal"
)

// claims are those with a name that the set gives to claims of its pods, whoever made them.
type claims struct {
	set       string
	templates []*corev1.PersistentVolumeClaim
	byName    map[string]*corev1.PersistentVolumeClaim
	// read: somebody looked, so that one that is not known is not there.
	read bool
}

func newClaims(s Snapshot) claims {
	c := claims{
		set: s.Set.Name, templates: claim.Templates(s.Set.Spec.VolumeClaimTemplates),
		byName: map[string]*corev1.PersistentVolumeClaim{}, read: s.Claims != nil,
	}
	for _, object := range s.Claims {
		c.byName[object.Name] = object
	}
	return c
}

// lines tells of the claims of one ordinal, in the order of their templates.
func (c claims) lines(n int) []sets.Line {
	if !c.read {
		return nil
	}
	var lines []sets.Line
	for _, t := range c.templates {
		name := claim.Name(t.Name, ordinal.Name(c.set, n))
		text, alert := state(c.byName[name], t)
		lines = append(lines, sets.Line{Text: "claim " + name + "  " + text, Alert: alert})
	}
	return lines
}

// state says how a claim is in relation to its template.
func state(c, template *corev1.PersistentVolumeClaim) (text string, alert bool) {
	if c == nil {
		return "missing", true
	}
	size := c.Spec.Resources.Requests[corev1.ResourceStorage]
	phase := cmp.Or(c.Status.Phase, corev1.ClaimPending)
	text = fmt.Sprintf("%s, %s", size.String(), phase)
	switch {
	case c.DeletionTimestamp != nil:
		return text + ", being deleted", true
	case phase != corev1.ClaimBound:
		return text, true
	case !claim.Ready(c):
		capacity := c.Status.Capacity[corev1.ResourceStorage]
		return fmt.Sprintf("%s, its volume has %s and is to grow", text, capacity.String()), true
	case claim.Differs(c, template) != "":
		return text + ", differs from its template in " + claim.Differs(c, template), true
	case claim.TooSmall(c, template):
		wanted := template.Spec.Resources.Requests[corev1.ResourceStorage]
		return fmt.Sprintf("%s, smaller than its template asks for: %s", text, wanted.String()), true
	}
	return text, false
}

// left are the claims of ordinals that have no pod and are not to have one: kept, or on their way out.
func (c claims) left(live, condemned []int) sets.Group {
	g := sets.Group{Title: "claims of ordinals that are not wanted"}
	byOrdinal := map[int][]sets.Line{}
	var ordinals []int
	for _, t := range c.templates {
		for name, object := range c.byName {
			member, isOfTemplate := strings.CutPrefix(name, t.Name+"-")
			n, isMember := ordinal.Of(c.set, member)
			_, isLive := slices.BinarySearch(live, n)
			if !isOfTemplate || !isMember || isLive || slices.Contains(condemned, n) {
				continue
			}
			text, _ := state(object, t)
			if byOrdinal[n] == nil {
				ordinals = append(ordinals, n)
			}
			byOrdinal[n] = append(byOrdinal[n], sets.Line{Text: "claim " + name + "  " + text})
		}
	}
	slices.Sort(ordinals)
	for _, n := range ordinals {
		g.Rows = append(g.Rows, sets.Row{Name: ordinal.Name(c.set, n), State: "Left", Lines: byOrdinal[n]})
	}
	return g
}
