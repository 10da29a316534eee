// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Sort puts the oldest revision first: by number, then creation time, then name.
func Sort(revisions []Revision) {
	slices.SortStableFunc(revisions, compare)
}

func compare(a, b Revision) int {
	return cmp.Or(
		cmp.Compare(a.Number, b.Number),
		created(a).Compare(created(b)),
		cmp.Compare(a.Name, b.Name),
	)
}

func created(r Revision) time.Time {
	if r.Object == nil {
		return time.Time{}
	}
	return r.Object.CreationTimestamp.Time
}

// NextNumber returns the number that makes a revision the newest: highest + 1, and 1 if there are none.
func NextNumber(revisions []Revision) int64 {
	var highest int64
	for i := range revisions {
		highest = max(highest, revisions[i].Number)
	}
	return highest + 1
}

// Outcome is what the listed revisions say about a live template: Unchanged, RollBack or New.
type Outcome interface{ outcome() }

// Unchanged: the newest revision is the template's. Nothing is written.
type Unchanged struct{ Revision Revision }

// RollBack: an older revision is the template's. It becomes the newest by getting the number; it keeps its name,
// so that pods that still carry it count as updated at once.
type RollBack struct {
	Revision Revision
	Number   int64
}

// New: no revision is the template's. One with this number is to be created, see Draft.
type New struct {
	Template *corev1.PodTemplateSpec
	Number   int64
}

func (Unchanged) outcome() {}
func (RollBack) outcome()  {}
func (New) outcome()       {}

// Decide says which revision the live template is. The listed revisions, in any order, are all that belong to the
// owner; those that cannot be read equal nothing and only count for the number. Of several equal ones the newest wins.
func Decide(listed []Revision, live Revision) Outcome {
	next := NextNumber(listed)
	if len(listed) == 0 {
		return New{Template: live.Written, Number: next}
	}
	newest := slices.MaxFunc(listed, compare)
	if Equal(newest, live) {
		return Unchanged{Revision: newest}
	}
	var found *Revision
	for i := range listed {
		if Equal(listed[i], live) && (found == nil || compare(listed[i], *found) > 0) {
			found = &listed[i]
		}
	}
	if found != nil {
		return RollBack{Revision: *found, Number: next}
	}
	return New{Template: live.Written, Number: next}
}

// Expired returns the revisions that history no longer needs, lowest number first: those that are not live, beyond
// the newest limit of them. Live holds names, pod labels or hash parts; only hash parts are compared, because a pod
// may carry the short form. A negative limit counts as 0.
func Expired(revisions []Revision, live []string, limit int) []Revision {
	hashes := make(map[string]bool, len(live))
	for _, name := range live {
		hashes[HashOf(name)] = true
	}
	var idle []Revision
	for _, r := range revisions {
		if !hashes[r.Hash] {
			idle = append(idle, r)
		}
	}
	Sort(idle)
	return idle[:max(len(idle)-max(limit, 0), 0)]
}
