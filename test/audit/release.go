// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Release is a release in groups over several units, or the creation of its pods, as it was asked for.
type Release struct {
	// UnitOf is the unit of a pod, and Updated tells whether a pod is on the version that is released.
	UnitOf  func(*corev1.Pod) string
	Updated func(*corev1.Pod) bool
	// Desired is how many pods each unit is to have.
	Desired map[string]int
	// Groups are in their order. The first one may begin at once.
	Groups []Group
	// Creates: there are no pods before. Surges: a unit may have as many pods more as its part of a group, and none may be
	// unavailable for it.
	Creates, Surges bool
	// GivenUp: it was not brought to its end.
	GivenUp bool
}

// Group is what is done at once.
type Group struct {
	// After is the version of the cluster at which somebody let the group begin.
	After uint64
	// Pods is how many pods the group takes in each unit.
	Pods map[string]int
}

// Course is how a release went.
type Course struct {
	// Broken are the promises that were broken, each once for every group and unit, sorted.
	Broken []string
	// Unavailable is the most that were missing or not available in all units at any moment of a release of pods that exist;
	// Pods is the most that there were.
	Unavailable, Pods int
	// States is how many states were looked at.
	States int
}

// Course follows a release through a window. At every moment:
//
//   - No unit has more pods on the new version than the groups that were let begin give it.
//   - What later groups take is on an older version and available.
//   - No more pods of a unit are unavailable than the group takes of it that is on its way.
//
// And when a group is let begin, all of those before it are available on the new version.
func (h *History) Course(w Window, r Release) Course {
	j := &jury{Release: r, told: map[string]bool{}}
	h.each(w, func(s Sighting, pods map[string]*corev1.Pod) {
		if j.States == 0 {
			j.before = j.count(pods, s)
		}
		for j.at+1 < len(r.Groups) && s.Version > r.Groups[j.at+1].After {
			j.begin()
		}
		j.now = j.count(pods, s)
		j.look()
	})
	for j.at+1 < len(r.Groups) {
		j.begin()
	}
	j.end()
	return j.Course
}

// jury is what is known of a release at one moment.
type jury struct {
	Release
	Course
	// before is how the units were when the release began, now is how they are, and at is the group that is on its way.
	before, now map[string]census
	at          int
	told        map[string]bool
}

// census counts the pods of a unit.
type census struct{ pods, available, updated, updatedAvailable int }

func (j *jury) count(pods map[string]*corev1.Pod, s Sighting) map[string]census {
	counted := map[string]census{}
	for _, p := range pods {
		unit, available, updated := j.UnitOf(p), Available(p, 0, s.At), j.Updated(p)
		c := counted[unit]
		c.pods++
		if available {
			c.available++
		}
		if updated {
			c.updated++
		}
		if available && updated {
			c.updatedAvailable++
		}
		counted[unit] = c
	}
	return counted
}

// due is how many pods of a unit are on the new version when the group has ended that is on its way.
func (j *jury) due(unit string) int {
	n := j.before[unit].updated
	for _, g := range j.Groups[:j.at+1] {
		n += g.Pods[unit]
	}
	return n
}

// begin goes on to the next group.
func (j *jury) begin() {
	for unit := range j.Desired {
		got, due := j.now[unit].updatedAvailable, j.due(unit)
		j.promise(got == due, "unit %s has %d pods available on the new version when the next group may begin, not %d", unit, got, due)
	}
	j.at++
}

func (j *jury) look() {
	j.States++
	missing, all := 0, 0
	for unit, desired := range j.Desired {
		now, due, part := j.now[unit], j.due(unit), j.Groups[j.at].Pods[unit]
		all += now.pods
		j.promise(now.updated <= due, "unit %s has %d pods on the new version, more than %d", unit, now.updated, due)
		if j.Creates {
			continue
		}
		unavailable, older := max(0, desired-now.available), now.available-now.updatedAvailable
		missing += unavailable
		most, least := desired, desired-part
		if j.Surges {
			most, least = desired+part, desired
		}
		j.promise(now.pods <= most, "unit %s has %d pods, more than %d", unit, now.pods, most)
		j.promise(now.available >= least, "unit %s has %d available pods, fewer than %d", unit, now.available, least)
		j.promise(older >= desired-due, "unit %s has %d available pods of older versions, and %d are not to be touched yet", unit, older, desired-due)
	}
	j.Pods, j.Unavailable = max(j.Pods, all), max(j.Unavailable, missing)
}

// end looks at how it ended.
func (j *jury) end() {
	defer func() { slices.Sort(j.Broken) }()
	if j.GivenUp {
		return
	}
	for unit, desired := range j.Desired {
		now := j.now[unit]
		j.promise(now.updatedAvailable == desired && now.pods == desired, "unit %s has %d pods in the end, %d of them available on the new version, not %d",
			unit, now.pods, now.updatedAvailable, desired)
	}
}

// promise complains once for each group and unit.
func (j *jury) promise(kept bool, format string, unit string, args ...any) {
	rule := fmt.Sprint(j.at, format, unit)
	if kept || j.told[rule] {
		return
	}
	j.told[rule] = true
	j.Broken = append(j.Broken, fmt.Sprintf("group %d of %d: ", j.at+1, len(j.Groups))+fmt.Sprintf(format, append([]any{unit}, args...)...))
}
