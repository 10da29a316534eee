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

// Allowance is what an update may spend in one pass. Ask it about the
// candidates in their order, and tell it what became of each.
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
}

// NewAllowance returns the allowance of a pass. Unavailable counts all active
// pods that are not available, onTarget those of them that already are on the
// revision the update leads to.
func NewAllowance(s Scaling, unavailable, onTarget int) *Allowance {
	return &Allowance{wish: abs(s.Wish), limit: s.Cap, targetLimit: s.Cap + s.HeldBack, unavailable: unavailable, onTarget: onTarget}
}

// Refuses says why the next candidate may not be updated, or NotStopped.
//
// StoppedByUnavailable speaks of this candidate only: pass it over, and ask
// about the next. Where an order asked for by a user puts available pods in
// front, a broken one behind them can still be repaired. The other reasons end
// the pass.
func (a *Allowance) Refuses(available bool) Stop {
	switch {
	case a.wish <= 0:
		return StoppedByWish
	case a.onTarget >= a.targetLimit:
		return StoppedByTarget
	case available && a.unavailable >= a.limit:
		return StoppedByUnavailable
	}
	return NotStopped
}

// Spend takes the update of a candidate into account.
func (a *Allowance) Spend(available bool) {
	a.wish--
	a.onTarget++
	if available {
		a.unavailable++
	}
}

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
