// SPDX-License-Identifier: Apache-2.0

package story

import (
	"time"

	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// Set is how the controller of one kind deals with one of its sets.
type Set struct {
	// Next runs the planner over a scene. It changes nothing in it.
	Next func(*Scene) Pass
	// Report keeps the parts of the status that the planner reads, as the controller does after each pass.
	Report func(Pass)
	// Trim follows the step that takes names off the spec. Nil for kinds that have no such step.
	Trim func(step.TrimPodsToDelete)

	// Live is the template of the spec.
	Live revision.Revision
	// MinReadySeconds is how long a pod has to be ready before it is available.
	MinReadySeconds int32
	// ResizeOff: resources of living pods are not changed.
	ResizeOff bool
	// Hooks are what holds pods, and HookOwners whose they are, in the plural.
	Hooks      lifecycle.Hooks
	HookOwners string
	// Strategy is the update strategy, in the words of the kind. Instead says what in the spec has pods recreated that could
	// change in place; empty for nothing. PartitionField is the path of the partition in the spec.
	Strategy, Instead, PartitionField string
	// Assumed says what is taken for granted besides.
	Assumed []string
}

// Pass is what a planner has decided, as far as a story tells of it.
type Pass struct {
	Steps     []step.Step
	LookAgain time.Duration
	// UpdateRevision and CurrentRevision are names of revisions.
	UpdateRevision, CurrentRevision string
	CollisionCount                  int32
	Limits                          budget.Limits
	// Members are the active pods.
	Members []member.Member
	Invalid error
	// Refused and Held say what is not done, and why.
	Refused []string
	Held    string
}

// Updated is how many members are on the update revision.
func (p Pass) Updated() (n int) {
	for _, m := range p.Members {
		if m.Updated {
			n++
		}
	}
	return n
}
