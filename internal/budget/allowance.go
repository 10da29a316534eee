// SPDX-License-Identifier: Apache-2.0

package budget

// Stop says why an allowance grants nothing more.
type Stop int

const (
	// NotStopped means that the allowance may still grant.
	NotStopped Stop = iota
	// StoppedByWish means that as many pods as wanted were granted.
	StoppedByWish
	// StoppedByTarget means that as many pods as may be unavailable at all
	// are, or soon will be, unavailable on the revision the update leads to.
	StoppedByTarget
	// StoppedByUnavailable means that no further available pod may be given up.
	StoppedByUnavailable
)

// String returns the reason as the end of a sentence.
func (s Stop) String() string {
	switch s {
	case NotStopped:
		return "not stopped"
	case StoppedByWish:
		return "as many pods as wanted are chosen"
	case StoppedByTarget:
		return "the updated pods that are not available use up the allowance"
	case StoppedByUnavailable:
		return "the pods that are not available use up the allowance"
	}
	return "unknown"
}

// Allowance is what an update may spend in one pass. Offer it the candidates
// in their order; the first that it refuses ends the pass.
//
// A pod that is unavailable already costs nothing, so it may always go first.
// But never more pods than the allowance are unavailable on the revision the
// update leads to: a version that does not start stops there, even if every
// old pod is broken too.
//
// Pods whose creation is held back because others are unavailable add to that
// number. Else both would wait for each other: the missing pods for the broken
// ones, and the broken ones, whose update is their repair, for the missing.
type Allowance struct {
	wish                  int
	limit, targetLimit    int
	unavailable, onTarget int
	stopped               Stop
}

// NewAllowance returns the allowance of a pass. Unavailable counts all active
// pods that are not available, onTarget those of them that already are on the
// revision the update leads to.
func NewAllowance(s Scaling, unavailable, onTarget int) *Allowance {
	return &Allowance{wish: abs(s.Wish), limit: s.Cap, targetLimit: s.Cap + s.HeldBack, unavailable: unavailable, onTarget: onTarget}
}

// Spend reports whether the next candidate may be updated, and takes it into
// account. After a refusal it refuses every further candidate.
func (a *Allowance) Spend(available bool) bool {
	if a.stopped != NotStopped {
		return false
	}
	switch {
	case a.wish <= 0:
		a.stopped = StoppedByWish
	case a.onTarget >= a.targetLimit:
		a.stopped = StoppedByTarget
	case available && a.unavailable >= a.limit:
		a.stopped = StoppedByUnavailable
	}
	if a.stopped != NotStopped {
		return false
	}
	a.wish--
	a.onTarget++
	if available {
		a.unavailable++
	}
	return true
}

// Stopped returns why a candidate was refused, or NotStopped.
func (a *Allowance) Stopped() Stop { return a.stopped }

// Deletions is what a pass may spend on deleting pods.
type Deletions struct {
	left int
}

// NewDeletions returns the deletions of a pass.
func NewDeletions(s Scaling) *Deletions { return &Deletions{left: s.DeleteBudget} }

// Spend reports whether the pod may be deleted, and takes it into account.
// Pods that are not available are free. A refusal ends nothing: a later pod
// that is not available may still go.
func (d *Deletions) Spend(available bool) bool {
	if !available {
		return true
	}
	if d.left <= 0 {
		return false
	}
	d.left--
	return true
}
