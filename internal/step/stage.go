// SPDX-License-Identifier: Apache-2.0

package step

import "fmt"

// Stage says when in a pass a step is taken: all steps of one stage before those of the next.
type Stage int

// The stages, in their order.
const (
	Recording  Stage = iota // what other objects name must be there first
	Changing                // pods that exist, and what goes with them
	Creating                // new pods and their claims
	Forgetting              // what nothing needs any more
)

// StageOf returns the stage of a step.
func StageOf(s Step) Stage {
	switch s.(type) {
	case CreateRevision, AdoptRevision, RenumberRevision, SetFinalizers, Apply:
		return Recording
	case AdoptPod, ReleasePod, PatchPod, SetConditions, UpdateInPlace, DeletePod, DeleteClaim, GiveClaim, ResizeClaim, Annotate,
		ChangeSet, DeleteSet:
		return Changing
	case CreatePod, CreateClaim, CreateSet:
		return Creating
	case ForgetRevision, TrimPodsToDelete:
		return Forgetting
	}
	panic(fmt.Sprintf("step %T has no stage", s)) // the set is closed: the linter finds a missing case
}
