// SPDX-License-Identifier: Apache-2.0

package sets

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/internal/pod"
)

// located is a pod with the revision it carries.
type located struct {
	Pod
	revision Revision
}

// Changes tells what is new in a view since an earlier one, a line each: how the set is doing
// when that changed, conditions that need a person, then the pods by name. With no earlier view it tells how things stand, in one
// line for the set and one for each pod that is not available.
func Changes(before *View, now View) []string {
	var lines []string
	if before == nil || before.Phase != now.Phase || before.Stage != now.Stage || (!now.Phase.counts() && before.Headline != now.Headline) {
		lines = append(lines, fmt.Sprintf("%s/%s %s", now.Namespace, now.Name, now.Headline))
	}
	lines = append(lines, newTrouble(before, now)...)
	was, is := map[string]located{}, now.podsByName()
	if before != nil {
		was = before.podsByName()
	}
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, existed := was[name]
		p, exists := is[name]
		line := change(old, existed, p, exists)
		if before == nil {
			line = standing(p)
		}
		if line != "" {
			lines = append(lines, name+" "+line)
		}
	}
	return lines
}

// newTrouble tells the conditions that need a person and did not say so before.
func newTrouble(before *View, now View) []string {
	var lines []string
	for _, c := range now.Conditions {
		known := before != nil && slices.ContainsFunc(before.Conditions, func(old Condition) bool {
			return old.Type == c.Type && old.Status == c.Status && old.Message == c.Message
		})
		if c.Trouble && !known && c.Message != now.Headline {
			lines = append(lines, fmt.Sprintf("%s/%s condition %s is %s: %s", now.Namespace, now.Name, c.Type, c.Status, orDash(c.Message)))
		}
	}
	return lines
}

func change(old located, existed bool, p located, exists bool) string {
	switch {
	case !exists:
		return "is gone"
	case !existed:
		return fmt.Sprintf("is new: %s%s, revision %s", p.State, why(p), p.revision.Hash)
	case old.UID != p.UID:
		return fmt.Sprintf("was recreated: %s%s, revision %s", p.State, why(p), p.revision.Hash)
	}
	var line string
	if old.State != p.State {
		line = fmt.Sprintf("%s -> %s%s", old.State, p.State, why(p))
	} else if old.Why != p.Why && waits(p.State) {
		line = fmt.Sprintf("%s%s", p.State, why(p))
	}
	if old.revision.Hash != p.revision.Hash {
		moved := fmt.Sprintf("revision %s -> %s, %s", orDash(old.revision.Hash), orDash(p.revision.Hash), join(p.Images))
		line = cmp.Or(line, p.State.String()) + ", " + moved
	}
	return line
}

// counts says that the headline of a phase only counts pods, which the lines of the pods tell already.
func (p Phase) counts() bool {
	return p == Releasing || p == Recovering || p == Scaling || p == Deleting
}

// waits says that the reason matters while the state stays; in others it only follows what is going on.
func waits(s pod.State) bool {
	switch s {
	case pod.Pending, pod.NotReady, pod.Failing, pod.Held, pod.Finished:
		return true
	case pod.Starting, pod.Draining, pod.Updating, pod.Ready, pod.Available, pod.Terminating:
		return false
	}
	return true
}

// standing is how a pod is found, empty when there is nothing to say about it.
func standing(p located) string {
	if p.available {
		return ""
	}
	return fmt.Sprintf("%s%s, revision %s", p.State, why(p), orDash(p.revision.Hash))
}

func why(p located) string {
	if p.Why == "" {
		return ""
	}
	return " (" + p.Why + ")"
}

func (v View) podsByName() map[string]located {
	pods := map[string]located{}
	for _, r := range v.Revisions {
		for _, p := range r.Pods {
			pods[p.Name] = located{Pod: p, revision: r}
		}
	}
	return pods
}

// News tells, for many sets, whose headline is new since the last call with the same memory, which
// it keeps up to date.
func News(told map[string]string, views []View) []string {
	var lines []string
	seen := map[string]bool{}
	for _, v := range views {
		key := v.Namespace + "/" + v.Name
		seen[key] = true
		if told[key] != v.Headline {
			told[key] = v.Headline
			lines = append(lines, tree.Clean(key+" "+v.Headline))
		}
	}
	for key := range told {
		if !seen[key] {
			delete(told, key)
			lines = append(lines, key+" is gone")
		}
	}
	slices.Sort(lines)
	return lines
}
